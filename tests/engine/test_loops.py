"""Loops: Self-Refine with its history, a user's loop, and settings that do not fit a loop."""

from collections.abc import Sequence
from typing import Any

import pytest

from mmerg.backends.protocol import Sampling
from mmerg.backends.scripted import Scripted, ScriptItem
from mmerg.engine.ask import Asker
from mmerg.engine.loops.loop import Outcome
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import get_loop
from mmerg.engine.state import Draft, State
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.runs import events
from mmerg.settings.model import SystemSettings
from mmerg.settings.problems import read_settings
from mmerg.systems.build import build_system
from mmerg.systems.system import System
from tests.engine.parts import ROOT, SCENE
from tests.outside.outside_parts import Feedback, twice

PROMPTS = str(ROOT / "tests" / "outside" / "system" / "plain")
CRITIC = {"name": "critic", "sees": ["D", "R"], "output": f"{Feedback.__module__}.Feedback", "stop": "good"}
BASE: dict[str, Any] = {
    "name": "own",
    "prompts": PROMPTS,
    "stages": {"reply": {"sees": ["D"], "gives": "R"}},
    "result": {"response": "R"},
}


def build(**changes: Any) -> System:
    return build_system(read_settings(SystemSettings, {**BASE, **changes}, "system=own"))


def feedback(warmth: int, good: bool = False) -> str:
    return Feedback(said=f"warmth {warmth}", warmth=warmth, tact=1, good=good).model_dump_json()


def run_loop(system: System, answers: Sequence[ScriptItem]) -> tuple[Outcome, Scripted, list[events.Event]]:
    backend, log = Scripted(list(answers)), list[events.Event]()
    asker = Asker(Prompts(system), backend, Sampling(), log.append)
    return get_loop(system)(system, State(SCENE), asker, log.append), backend, log


def refining(**changes: Any) -> System:
    return build(loop="refine", auditor={**CRITIC, **changes})


def test_a_refinement_sees_every_draft_with_its_feedback() -> None:
    outcome, backend, log = run_loop(refining(), ["One.", feedback(1), "Two.", feedback(2), "Three.", feedback(3)])
    assert (outcome.selected.state.get("R"), outcome.ended) == ("Three.", "max_iterations")
    first, _, second, _, third, _ = (request.messages[1].text for request in backend.requests)
    assert "Draft" not in first
    assert "Draft 1: One.\nFeedback: " in second
    assert "warmth 1" in second
    assert all(part in third for part in ("Draft 1: One.", "warmth 1", "Draft 2: Two.", "warmth 2"))
    correction = outcome.passes[2].correction
    assert correction
    assert [draft.output for draft in correction.drafts] == ["One.", "Two."]
    assert isinstance(correction.drafts[0], Draft)
    reruns = [event for event in log if isinstance(event, events.Rerun)]
    assert [(rerun.t, rerun.stage) for rerun in reruns] == [(1, "reply"), (2, "reply")]
    assert [event.output for event in log if isinstance(event, events.Produced) and event.stage == "reply"] == [
        *("One.", "Two.", "Three.")
    ]


def test_feedback_ends_the_loop() -> None:
    outcome, backend, _ = run_loop(refining(), ["One.", feedback(1), "Two.", feedback(2, good=True)])
    assert (outcome.ended, outcome.selected.state.get("R"), backend.calls) == ("good enough", "Two.", 4)


@pytest.mark.parametrize(("warmths", "chosen"), [((3, 1, 2), 0), ((1, 3, 3), 1), ((1, 2, 3), 2)])
def test_a_worse_draft_is_not_selected(warmths: tuple[int, ...], chosen: int) -> None:
    """The better score wins, and the earlier draft in a tie. The authors' code always keeps the later draft."""
    drafts = ["One.", "Two.", "Three."]
    answers = [said for draft, warmth in zip(drafts, warmths, strict=True) for said in (draft, feedback(warmth))]
    outcome, _, log = run_loop(refining(score="points"), answers)
    assert outcome.selected.state.get("R") == drafts[chosen]
    [selected] = [event for event in log if isinstance(event, events.Selected)]
    assert selected.ranks == {t: (warmth + 1, -t) for t, warmth in enumerate(warmths)}


def test_unreadable_feedback_ends_the_loop() -> None:
    outcome, _, _ = run_loop(refining(), ["One.", *["no JSON"] * 3])
    assert (outcome.ended, outcome.selected.state.get("R")) == ("unaudited", "One.")
    outcome, _, _ = run_loop(refining(), ["One.", feedback(1), "Two.", *["no JSON"] * 3])
    assert (outcome.ended, outcome.selected.state.get("R")) == ("unaudited", "One.")
    with pytest.raises(CallError):
        run_loop(refining(), ["One.", feedback(1), CallError(Failure.TIMEOUT, "late")])


def test_a_loop_of_the_user_runs() -> None:
    system = build(loop=f"{twice.__module__}.twice")
    outcome, backend, log = run_loop(system, ["One.", "Two."])
    assert (outcome.selected.state.get("R"), outcome.ended, backend.calls) == ("Two.", "two passes", 2)
    assert log[-1].kind == "selected"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loop": "nowhere.loop"}, "'nowhere.loop' cannot be imported"),
        ({"loop": "mmerg.settings.model.LOOPS"}, "cannot be called"),
        ({"loop": "single", "auditor": {"name": "gra", "sees": ["D"]}}, "loop=single never asks the auditor"),
        ({"loop": "candidates"}, "no stage that gives it has log-probabilities"),
        ({"loop": "refine", "auditor": {"name": "gra", "sees": ["D"]}}, "does not see its output R"),
        ({"auditor": CRITIC}, "the auditor answers the stages' checks"),
        ({"loop": "refine", "auditor": {**CRITIC, "stop": "done"}}, "stop is done, which the auditor's output does"),
        ({"n": 3}, "system.n=3 has no effect"),
        ({"final_selection": "last"}, "system.final_selection=last has no effect"),
        ({"loop": "refine", "auditor": CRITIC, "rerun": "view"}, "system.rerun=view has no effect in loop=refine"),
    ],
)
def test_a_loop_that_does_not_fit_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(**changes)
    assert message in str(caught.value)
