"""What became of a sample: whether a later pass was chosen, and what that did to its label."""

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
    """replied: another system wrote the reply, so that no pass is known. candidate: the passes were independent."""
    if not result.ok:
        return "failed"
    if not result.passes:
        return "replied"
    if result.ended in BEST_OF_N:
        return "candidate"
    if result.selected_pass:
        return "later"
    return "kept" if result.passes > 1 else "passed"


def list_outcomes(present: Collection[Outcome]) -> dict[Outcome, str]:
    """The outcomes that a page counts, with their names: those that are present, passes of own systems, failures."""
    imported = "replied" in present and set(present) <= {"replied", "failed"}
    shown = {"replied", "failed"} if imported else {"passed", "later", "kept", "failed", *present}
    return {name: words for name, words in OUTCOMES.items() if name in shown}


def wrong_label(result: Result) -> bool:
    """Whether the forecast label differs from the gold label, if both are known."""
    return None not in (result.gold_emotion, result.emotion) and result.gold_emotion != result.emotion


def label_became(result: Result, first: str | None) -> Literal["", "right", "wrong"]:
    """What the choice of a later pass did to the label, by the gold label. first: the label of pass 0."""
    before, after = (label == result.gold_emotion for label in (first, result.emotion))
    if outcome(result) != "later" or first is None or before == after:
        return ""
    return "right" if after else "wrong"
