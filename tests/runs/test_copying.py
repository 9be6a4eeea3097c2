"""The parts of prompts that a reply copies: history, exemplars and instructions."""

import pytest

from mmerg.runs import events
from mmerg.runs.copying import count_copied
from mmerg.runs.trace import SampleTrace
from tests.scoring.run_builder import AT, LABELS, make_call, result

LAST = "It is fine. Really, I will find another job."
EXEMPLAR = "That is a loss, I am sorry."
RUBRIC = "- sgrg, the next turn. Fails: 'I cannot help with that.' Passes: 'No way! You got it?'"


def trace(reply: str) -> SampleTrace:
    """One pass: the response's call with an exemplar, then its audit, whose prompt shows the reply."""
    history = (("Ana", "I did not get the job in the end."), ("Ben", "Oh no."), ("Ana", LAST))
    exemplar: dict[str, object] = {
        "id": "m/3",
        "history": [{"speaker": "Wren", "text": "I lost it."}],
        "reply": EXEMPLAR,
    }
    talk = "\n".join(f"{number}. {name}: {text}" for number, (name, text) in enumerate(history, start=1))
    shown = f"Conversation so far:\n{talk}\n\nNext turn: {EXEMPLAR}\n\nYour step: write the next turn."
    plan = {"goal": "say that it will be all right"}
    return SampleTrace(
        [
            events.SampleStarted(sample="a", at=AT, dialogue="d", history=history, responder="Ben", labels=LABELS),
            make_call("a", str(plan), stage="psp", prompt="Your step: the plan, in a few words."),
            events.Produced(sample="a", at=AT, t=0, stage="psp", symbol="P", output=plan),
            events.Supplied(sample="a", at=AT, t=0, stage="sgrg", symbol="M", content=(exemplar,)),
            make_call("a", reply, prompt=f"{shown} The plan: {plan['goal']}"),
            events.Produced(sample="a", at=AT, t=0, stage="sgrg", symbol="R", output=reply),
            make_call("a", "{}", stage="gra", prompt=f"{talk}\n\nsgrg:\n{reply}\n\n{RUBRIC}"),
        ]
    )


@pytest.mark.parametrize(
    ("reply", "copied", "repeats"),
    [
        ("Really? I will find another way.", {"all": 3, "any": 2, "history": 2, "last turn": 2}, ""),
        ("REALLY I will find another job!", {"all": 3, "any": 3, "history": 3, "last turn": 3}, "last turn"),
        (f"Yeah. {LAST}", {"all": 7, "any": 6, "history": 6, "last turn": 6}, "last turn"),
        ("I did not get the job.", {"all": 3, "any": 3, "history": 3}, "history"),
        ("That is a loss, I am sorry.", {"all": 4, "any": 4, "exemplars": 4}, "exemplars"),
        ("No way! You got it?", {"all": 2, "any": 2, "instructions": 2}, "instructions"),
        ("Write the next turn, Ana.", {"all": 2, "any": 1, "instructions": 1}, ""),
        ("It will be all right.", {"all": 2}, ""),  # the plan is data
        ("What a day that must have been.", {"all": 4}, ""),
        ("Oh no.", {}, ""),
    ],
)
def test_copied_sequences_are_counted_by_source(reply: str, copied: dict[str, int], repeats: str) -> None:
    assert count_copied(trace(reply), reply, "R") == copied
    assert result("a", reply, copied=copied).repeats == repeats


def test_an_imported_reply_is_compared_with_the_history_only() -> None:
    started = trace(LAST).started
    assert started
    assert count_copied(SampleTrace([started]), LAST, "") == {"all": 6, "any": 6, "history": 6, "last turn": 6}
