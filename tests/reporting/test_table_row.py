"""What a row of the table knows of its sample."""

from mmerg.errors import Failure
from mmerg.reporting.sample_page import SamplePage
from mmerg.reporting.stages import Stages
from mmerg.reporting.table_row import TableRow
from mmerg.runs import events
from tests.reporting.parts import Told, called, events_of, refused, result_of
from tests.scoring.run_builder import manifest_of


def row_of(told: Told, found: list[events.Event] | None = None) -> TableRow:
    page = SamplePage(found or events_of(told), Stages(manifest_of([])), lambda _: True)
    return TableRow(1, result_of(told), page)


def test_a_reply_that_was_asked_for_again_is_told_from_one_refused_for_good() -> None:
    mended = row_of(Told("a/1", mended="psp"))
    assert (mended.asked_again, mended.given_up) == ([("psp", "schema_invalid")], [])
    assert mended.repaired
    lost = row_of(Told("a/1", failure=Failure.TRUNCATED))
    assert (lost.asked_again, lost.given_up) == ([], [("caef", "truncated")])
    assert not lost.repaired


def test_a_reply_refused_twice_counts_once_as_each() -> None:
    told = Told("a/1", failure=Failure.TRUNCATED)
    found = events_of(told)
    found[-1:-1] = [called(told, "caef", 0, "{", 1), refused(told, "caef", 0, Failure.SCHEMA_INVALID, 1)]
    row = row_of(told, found)
    assert row.asked_again == [("caef", "truncated")]
    assert row.given_up == [("caef", "schema_invalid")]
    assert not row.repaired


def test_a_refused_audit_that_was_asked_for_again_counts() -> None:
    told = Told("a/1")
    found = events_of(told)
    at = next(at for at, event in enumerate(found) if isinstance(event, events.Called) and event.stage == "gra")
    found[at : at + 1] = [found[at], refused(told, "gra", 0, Failure.EMPTY), called(told, "gra", 0, "{…}", 1)]
    row = row_of(told, found)
    assert row.asked_again == [("gra", "empty")]
    assert row.repaired


def test_only_what_the_table_clips_is_held_for_its_search() -> None:
    short = row_of(Told("a/1"))
    assert short.whole == ""
    long = row_of(Told("a/1", mark="and so on " * 60 + "aardvark"))
    assert "aardvark" in long.whole
    endless = row_of(Told("i" * 9000))
    assert endless.whole == "i" * 2000
