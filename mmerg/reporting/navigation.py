"""Which sample comes before and after, the next that a later pass decided or that failed, and what became of each.

outcome(result)    # 'later'
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from mmerg.runs.events import DRAWN
from mmerg.runs.result import Result

Outcome = Literal["passed", "later", "kept", "drawn", "replied", "failed"]
OUTCOMES: dict[Outcome, str] = {
    "passed": "first pass",
    "later": "a later pass was chosen",
    "kept": "rerun, first kept",
    "drawn": "one of several draws",
    "replied": "replied",
    "failed": "failed",
}


class Ways(NamedTuple):
    """Ids of the samples that a page leads to, None where there is none."""

    before: str | None
    after: str | None
    later: str | None
    failed: str | None


def outcome(result: Result) -> Outcome:
    """passed: one pass was enough or all there was. later: a later one was chosen. kept: there was a later one, and the
    first won all the same. drawn: the passes were independent of each other.
    replied: another system wrote the reply, so that no pass is known."""
    if result.status == "failed":
        return "failed"
    if not result.passes:
        return "replied"
    if result.ended in DRAWN:
        return "drawn"
    if result.selected_pass:
        return "later"
    return "kept" if result.passes > 1 else "passed"


def outcomes(found: Collection[Outcome]) -> dict[Outcome, str]:
    """Those that a page counts, with their names: of draws and imported replies it speaks only where there are some, of
    passes not where all replies are imported."""
    imported = "replied" in found and set(found) <= {"replied", "failed"}
    shown = {"replied", "failed"} if imported else {"passed", "later", "kept", "failed", *found}
    return {name: said for name, said in OUTCOMES.items() if name in shown}


def wrong_emotion(result: Result) -> bool:
    """Whether the forecast label is another than the data's, both being there."""
    return None not in (result.gold_emotion, result.emotion) and result.gold_emotion != result.emotion


def became(result: Result, first: str | None) -> Literal["", "right", "wrong"]:
    """What choosing a later pass made of the label, by the data's own. first: the label of pass 0."""
    before, after = (label == result.gold_emotion for label in (first, result.emotion))
    if not result.selected_pass or outcome(result) != "later" or first is None or before == after:
        return ""
    return "right" if after else "wrong"


def ways(results: Sequence[Result]) -> Iterator[Ways]:
    """For each result in order."""
    found: list[Ways] = []
    ahead: dict[Outcome, str] = {}  # by outcome, the next sample of which that became
    for at in range(len(results) - 1, -1, -1):
        before = results[at - 1].id if at else None
        after = results[at + 1].id if found else None
        found.append(Ways(before, after, ahead.get("later"), ahead.get("failed")))
        ahead[outcome(results[at])] = results[at].id
    return reversed(found)
