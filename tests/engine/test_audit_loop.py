"""MERG's loop: reruns, stop rule and selection, with scripted outputs of stages."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from mmerg.engine.loops.audit import audit as run_audit_loop
from mmerg.engine.state import Candidate, Correction, Output, Pass, State
from mmerg.errors import CallError, CompletionError, Failure
from mmerg.runs import events
from mmerg.settings.model import FinalSelection
from mmerg.systems.audit import to_audit
from mmerg.systems.system import Stage
from tests.engine.parts import SCENE, STAGES, audit, merg, outputs

Verdicts = tuple[bool, bool, bool, bool]
TUPLES: list[Verdicts] = [(a, b, c, d) for a, b, c, d in itertools.product((False, True), repeat=4)]


@dataclass
class Answers:
    """Scripted outputs. verdicts: of audits, by pass. breaks: errors by (stage, t)."""

    verdicts: Sequence[Verdicts]
    breaks: dict[tuple[str, int], Exception] = field(default_factory=dict)
    asked: list[tuple[int, str, Correction | None]] = field(default_factory=list)
    seen: list[State] = field(default_factory=list)

    def __call__(
        self,
        stage: Stage,
        state: State,
        t: int,
        correction: Correction | None = None,
        candidate: Candidate | None = None,
    ) -> Output:
        self.asked.append((t, stage.name, correction))
        self.seen.append(state)
        if error := self.breaks.get((stage.name, t)):
            raise error
        if stage.name == "gra":
            return audit(dict(zip(STAGES, self.verdicts[t], strict=True)))
        return outputs(f" {t}")[stage.name]


def fail(stage: str) -> Verdicts:
    a, b, c, d = (name != stage for name in STAGES)
    return a, b, c, d


ALL: Verdicts = (True, True, True, True)


@pytest.mark.parametrize("stage", STAGES)
def test_a_fault_reruns_its_stage_and_later_ones(stage: str) -> None:
    answers, log = Answers([fail(stage), ALL]), list[events.Event]()
    outcome = run_audit_loop(merg(), State(SCENE), answers, log.append)
    again = [(name, why) for t, name, why in answers.asked if t == 1]
    assert [name for name, _ in again] == [*STAGES[STAGES.index(stage) :], "gra"]
    first = again[0][1]
    assert first is not None
    assert (first.stage, first.instruction, first.reason) == (stage, f"mend {stage}", f"{stage} looked at")
    assert first.previous == outputs(" 0")[stage]
    *after, (_, of_auditor) = again[1:]
    assert [(why.previous, why.instruction) for _, why in after if why] == [
        (outputs(" 0")[name], "") for name, _ in after
    ]
    assert of_auditor is None
    kept, fresh = STAGES[: STAGES.index(stage)], STAGES[STAGES.index(stage) :]
    gives = dict(zip(STAGES, "EePR", strict=True))
    final = outcome.passes[1].state
    assert [final.get(gives[name]) for name in kept] == [outputs(" 0")[name] for name in kept]
    assert [final.get(gives[name]) for name in fresh] == [outputs(" 1")[name] for name in fresh]
    [rerun] = [event for event in log if isinstance(event, events.Rerun)]
    assert (rerun.t, rerun.stage, rerun.correction) == (1, stage, f"mend {stage}")


@pytest.mark.parametrize("most", [0, 2])
def test_every_pass_is_audited_and_their_number_is_bounded(most: int) -> None:
    answers = Answers([fail("sgrg")] * 6)
    outcome = run_audit_loop(merg(max_iterations=most), State(SCENE), answers, lambda _: None)
    assert len(outcome.passes) == most + 1
    assert all(p.audit is not None for p in outcome.passes)
    assert [t for t, name, _ in answers.asked if name == "gra"] == list(range(most + 1))
    assert outcome.ended == "max_iterations"
    assert outcome.selected.t == 0


def passes(*verdicts: Verdicts) -> list[Pass]:
    made = []
    for t, verdict in enumerate(verdicts):
        made.append(Pass(t, State(SCENE), to_audit(audit(dict(zip(STAGES, verdict, strict=True))))))
    return made


def test_the_fault_is_the_first_failed_check() -> None:
    for verdict in TUPLES:
        audited = to_audit(audit(dict(zip(STAGES, verdict, strict=True))))
        assert audited.checks == tuple(map(int, verdict))
        assert audited.fault == next((name for name, ok in zip(STAGES, verdict, strict=True) if not ok), None)


UNREADABLE = CompletionError(Failure.SCHEMA_INVALID, "no JSON", hint="see it")


@pytest.mark.parametrize("by", ["lexicographic", "last"])
def test_an_unreadable_first_audit_keeps_the_reply(by: FinalSelection) -> None:
    log: list[events.Event] = []
    answers = Answers([ALL], {("gra", 0): UNREADABLE})
    outcome = run_audit_loop(merg(final_selection=by), State(SCENE), answers, log.append)
    assert (outcome.ended, len(outcome.passes)) == ("unaudited", 1)
    assert outcome.selected.state.get("R") == "That must hurt. 0"
    [unread] = [event for event in log if isinstance(event, events.Unaudited)]
    assert (unread.t, unread.failure, unread.what, unread.hint) == (0, Failure.SCHEMA_INVALID, "no JSON", "see it")
    [selected] = [event for event in log if isinstance(event, events.Selected)]
    assert (selected.t, selected.ranks) == (0, {})


@pytest.mark.parametrize("by", ["lexicographic", "last"])
def test_an_unreadable_later_audit_selects_an_audited_pass(by: FinalSelection) -> None:
    """It does so even if the checks of that pass failed."""
    answers, log = Answers([(False,) * 4, ALL], {("gra", 1): UNREADABLE}), list[events.Event]()
    outcome = run_audit_loop(merg(final_selection=by), State(SCENE), answers, log.append)
    assert (outcome.ended, outcome.selected.t, len(outcome.passes)) == ("unaudited", 0, 2)
    assert outcome.passes[1].audit is None
    assert [event.t for event in log if isinstance(event, events.Unaudited)] == [1]


def test_a_later_pass_that_cannot_be_finished_ends_the_loop() -> None:
    answers, log = Answers([fail("caef"), ALL], {("psp", 1): UNREADABLE}), list[events.Event]()
    outcome = run_audit_loop(merg(), State(SCENE), answers, log.append)
    assert (outcome.ended, outcome.selected.t, len(outcome.passes)) == ("unusable", 0, 1)
    assert [event.t for event in log if isinstance(event, events.PassLost)] == [1]


@pytest.mark.parametrize("t", [0, 1])
def test_a_failed_call_fails_the_sample_in_any_pass(t: int) -> None:
    answers = Answers([fail("mpa"), ALL], {("caef", t): CallError(Failure.TIMEOUT, "late")})
    with pytest.raises(CallError):
        run_audit_loop(merg(), State(SCENE), answers, lambda _: None)


def test_without_an_auditor_there_is_one_pass() -> None:
    answers = Answers([])
    outcome = run_audit_loop(merg(auditor=None), State(SCENE), answers, lambda _: None)
    assert (len(outcome.passes), outcome.ended) == (1, "no auditor")
    assert outcome.selected.state.get("R") == "That must hurt. 0"
    assert [name for _, name, _ in answers.asked] == list(STAGES)


@pytest.mark.parametrize("failure", [Failure.CONTEXT_OVERFLOW, Failure.IMAGE_REJECTED, Failure.BAD_REQUEST])
def test_a_later_prompt_that_the_server_refuses_ends_the_loop(failure: Failure) -> None:
    refused = CallError(failure, "too long")
    for stage, ended in (("caef", "unusable"), ("gra", "unaudited")):
        outcome = run_audit_loop(
            merg(), State(SCENE), Answers([fail("mpa"), ALL], {(stage, 1): refused}), lambda _: None
        )
        assert (outcome.ended, outcome.selected.t) == (ended, 0)
        with pytest.raises(CallError, match="too long"):
            run_audit_loop(merg(), State(SCENE), Answers([ALL], {(stage, 0): refused}), lambda _: None)
