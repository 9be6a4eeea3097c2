"""The content of a sample's page by its events: kept and new outputs, outcomes, and why a pass was selected."""

from collections.abc import Sequence

import pytest

from mmerg.reporting.outcome import classify_label_change, classify_outcome, is_label_wrong
from mmerg.reporting.sample import Agents, SamplePage
from mmerg.runs import events
from mmerg.runs.trace import SampleTrace, describe_selection
from tests.configs import parse_settings
from tests.reporting.parts import SampleSpec, make_events, sha
from tests.scoring.run_builder import AT, make_call, make_manifest, result

MERG = Agents(make_manifest([]))
NONE = Agents(make_manifest([], config={"system": {}}))


@pytest.mark.parametrize(
    ("ablation", "stages", "auditor"),
    [("without_caef", ["mpa", "psp", "sgrg"], "gra"), ("without_gra", ["mpa", "caef", "psp", "sgrg"], "")],
)
def test_an_ablation_removes_its_agents(ablation: str, stages: list[str], auditor: str) -> None:
    settings = parse_settings("+experiment=ablations", "dataset=demo", f"ablation={ablation}")
    agents = Agents(make_manifest([], config=settings.plain()))
    assert (list(agents.titles), agents.auditor) == (stages, auditor)


def page_of(found: Sequence[events.Event], agents: Agents = MERG) -> SamplePage:
    return SamplePage(SampleTrace(found), agents, lambda sha256: sha256 != sha(3))


def sample_of(spec: SampleSpec) -> SamplePage:
    return page_of(make_events(spec))


def states(sample: SamplePage) -> dict[str, list[str]]:
    return {stage: [cell.state for cell in sample.list_cells(stage)] for stage in stages(sample)}


def stages(sample: SamplePage) -> list[str]:
    return [stage for stage in sample.order if stage != sample.agents.auditor]


def test_a_pass_keeps_outputs_before_the_rerun_and_makes_the_others_anew() -> None:
    sample = sample_of(SampleSpec("a", ("1011", "1101", "1111")))
    assert states(sample) == {
        "mpa": ["made", "kept", "kept"],
        "caef": ["made", "made", "kept"],
        "psp": ["made", "made", "made"],
        "sgrg": ["made", "made", "made"],
    }
    assert [cell.since for cell in sample.list_cells("mpa")] == [0, 0, 0]
    [first, second, third] = sample.list_cells("caef")
    assert (first.since, second.since, third.since) == (0, 0, 1)
    assert {field.name for field in second.fields if field.changed} == {"emotion"}
    assert sample.first_label == "joy"
    assert sample.blamed == ("caef", "psp")
    assert sample.trace.selected is not None
    assert sample.trace.selected.t == 2
    assert [sample.trace.rank(this.t) for this in sample.passes] == ["", "", ""]  # the checks decide


def test_a_system_without_auditor_or_config_is_shown_by_its_events() -> None:
    found: list[events.Event] = [
        events.SampleStarted(sample="a", at=AT, dialogue="d", history=(), responder="", labels=()),
        make_call("a", "Hello.", stage="writer"),
        events.Produced(sample="a", at=AT, t=0, stage="writer", symbol="R", output="Hello."),
        events.Selected(sample="a", at=AT, t=0, ranks={}, ended="no auditor"),
    ]
    sample = page_of(found, NONE)
    assert states(sample) == {"writer": ["made"]}
    assert sample.get_title("writer") == "R"
    assert not sample.audited
    assert sample.trace.why == "Pass 0 is the only one: the system has no auditor"
    empty = page_of([], NONE)
    assert (empty.history, empty.order, empty.trace.failed, empty.trace.why) == ((), [], None, "")


CHECKS = [
    ({0: (1, 0, 0), 1: (1, 1, -1)}, 1, "won: it passed the check of caef, which pass 0 did not"),
    ({0: (1, 0, 0), 1: (1, 0, -1)}, 0, "won: pass 1 passed the same checks, and the earlier pass wins"),
    ({0: (1, 1, 0), 1: (0, 1, -1), 2: (1, 0, -2)}, 0, "won: it passed the check of caef, which pass 2 did not"),
]
POINTS = [
    ({0: (9, 0), 1: (12, -1)}, 1, "won with 12 points; pass 0 has 9 points"),
    ({0: (9, 0), 1: (9, -1)}, 0, "won: pass 1 has as many points, and the earlier pass wins"),
]
DRAWS = [
    ({0: (1, -0.5, 0)}, 0, "is the only one ranked: 1 vote, mean log-probability −0.5"),
    (
        {0: (1, -0.1, 0), 2: (2, -0.5, -2)},
        2,
        "won with 2 votes, mean log-probability −0.5; pass 0 has 1 vote, mean log-probability −0.1",
    ),
    ({1: (2, -0.5, -1), 2: (2, -0.5, -2)}, 1, "won: pass 2 is as likely, and the earlier pass wins"),
]


@pytest.mark.parametrize(
    ("checks", "more", "ranks", "t", "why"),
    [
        *((["mpa", "caef"], {"ended": "passed"}, *case) for case in CHECKS),
        (
            *(["mpa", "caef"], {"ended": "passed", "by": "last"}, {0: (1, 1, 0), 1: (0, 1, -1)}, 1),
            "is the latest that could be audited (final_selection=last), whatever its checks",
        ),
        *(([], {"ended": "good enough"}, *case) for case in POINTS),
        ([], {"ended": "good enough", "by": "last"}, {0: (0, 0), 1: (0, -1)}, 1, "is the last one"),
        *(([], {"ended": "candidates lost"}, *case) for case in DRAWS),
    ],
)
def test_the_reason_for_a_selection_is_described(
    checks: list[str], more: dict[str, str], ranks: dict[int, tuple[float, ...]], t: int, why: str
) -> None:
    event = events.Selected.model_validate({"sample": "a", "t": t, "ranks": ranks, **more})
    assert describe_selection(event, checks) == f"Pass {t} {why}; the loop ended: {events.LOOP_ENDS[more['ended']]}"


def test_the_outcome_of_a_sample_follows_from_its_passes() -> None:
    results = [
        result("a", emotion="joy", gold="joy"),
        result("b", emotion="joy", gold="anger", selected_pass=1, passes=2),
        result("c", emotion="joy", passes=2),
        result("d", None),
    ]
    assert [classify_outcome(item) for item in results] == ["passed", "later", "kept", "failed"]
    assert [is_label_wrong(item) for item in results] == [False, True, False, False]


@pytest.mark.parametrize(
    ("first", "final", "change"),
    [("joy", "anger", "right"), ("anger", "joy", "wrong"), ("joy", "fear", ""), ("anger", "anger", "")],
)
def test_a_later_pass_can_make_a_label_right_or_wrong(first: str, final: str, change: str) -> None:
    assert classify_label_change(result("a", emotion=final, gold="anger", selected_pass=1, passes=2), first) == change
    assert classify_label_change(result("a", emotion=final, gold=None, selected_pass=1, passes=2), first) == ""
    assert classify_label_change(result("a", emotion=final, gold="anger", selected_pass=0, passes=2), first) == ""
