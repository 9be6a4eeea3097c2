"""A sample's page as a model: passes, what was kept and what made anew, what evidence points to, why a pass won."""

from typing import Any

import pytest

from mmerg.errors import Failure
from mmerg.reporting.sample_page import SamplePage
from mmerg.reporting.stages import Stages
from mmerg.reporting.won import why_selected
from mmerg.runs import events
from tests.reporting.parts import Told, events_of, sha
from tests.scoring.run_builder import AT, called, manifest_of, result

MERG = Stages(manifest_of([]))
NONE = Stages(manifest_of([], config={"system": {}}))


def page_of(told: Told, stages: Stages = MERG) -> SamplePage:
    return SamplePage(events_of(told), stages, lambda found: found != sha(3))


def states(page: SamplePage) -> dict[str, list[str]]:
    return {row.stage: [cell.state for cell in row.cells] for row in page.rows}


def test_stages_come_from_the_config() -> None:
    page = page_of(Told("a"))
    assert [(row.stage, row.title, row.sees) for row in page.rows] == [
        ("mpa", "Evidence", ("dialogue", "keyframes")),
        ("caef", "Forecast", ("dialogue", "keyframes", "evidence")),
        ("psp", "Plan", ("dialogue", "evidence", "forecast")),
        ("sgrg", "Response", ("dialogue", "evidence", "forecast", "plan", "exemplars")),
    ]
    assert page.stages.auditor == "gra"
    assert page.sees("gra", MERG.audits) == (*("dialogue", "keyframes", "evidence", "forecast", "plan", "response"),)


def test_an_agent_is_not_said_to_see_what_the_sample_had_none_of() -> None:
    found = [event for event in events_of(Told("a")) if not isinstance(event, events.Supplied | events.FramesTaken)]
    page = SamplePage(found, MERG, lambda _: True)
    assert page.rows[0].sees == ("dialogue",)
    assert page.rows[3].sees[-1] == "plan"
    blind = events.FramesTaken(sample="a", at=AT, form="descriptions", turns=())
    assert SamplePage([*found, blind], MERG, lambda _: True).rows[0].sees[1] == "descriptions of keyframes"


def test_outputs_that_the_selected_pass_kept_are_marked_where_they_were_made() -> None:
    page = page_of(Told("a", ("0111", "1101", "1111")))
    assert [row.origin for row in page.rows] == [1, 1, None, None]
    assert [row.origin for row in page_of(Told("a", ("1011", "1000"))).rows] == [None] * 4


def again(told: Told, *, cached: bool) -> list[events.Event]:
    """Its events, as if every agent answered in each pass as in the first, the reply cache serving all calls but mpa's
    where `cached`."""
    first = {event.stage: event.output for event in events_of(told) if isinstance(event, events.Produced)}
    found: list[events.Event] = []
    for event in events_of(told):
        changed: dict[str, Any] = {}
        if isinstance(event, events.Produced):
            changed = {"output": first[event.stage]}
        if isinstance(event, events.Called) and event.t and event.stage != "mpa":
            changed = {"reply": event.reply.model_copy(update={"cached": cached})}
        found.append(event.model_copy(update=changed))
    return found


@pytest.mark.parametrize("cached", [True, False])
def test_a_pass_that_repeats_the_one_before_says_so(cached: bool) -> None:
    page = SamplePage(again(Told("a", ("0111", "0111")), cached=cached), MERG, lambda _: True)
    assert page.repeated == {1: "mpa"}
    assert page.cached(1) == cached
    assert not any(field.changed for row in page.rows for cell in row.cells for field in cell.fields)
    assert page_of(Told("a", ("0111", "1111"))).repeated == {}


def test_what_was_kept_and_what_was_made_anew() -> None:
    page = page_of(Told("a", ("1011", "1101", "1111")))
    assert states(page) == {
        "mpa": ["made", "kept", "kept"],
        "caef": ["made", "made", "kept"],
        "psp": ["made", "made", "made"],
        "sgrg": ["made", "made", "made"],
    }
    assert [cell.since for cell in page.rows[0].cells] == [0, 0, 0]
    assert [getattr(page.at(t, "rerun"), "stage", None) for t in page.numbers] == [None, "caef", "psp"]
    assert page.blamed == ("caef", "psp")
    assert page.selected
    assert page.selected.t == 2
    assert [page.rank(t) for t in page.numbers] == ["", "", ""]  # the checks say it


def test_each_output_is_compared_with_the_one_before_it() -> None:
    page = page_of(Told("a", ("1011", "1111")))
    [first, second] = page.rows[1].cells
    assert (first.since, second.since) == (0, 0)
    assert {field.name for field in second.fields if field.changed} == {"emotion"}


def test_frames_are_numbered_over_all_turns_and_told_missing() -> None:
    page = page_of(Told("a"))
    assert [(shot.number, shot.held) for shot in page.shots] == [(1, True), (2, True), (3, False)]
    assert page.problems == {2: "missing"}


def test_a_failed_sample_shows_how_far_it_came() -> None:
    page = page_of(Told("a", ("0111", "1111"), failure=Failure.TRUNCATED))
    assert states(page) == {
        "mpa": ["made", "made"],
        "caef": ["made", "none"],
        "psp": ["made", "none"],
        "sgrg": ["made", "none"],
    }
    assert page.failed
    assert page.failed.hint == "give the stage more tokens"
    [call] = page.calls_of("caef", 1)
    assert call.refused
    assert call.refused.failure == Failure.TRUNCATED


def test_every_call_is_shown_once_and_shared_texts_are_named() -> None:
    told = Told("a", ("0111", "1111"))
    page = page_of(told)
    made = [event for event in events_of(told) if isinstance(event, events.Called)]
    assert sorted(call.number for call in page.calls) == list(range(1, len(made) + 1))
    shown = [page.first_shown[call.event.messages[0].text] for call in page.calls]
    assert shown == [1] * len(made)
    assert all(call.event.messages[1].text not in page.first_shown for call in page.calls)  # it is short


def test_an_audit_that_could_not_be_read() -> None:
    page = page_of(Told("a", ("1101", "x")))
    assert [bool(page.at(t, "audited")) for t in page.numbers] == [True, False]
    assert page.at(1, "unaudited")
    assert page.why == "Pass 0 is the only one that could be audited: psp failed"


def test_a_system_without_auditor_or_config_is_shown_by_its_events() -> None:
    found: list[events.Event] = [
        events.SampleStarted(sample="a", at=AT, dialogue="d", history=(), responder="", labels=()),
        called("a", "Hello.", stage="writer"),
        events.Produced(sample="a", at=AT, t=0, stage="writer", symbol="R", output="Hello."),
        events.Selected(sample="a", at=AT, t=0, ranks={}, ended="no auditor"),
    ]
    page = SamplePage(found, NONE, lambda _: False)
    assert states(page) == {"writer": ["made"]}
    assert page.rows[0].title == "R"
    assert not page.any_audit
    assert page.why == "Pass 0 is the only one: the system has no auditor"


def test_a_trace_that_knows_nothing_gives_an_empty_page() -> None:
    page = SamplePage([], NONE, lambda _: True)
    assert (page.history, page.rows, page.failed) == ((), (), None)


def test_a_large_pass_number_costs_nothing() -> None:
    found = [events.Produced(sample="a", at=AT, t=10_000, stage="s", symbol="R", output="x")]
    assert SamplePage(found, NONE, lambda _: True).numbers == [0, 10_000]


@pytest.mark.parametrize(
    ("ranks", "t", "by", "told"),
    [
        (
            {0: (1, 0, 0), 1: (1, 1, -1)},
            1,
            "lexicographic",
            "Pass 1 won: it passed the check of caef, which pass 0 did not",
        ),
        (
            {0: (1, 0, 0), 1: (1, 0, -1)},
            0,
            "lexicographic",
            "Pass 0 won: pass 1 passed the same checks, and the earlier pass wins",
        ),
        (
            {0: (1, 1, 0), 1: (0, 1, -1), 2: (1, 0, -2)},
            0,
            "lexicographic",
            "Pass 0 won: it passed the check of caef, which pass 2 did not",
        ),
        (
            {0: (1, 1, 0), 1: (0, 1, -1)},
            1,
            "last",
            "Pass 1 is the latest that could be audited (final_selection=last), whatever its checks",
        ),
    ],
)
def test_why_a_pass_was_selected(ranks: dict[int, tuple[int, ...]], t: int, by: str, told: str) -> None:
    event = events.Selected.model_validate({"sample": "a", "t": t, "ranks": ranks, "ended": "passed", "by": by})
    assert why_selected(event, ["mpa", "caef"]) == told


@pytest.mark.parametrize(
    ("ranks", "t", "by", "told"),
    [
        ({0: (9, 0), 1: (12, -1)}, 1, "lexicographic", "Pass 1 won with 12 points; pass 0 has 9 points"),
        (
            {0: (9, 0), 1: (9, -1)},
            0,
            "lexicographic",
            "Pass 0 won: pass 1 has as many points, and the earlier pass wins",
        ),
        ({0: (0, 0), 1: (0, -1)}, 1, "last", "Pass 1 is the last one"),
    ],
)
def test_why_a_pass_without_checks_was_selected(ranks: dict[int, tuple[int, ...]], t: int, by: str, told: str) -> None:
    event = events.Selected.model_validate({"sample": "a", "t": t, "ranks": ranks, "ended": "good enough", "by": by})
    assert why_selected(event, []) == told


@pytest.mark.parametrize(
    ("ranks", "t", "told"),
    [
        ({0: (1, -0.5, 0)}, 0, "Pass 0 is the only one that could be ranked: 1 vote, mean log-probability −0.5"),
        (
            {0: (1, -0.1, 0), 2: (2, -0.5, -2)},
            2,
            "Pass 2 won with 2 votes, mean log-probability −0.5; pass 0 has 1 vote, mean log-probability −0.1",
        ),
        (
            {0: (2, -0.5, 0), 2: (2, -0.1, -2)},
            2,
            "Pass 2 won with 2 votes, mean log-probability −0.1; pass 0 has 2 votes, mean log-probability −0.5",
        ),
        (
            {1: (2, -0.5, -1), 2: (2, -0.5, -2)},
            1,
            "Pass 1 won: pass 2 is as likely, and the earlier pass wins",
        ),
    ],
)
def test_why_a_draw_was_selected(ranks: dict[int, tuple[float, ...]], t: int, told: str) -> None:
    event = events.Selected.model_validate({"sample": "a", "t": t, "ranks": ranks, "ended": "draws lost"})
    assert events.EVENT.validate_json(event.model_dump_json()) == event
    assert why_selected(event, []) == told


def test_results_and_pages_agree_on_what_became_of_each() -> None:
    from mmerg.reporting.navigation import outcome, ways, wrong_emotion

    results = [
        result("a", emotion="joy", gold="joy"),
        result("b", emotion="joy", gold="anger", selected_pass=1, passes=2),
        result("c", emotion="joy", passes=2),
        result("d", None),
    ]
    assert [outcome(one) for one in results] == ["passed", "later", "kept", "failed"]
    assert [wrong_emotion(one) for one in results] == [False, True, False, False]
    assert [(way.before, way.after, way.later, way.failed) for way in ways(results)] == [
        (None, "b", "b", "d"),
        ("a", "c", None, "d"),
        ("b", "d", None, "d"),
        ("c", None, None, None),
    ]


@pytest.mark.parametrize(
    ("first", "final", "passes", "told"),
    [("joy", "anger", 2, "right"), ("anger", "joy", 2, "wrong"), ("joy", "fear", 2, ""), ("anger", "anger", 2, "")],
)
def test_what_a_later_pass_did_to_the_label(first: str, final: str, passes: int, told: str) -> None:
    from mmerg.reporting.navigation import became

    assert became(result("a", emotion=final, gold="anger", selected_pass=1, passes=passes), first) == told
    assert became(result("a", emotion=final, gold=None, selected_pass=1, passes=passes), first) == ""
    assert became(result("a", emotion=final, gold="anger", selected_pass=0, passes=passes), first) == ""


def test_the_first_label_is_that_of_pass_0() -> None:
    page = page_of(Told("a", ("1011", "1111")))
    assert page.first_label == "joy"
    assert page.rows[1].cells[1].fields[-1].text == "sadness"
