"""What became of a sample: whether a later pass was chosen, and what that made of its label."""

from collections.abc import Collection
from typing import Literal

from mmerg.runs.events import BEST_OF_N
from mmerg.runs.result import Result

Outcome = Literal["passed", "later", "kept", "candidate", "replied", "failed"]
OUTCOMES: dict[Outcome, str] = {
    "passed": "first pass",
    "later": "a later pass was chosen",
    "kept": "rerun, first kept",
    "candidate": "the best of n candidates",
    "replied": "replied",
    "failed": "failed",
}


def outcome(result: Result) -> Outcome:
    """replied: another system wrote the reply, so that no pass is known; candidate: the passes were independent
    candidates."""
    if not result.ok:
        return "failed"
    if not result.passes:
        return "replied"
    if result.ended in BEST_OF_N:
        return "candidate"
    if result.selected_pass:
        return "later"
    return "kept" if result.passes > 1 else "passed"


def counted_outcomes(outcomes: Collection[Outcome]) -> dict[Outcome, str]:
    """The outcomes that a page counts, with their names. Draws and imported replies are counted only where there are
    some, passes not where all replies are imported."""
    imported = "replied" in outcomes and set(outcomes) <= {"replied", "failed"}
    counted = {"replied", "failed"} if imported else {"passed", "later", "kept", "failed", *outcomes}
    return {name: words for name, words in OUTCOMES.items() if name in counted}


def wrong_label(result: Result) -> bool:
    """Whether the forecast label is another than the data's, both being there."""
    return None not in (result.gold_emotion, result.emotion) and result.gold_emotion != result.emotion


def label_became(result: Result, first: str | None) -> Literal["", "right", "wrong"]:
    """What choosing a later pass made of the label, by the data's own. first: the label of pass 0."""
    before, after = (label == result.gold_emotion for label in (first, result.emotion))
    if outcome(result) != "later" or first is None or before == after:
        return ""
    return "right" if after else "wrong"
