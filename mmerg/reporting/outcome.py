"""The outcome of a sample: whether a later pass was selected, and how that changed its label."""

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


def classify_outcome(result: Result) -> Outcome:
    """Returns the outcome of a sample. It is "replied" if another system wrote the reply, so that no pass is known, and
    "candidate" if the passes were independent."""
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
    """Returns the outcomes that a page counts, with their titles: those present, failures and, with runs of mmerg,
    those of passes."""
    imported = "replied" in present and set(present) <= {"replied", "failed"}
    shown = {"replied", "failed"} if imported else {"passed", "later", "kept", "failed", *present}
    return {name: title for name, title in OUTCOMES.items() if name in shown}


def is_label_wrong(result: Result) -> bool:
    """Returns True if the forecast label and the gold label are known and differ."""
    return None not in (result.gold_emotion, result.emotion) and result.gold_emotion != result.emotion


def classify_label_change(result: Result, first: str | None) -> Literal["", "right", "wrong"]:
    """Returns what the label became, by the gold label, as a later pass was selected; "" if that changed nothing.
    first: the label of pass 0."""
    before, after = (label == result.gold_emotion for label in (first, result.emotion))
    if classify_outcome(result) != "later" or first is None or before == after:
        return ""
    return "right" if after else "wrong"
