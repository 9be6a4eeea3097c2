"""The items that a judge sees: the replies of one run, or those of two runs to the same histories.

An item has only the history, the responder and the replies, so no gold reply, label, forecast, plan or name can reach a
prompt. A sample that failed in a run is an item that needs no call."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Scene, Turn
from mmerg.errors import ConfigError, RunError
from mmerg.runs.result import Result
from mmerg.scoring.comparisons import check_comparable
from mmerg.scoring.run_results import RunResults


@dataclass(frozen=True, slots=True)
class Item:
    """A sample to judge."""

    id: str
    dialogue: str
    history: tuple[tuple[str, str], ...]
    responder: str
    replies: tuple[str | None, ...]  # one per run, in the order of the runs; None if the sample failed

    @property
    def no_reply(self) -> tuple[int, ...]:
        """The numbers of the runs in which the sample failed, from 0."""
        return tuple(run for run, reply in enumerate(self.replies) if reply is None)

    @property
    def scene(self) -> Scene:
        """The scene for prompts, without labels and clips."""
        return Scene(self.id, tuple(Turn(*turn) for turn in self.history), self.responder, ())


@dataclass(frozen=True)
class JudgingSet:
    """The items of one judging, sorted by dialogue and id."""

    runs: tuple[RunResults, ...]
    items: tuple[Item, ...]
    skipped: dict[str, int]  # number of excluded samples, by reason

    def digest(self) -> str:
        """Returns the SHA-256 (hex) of everything that the judge sees, with ids and dialogues."""
        content = [[item.id, item.dialogue, item.history, item.responder, item.replies] for item in self.items]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def select_items(*runs: RunResults, count: int | None = None, seed: int = 0) -> JudgingSet:
    """Selects the samples of a run, or those that all runs have; at most `count` of them, drawn with the seed. Raises
    ConfigError if a run is given twice, and RunError if the runs cannot be compared (see `check_comparable`), or there
    is no reply to judge."""
    where = " and ".join(str(run.path) for run in runs)
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise ConfigError("a run cannot be compared with itself", where=where, hint="name two different run folders")
    for other in runs[1:]:
        check_comparable(runs[0], other)
    by_id = [{result.id: result for result in run.results} for run in runs]
    common = sorted(set.intersection(*map(set, by_id)), key=lambda id: (by_id[0][id].dialogue, id))
    items = tuple(_build_item([results[id] for results in by_id]) for id in common)
    skipped = {"in one run only": sum(map(len, by_id)) - len(runs) * len(common)}
    if all(item.no_reply for item in items):
        counts = {"failed": len(items)} | skipped
        reasons = ", ".join(f"{number} {reason}" for reason, number in counts.items() if number)
        raise RunError(f"there is no reply to judge: {reasons or 'no samples'}", where=where)
    if count is not None and count < len(items):
        skipped["not sampled"] = len(items) - count
        items = tuple(items[index] for index in sorted(random.Random(seed).sample(range(len(items)), count)))
    return JudgingSet(runs, items, {reason: number for reason, number in skipped.items() if number})


def _build_item(results: Sequence[Result]) -> Item:
    """Builds the item of a sample with its result in each run."""
    first = results[0]
    # A line break in a reply must not look like another part of the prompt.
    replies = tuple(" ".join((result.response or "").split()) if result.ok else None for result in results)
    return Item(first.id, first.dialogue or first.id, first.history, first.responder, replies)
