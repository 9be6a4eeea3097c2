"""MultiAgentESC: order of stages, vote, and invalid proposals."""

import json

import pytest

from mmerg.backends.protocol import Request
from mmerg.runs import events
from mmerg.systems.esc.schemas import Votes
from tests.systems.played import Played, Script, smallest_completion

STAGES = ["emotion", "cause", "intention", "proposals", "debate", "vote", "reply", "reflection"]


def answering(stage: str, answer: str) -> Script:
    def script(asking: str, request: Request) -> str:
        return answer if asking == stage else smallest_completion(asking, request)

    return script


def test_the_response_comes_from_the_reflection() -> None:
    last = json.dumps({"reflection": "too cold", "response": "I am so sorry."})
    played = Played("multi_agent_esc", script=answering("reflection", last))
    assert played.asked == STAGES
    assert played.outcome.selected.state.get_path(played.system.result["response"]) == "I am so sorry."


@pytest.mark.parametrize(
    ("votes", "winner"), [((1, 1, 2), 1), ((2, 3, 3), 3), ((3, 2, 3), 3), ((3, 1, 2), 3), ((2, 1, 3), 2)]
)
def test_the_proposal_with_most_votes_wins_and_empathy_decides_a_tie(votes: tuple[int, ...], winner: int) -> None:
    said = dict(zip(Votes.model_fields, votes, strict=True))
    played = Played("multi_agent_esc", script=answering("vote", json.dumps(said)))
    assert f"with the strategy of proposal {winner}," in played.prompt(STAGES.index("reply"))


def test_proposals_need_different_strategies() -> None:
    asked: list[str] = []

    def script(asking: str, request: Request) -> str:
        asked.append(asking)
        if asking != "proposals" or asked.count(asking) > 1:
            return smallest_completion(asking, request)
        completion = json.loads(smallest_completion(asking, request))
        completion["proposals"][1]["b_strategy"] = completion["proposals"][0]["b_strategy"]
        return json.dumps(completion)

    played = Played("multi_agent_esc", script=script)
    assert asked.count("proposals") == 2
    [refused] = [event.complaint for event in played.events if isinstance(event, events.Refused)]
    assert "two proposals have the same strategy" in refused
