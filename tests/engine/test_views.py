"""Reruns in other views until a check passes, and reruns that change nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from mmerg.corpora.dialogue import Turn
from mmerg.engine.loops.audit import audit as loop
from mmerg.engine.loops.views import make_views
from mmerg.engine.prompts import Prompts, select_inputs
from mmerg.engine.state import Candidate, Correction, Output, State
from mmerg.errors import CompletionError, Failure
from mmerg.runs import events
from mmerg.runs.trace import SampleTrace
from mmerg.systems.audit import Verdict
from mmerg.systems.system import Stage
from tests.engine.parts import SCENE, STAGES, audit, merg, outputs

EVERY = ("labels", "last_turns", "without_before")
LONG = replace(SCENE, history=(*SCENE.history, Turn("Ben", "Sure?")))


@dataclass
class Answers:
    """Scripted outputs. fault: the stage that fails every audit. says: its outputs by candidate number. good: those of
    its outputs that pass its check."""

    fault: str
    says: Mapping[int, str]
    good: tuple[str, ...] = ()
    asked: list[tuple[str, int, int, Correction | None]] = field(default_factory=list)

    def __call__(
        self,
        stage: Stage,
        state: State,
        t: int,
        correction: Correction | None = None,
        candidate: Candidate | None = None,
    ) -> Output:
        number = candidate.number if candidate else 0
        self.asked.append((stage.name, t, number, correction))
        if stage.name != "gra":
            said = self.says[number]
            if said == "unusable":
                raise CompletionError(Failure.SCHEMA_INVALID, "no JSON")
            return outputs(said)[stage.name]
        if stage.audits != (self.fault,):
            return audit({name: name != self.fault for name in STAGES})
        symbol = next(one.gives for one in merg().stages if one.name == self.fault)
        return audit({self.fault: any(state.get(symbol) == outputs(said)[self.fault] for said in self.good)})


def run_loop(answers: Answers, **changes: object) -> tuple[str, list[events.Event]]:
    log: list[events.Event] = []
    system = merg(**{"max_iterations": 1, "rerun": "view", "rerun_views": EVERY, **changes})
    return loop(system, State(LONG), answers, log.append).ended, log


def view_results(log: list[events.Event]) -> list[tuple[str, str]]:
    return [(one.view, one.became) for one in log if isinstance(one, events.Viewed)]


def test_a_faulty_stage_runs_in_views_until_its_check_passes() -> None:
    answers = Answers("caef", {0: "", 1: "", 2: " 2", 3: " 3"}, good=(" 3",))
    ended, log = run_loop(answers)
    assert view_results(log) == [("labels", "as before"), ("last_turns", "failed"), ("without_before", "passed")]
    again = [one for one in answers.asked if one[1] == 1]
    assert [name for name, *_ in again] == ["caef", "caef", "gra", "caef", "gra", "psp", "sgrg", "gra"]
    assert not any(correction for *_, correction in again)  # no draft is shown
    assert [number for name, _, number, _ in again if name == "caef"] == [1, 2, 3]
    trace = SampleTrace(log)
    assert (ended, trace.passes[1].outputs["e"].output["reasoning"]) == ("max_iterations", "face wins 3")
    assert [one.view for one in trace.passes[1].views] == [*EVERY]


def test_with_scores_the_best_view_is_selected_if_it_is_better() -> None:
    def run_with_scores(*scores: float) -> tuple[str, list[tuple[str, float | None]]]:
        log: list[events.Event] = []
        answers, left = Answers("caef", {n: f" {n}" for n in range(4)}), iter(scores)

        def ask(
            stage: Stage, state: State, t: int, correction: Correction | None = None, candidate: Candidate | None = None
        ) -> Output:
            output = answers(stage, state, t, correction, candidate)
            if stage.name != "gra" or (t and stage.audits != ("caef",)):
                return output
            verdict = Verdict(reason="r", passed=False, correction="c", form="odds", score=next(left))
            return output.model_copy(update={"caef": verdict})  # type: ignore[union-attr]

        system = merg(max_iterations=1, rerun="view", rerun_views=EVERY)
        outcome = loop(system, State(LONG), ask, log.append)
        emotion = outcome.passes[1].state.get_path("e.reasoning")
        return str(emotion), [(one.view, one.score) for one in log if isinstance(one, events.Viewed)]

    assert run_with_scores(-1.0, -2.0, 0.5, -0.5) == ("face wins 2", [*zip(EVERY, (-2.0, 0.5, -0.5), strict=True)])
    assert run_with_scores(-1.0, -2.0, -1.0, -3.0)[0] == "face wins 0"


def test_without_a_better_view_the_loop_ends() -> None:
    ended, log = run_loop(Answers("caef", {0: "", 1: " 1", 2: "unusable", 3: " 1"}), max_iterations=3)
    assert ended == "idle"
    assert view_results(log) == [("labels", "failed"), ("last_turns", "unusable"), ("without_before", "as before")]
    trace = SampleTrace(log)
    assert (trace.repeated, trace.status(trace.passes[1])) == ({1: "caef"}, "idle")
    assert trace.selected
    assert (trace.selected.t, set(trace.selected.ranks)) == (0, {0, 1})


@pytest.mark.parametrize(
    ("stage", "state", "names"),
    [
        (0, State(LONG), ["last_turns", "last_turns"]),
        (1, State(SCENE).with_output("E", outputs()["mpa"]), ["labels", "last_turns"]),
        (3, State(replace(SCENE, history=SCENE.history[:1])), []),
    ],
)
def test_views_that_change_nothing_are_skipped(stage: int, state: State, names: list[str]) -> None:
    system = merg(rerun_views=EVERY, max_views=2, rerun_temperature=0.7)
    found = list(make_views(system, system.stages[stage], state))
    assert [name for name, *_ in found] == names
    assert all(one.sampling["temperature"] == 0.7 for _, one, _ in found)


def test_at_temperature_0_only_labels_are_shuffled_again() -> None:
    state = State(LONG).with_output("E", outputs()["mpa"])
    system = merg(rerun_views=["labels", "last_turns"], max_views=4)
    for greedy, names in ((True, ["labels", "last_turns", "labels"]), (False, ["labels", "last_turns"] * 2)):
        views = make_views(replace(system, greedy=greedy), system.stages[1], state)
        assert [name for name, *_ in views] == names


def test_each_view_changes_what_the_stage_sees() -> None:
    system = merg(rerun_views=EVERY, max_views=4)
    state = State(LONG).with_output("E", outputs()["mpa"])
    (_, one, labels), (_, two, last), (_, blind, full), (_, _, other) = make_views(system, system.stages[1], state)
    orders = {state.ordered_labels, labels.ordered_labels, other.ordered_labels}
    assert len(orders) == 3
    assert {frozenset(order) for order in orders} == {frozenset(SCENE.labels)}
    assert [turn.number for turn in select_inputs(two, last)["D"]] == [3, 4]  # type: ignore[attr-defined]
    assert "1. Ana" not in Prompts(system).render_messages(two, last, {}, "", None)[1].text
    assert ("E" in select_inputs(one, labels), "E" in select_inputs(blind, full)) == (True, False)


def test_a_repeated_output_ends_the_loop_at_temperature_0() -> None:
    same = Answers("psp", {0: ""})
    alone = {"rerun": "shown", "retain": "faulty", "max_iterations": 3}
    ended, log = run_loop(same, greedy=True, **alone)
    assert (ended, [name for name, t, *_ in same.asked if t]) == ("idle", ["psp"])
    assert SampleTrace(log).repeated == {1: "psp"}
    # Another sample may be better, and so may an agent that sees its last output.
    for more in ({"greedy": False}, {"greedy": True, "retain": "all"}):
        goes_on = Answers("psp", {0: ""})
        assert run_loop(goes_on, **(alone | more))[0] == "max_iterations"
        assert [name for name, t, *_ in goes_on.asked if t] == ["psp", "sgrg", "gra"] * 3
