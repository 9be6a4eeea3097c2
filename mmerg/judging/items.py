"""The items that are judged: the replies of one run, or those of two runs to the same histories.

An item holds only history, responder and replies, so that no gold reply, label, forecast, plan or name can reach a
prompt. A sample that failed is an item without calls."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Scene, Turn
from mmerg.errors import ConfigError, RunError
from mmerg.runs.result import Result
from mmerg.scoring.answers import ScoredRun
from mmerg.scoring.comparisons import check_comparable


@dataclass(frozen=True, slots=True)
class Item:
    """A sample to judge. replies: one a run, in the order of the runs; None if the sample failed."""

    id: str
    dialogue: str
    history: tuple[tuple[str, str], ...]
    responder: str
    replies: tuple[str | None, ...]

    @property
    def no_reply(self) -> tuple[int, ...]:
        """The numbers of the runs in which the sample failed."""
        return tuple(run for run, reply in enumerate(self.replies) if reply is None)

    @property
    def scene(self) -> Scene:
        """The scene for prompts, without labels and clips."""
        return Scene(self.id, tuple(Turn(*turn) for turn in self.history), self.responder, ())


@dataclass(frozen=True)
class JudgingSet:
    """The items of one judging, in the order of dialogues and ids. left_out: the number of other samples, by
    reason."""

    runs: tuple[ScoredRun, ...]
    items: tuple[Item, ...]
    left_out: dict[str, int]

    def digest(self) -> str:
        """SHA-256 (hex) of all that the judge sees, with ids and dialogues."""
        content = [[item.id, item.dialogue, item.history, item.responder, item.replies] for item in self.items]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def select_items(*runs: ScoredRun, count: int | None = None, seed: int = 0) -> JudgingSet:
    """The replies of one run, or of two runs to the samples that both have; at most `count`, drawn with the seed.
    Raises ConfigError if both are the same run, RunError if runs cannot be compared (see `check_comparable`), have
    different histories of a sample, or have no reply."""
    where = " and ".join(str(run.path) for run in runs)
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise ConfigError("a run cannot be compared with itself", where=where, hint="name two different run folders")
    for other in runs[1:]:
        check_comparable(runs[0], other)
    answers = [{answer.id: answer for answer in run.answers} for run in runs]
    common = sorted(set.intersection(*map(set, answers)), key=lambda id: (answers[0][id].dialogue, id))
    items = tuple(_item([of_run[id] for of_run in answers], where) for id in common)
    left_out = {"in one run only": sum(map(len, answers)) - len(runs) * len(common)}
    if all(item.no_reply for item in items):
        reasons = ", ".join(
            f"{count} {reason}" for reason, count in ({"failed": len(items)} | left_out).items() if count
        )
        raise RunError(f"there is no reply to judge: {reasons or 'no samples'}", where=where)
    if count is not None and count < len(items):
        left_out["not drawn"] = len(items) - count
        items = tuple(items[place] for place in sorted(random.Random(seed).sample(range(len(items)), count)))
    return JudgingSet(runs, items, {reason: count for reason, count in left_out.items() if count})


def _item(answers: Sequence[Result], where: str) -> Item:
    """Raises RunError if the histories differ between runs."""
    first = answers[0]
    histories = {(answer.history, answer.responder) for answer in answers if answer.ok}
    if len(histories) > 1 or any(not history for history, _ in histories):
        what = f"the results have different histories of {first.id}"
        hint = "use runs with the same protocol.history; if a results.jsonl was edited, restore it"
        raise RunError(what, where=where, hint=hint)
    # A line break in a reply must not look like another part of the prompt.
    replies = tuple(" ".join((one.response or "").split()) if one.ok else None for one in answers)
    return Item(first.id, first.dialogue or first.id, first.history, first.responder, replies)
