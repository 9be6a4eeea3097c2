"""Baselines with a loop: calls, prompts, and the selected draft."""

import json

import pytest

from mmerg.backends.protocol import Request
from mmerg.runs import events
from mmerg.systems.baselines.schemas import Feedback
from tests.systems.played import Played, Script

TRAITS = [name for name, field in Feedback.model_fields.items() if field.annotation is int]


def rated(*ratings: int, good: bool = False) -> Script:
    """Drafts by number. ratings: points of each for all traits. good: the last is good enough."""
    drafts, left = iter(range(len(ratings))), list(ratings)

    def answer(stage: str, asked: Request) -> str:
        if stage == "critic":
            points = dict.fromkeys(TRAITS, left.pop(0))
            return json.dumps({"feedback": f"mend {len(left)}", **points, "good_enough": good and not left})
        return json.dumps({"emotion": "joy", "response": f"Draft {next(drafts)}."})

    return answer


def response(played: Played) -> object:
    return played.outcome.selected.state.get_path("A.response")


@pytest.mark.parametrize(
    ("ratings", "winner"), [((2, 1, 1), 0), ((1, 1, 1), 0), ((1, 2, 1), 1), ((1, 2, 3), 2), ((2, 2, 3), 2)]
)
def test_a_later_draft_is_selected_only_with_a_better_rating(ratings: tuple[int, ...], winner: int) -> None:
    played = Played("self_refine", "system.max_iterations=2", script=rated(*ratings))
    assert played.asked == ["answer", "critic"] * 3
    assert (response(played), played.outcome.ended) == (f"Draft {winner}.", "max_iterations")


def test_a_refinement_sees_all_drafts_and_feedback() -> None:
    played = Played("self_refine", "system.max_iterations=2", script=rated(1, 1, 1))
    again = played.prompt(4)
    for said in ("Draft 0.", "mend 2", "Draft 1.", "mend 1"):
        assert said in again
    assert "Draft 0." not in played.prompt(3)  # the critic sees only the current draft


def test_the_critic_ends_the_loop() -> None:
    played = Played("self_refine", "system.max_iterations=2", script=rated(1, 2, good=True))
    assert (played.outcome.ended, response(played)) == ("good enough", "Draft 1.")
    assert played.asked == ["answer", "critic"] * 2


def audited(*passes: bool) -> Script:
    drafts, left = iter(range(len(passes))), list(passes)

    def answer(stage: str, asked: Request) -> str:
        if stage == "gra":
            passed = left.pop(0)
            finding = {"reason": "looked", "passed": passed, "correction": "" if passed else "be warmer"}
            return json.dumps({"answer": finding})
        return json.dumps({"emotion": "joy", "response": f"Draft {next(drafts)}."})

    return answer


@pytest.mark.parametrize(
    ("passes", "winner", "ended"),
    [((True,), 0, "passed"), ((False, True), 1, "passed"), ((False, False, False), 0, "max_iterations")],
)
def test_only_the_reply_is_audited(passes: tuple[bool, ...], winner: int, ended: str) -> None:
    played = Played("direct_audit", "system.max_iterations=2", script=audited(*passes))
    assert played.asked == ["answer", "gra"] * len(passes)
    assert (response(played), played.outcome.ended) == (f"Draft {winner}.", ended)
    audits = [event for event in played.events if isinstance(event, events.Audited)]
    assert [list(event.audit.findings) for event in audits] == [["answer"]] * len(passes)
    if len(passes) > 1:
        assert "be warmer" in played.prompt(2)
