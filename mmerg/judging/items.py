"""What is judged: the replies of one run, or those that two runs gave to the same histories.

Nothing but history, responder and replies is taken from a run: no gold reply, label, forecast, plan or name can reach a
prompt from here. A sample that failed in a run has no reply: it stays an item, about which nothing is asked.

    lot = lot_of(read_run(a), read_run(b))
    lot.items[0].replies    # A's, B's
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mmerg.corpora.dialogue import Scene, Turn
from mmerg.errors import ConfigError, RunError
from mmerg.runs.folder import RESULTS
from mmerg.runs.result import Result
from mmerg.scoring.answers import ScoredRun
from mmerg.scoring.comparable import must_compare


@dataclass(frozen=True, slots=True)
class Item:
    """A sample to judge: what was shown of its dialogue, and one reply a run, in the order of the runs; None where the
    sample failed."""

    id: str
    dialogue: str
    history: tuple[tuple[str, str], ...]
    responder: str
    replies: tuple[str | None, ...]

    @property
    def no_reply(self) -> tuple[int, ...]:
        """The runs, by number, in which it failed."""
        return tuple(run for run, reply in enumerate(self.replies) if reply is None)

    @property
    def scene(self) -> Scene:
        """What prompts are rendered from: it holds no labels, and turns without clips."""
        turns = tuple(Turn(speaker, text) for speaker, text in self.history)
        return Scene(self.id, turns, self.responder, ())


@dataclass(frozen=True)
class Lot:
    """The items of one judging, by dialogue and id; the runs they are of; and how many samples were left out, by
    reason."""

    runs: tuple[ScoredRun, ...]
    items: tuple[Item, ...]
    left_out: dict[str, int]

    def digest(self) -> str:
        """SHA-256 (hex) over all that the judge is shown, and what it is of."""
        content = [[item.id, item.dialogue, item.history, item.responder, item.replies] for item in self.items]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def drawn(self, count: int | None, seed: int) -> Lot:
        """So many of the items, drawn with `seed`, in their order; all where `count` is None or not less."""
        if count is None or count >= len(self.items):
            return self
        places = sorted(random.Random(seed).sample(range(len(self.items)), count))
        left_out = {**self.left_out, "not drawn": len(self.items) - count}
        return replace(self, items=tuple(self.items[place] for place in places), left_out=left_out)


def lot_of(*runs: ScoredRun) -> Lot:
    """The replies of one run, or of two to the samples that both have. Raises ConfigError where it is one run twice,
    RunError where runs cannot be compared (see `must_compare`) or were not shown the same, results do not tell what
    they answer, or there is no reply."""
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise ConfigError("a run is to be compared with itself", where=str(runs[0].path), hint="name two run folders")
    for other in runs[1:]:
        must_compare(runs[0], other)
    answers = [{answer.id: answer for answer in run.answers} for run in runs]
    common = sorted(set.intersection(*map(set, answers)), key=lambda id: (answers[0][id].dialogue, id))
    items = tuple(_item(runs, [of_run[id] for of_run in answers]) for id in common)
    alone = sum(map(len, answers)) - len(runs) * len(common)
    if all(item.no_reply for item in items):
        reasons = {"failed": len(items), "in one run only": alone}
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count) or "no samples"
        raise RunError(f"there is no reply to judge: {told}", where=" and ".join(str(run.path) for run in runs))
    return Lot(runs, items, {"in one run only": alone} if alone else {})


def _item(runs: Sequence[ScoredRun], answers: Sequence[Result]) -> Item:
    """The answers, one a run, to a sample. Raises RunError where one is to nothing, or they are not to the same."""
    first = answers[0]
    for run, answer in zip(runs, answers, strict=True):
        if answer.ok and not answer.history:
            raise RunError(
                f"the results do not tell what was shown of {first.id}",
                where=str(run.path / RESULTS),
                hint="put the run's own results.jsonl back, or run it again: its calls come from the reply cache",
            )
    if len({(answer.history, answer.responder) for answer in answers if answer.ok}) > 1:
        what, where = f"the runs were not shown the same history of {first.id}", " and ".join(str(r.path) for r in runs)
        raise RunError(what, where=where, hint="compare runs with the same protocol.history")
    # A line feed in a reply must not read as another part of the prompt.
    replies = tuple(" ".join((one.response or "").split()) if one.ok else None for one in answers)
    return Item(first.id, first.dialogue or first.id, first.history, first.responder, replies)
