"""What is counted while samples' pages are made."""

from __future__ import annotations

from collections import Counter

from mmerg.errors import Failure
from mmerg.reporting.sample_page import sample_page
from mmerg.reporting.stages import stages_of
from mmerg.reporting.tally import Tally
from mmerg.runs import events
from tests.reporting.parts import Told, called, events_of, refused, result_of
from tests.scoring.run_builder import manifest_of


def tally_of(told: Told, found: list[events.Event] | None = None) -> Tally:
    tally = Tally()
    found = found or events_of(told)
    tally.add(result_of(told), sample_page(found, stages_of(manifest_of([])), lambda _: True), found)
    return tally


def test_a_reply_that_was_asked_for_again_is_told_from_one_refused_for_good() -> None:
    mended = tally_of(Told("a/1", mended="psp"))
    assert (mended.asked_again, mended.given_up) == (Counter({("psp", "schema_invalid"): 1}), Counter())
    assert mended.repaired == 1
    lost = tally_of(Told("a/1", failure=Failure.TRUNCATED))
    assert (lost.asked_again, lost.given_up) == (Counter(), Counter({("caef", "truncated"): 1}))
    assert lost.repaired == 0


def test_a_reply_refused_twice_counts_once_as_each() -> None:
    told = Told("a/1", failure=Failure.TRUNCATED)
    found = events_of(told)
    found[-1:-1] = [called(told, "caef", 0, "{", 1), refused(told, "caef", 0, Failure.SCHEMA_INVALID, 1)]
    tally = tally_of(told, found)
    assert tally.asked_again == Counter({("caef", "truncated"): 1})
    assert tally.given_up == Counter({("caef", "schema_invalid"): 1})
    assert tally.repaired == 0


def test_a_refused_audit_that_was_asked_for_again_counts() -> None:
    told = Told("a/1")
    found = events_of(told)
    at = next(at for at, event in enumerate(found) if isinstance(event, events.Called) and event.stage == "gra")
    found[at : at + 1] = [found[at], refused(told, "gra", 0, Failure.EMPTY), called(told, "gra", 0, "{…}", 1)]
    tally = tally_of(told, found)
    assert tally.asked_again == Counter({("gra", "empty"): 1})
    assert tally.rows[0].repaired


def test_only_what_the_table_clips_is_held_for_its_search() -> None:
    [short] = tally_of(Told("a/1")).rows
    assert short.whole == ""
    [long] = tally_of(Told("a/1", mark="and so on " * 60 + "aardvark")).rows
    assert "aardvark" not in long.text
    assert "aardvark" in long.whole
    [endless] = tally_of(Told("i" * 9000)).rows
    assert len(endless.name) == 80
    assert endless.whole == "i" * 2000
