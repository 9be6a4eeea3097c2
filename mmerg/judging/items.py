"""What is judged: the replies of one run, or those that two runs gave to the same histories.

Nothing but history, responder and replies is taken from a run: no gold reply, label, forecast, plan or name can reach a
prompt from here. A sample that failed in a run has no reply: it stays an item, about which nothing is asked.

    lot = pairs(read_run(a), read_run(b))
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


def singles(run: ScoredRun) -> Lot:
    """The replies of one run. Raises RunError where it has none, or its results do not tell what they answer."""
    answers = _in_order(run.answers)
    for answer in answers:
        _must_be_told(answer, run)
    return _lot((run,), [_item(answer, (answer,)) for answer in answers], {})


def pairs(a: ScoredRun, b: ScoredRun) -> Lot:
    """The replies of two runs to the samples that both have. Raises ConfigError where it is one run, RunError where
    the runs cannot be compared (see `must_compare`), results do not tell what was shown, or that was not the same."""
    if a.path.resolve() == b.path.resolve():
        raise ConfigError("a run is to be compared with itself", where=str(a.path), hint="name two run folders")
    must_compare(a, b)
    others = {answer.id: answer for answer in b.answers}
    both = [(answer, others[answer.id]) for answer in _in_order(a.answers) if answer.id in others]
    for one, other in both:
        _must_be_told(one, a)
        _must_be_told(other, b)
        told = (one.history, one.responder), (other.history, other.responder)
        if one.ok and other.ok and told[0] != told[1]:
            raise RunError(
                f"the runs were not shown the same history of {one.id}",
                where=f"{a.path} and {b.path}",
                hint="compare runs with the same protocol.history",
            )
    items = [_item(one, (one, other)) for one, other in both]
    return _lot((a, b), items, {"in one run only": len(a.answers) + len(b.answers) - 2 * len(both)})


def _must_be_told(answer: Result, run: ScoredRun) -> None:
    """Raises RunError for a reply to nothing: it would be judged without what it answers."""
    if answer.ok and not answer.history:
        raise RunError(
            f"the results do not tell what was shown of {answer.id}",
            where=str(run.path / RESULTS),
            hint="put the run's own results.jsonl back, or run it again: its calls come from the reply cache",
        )


def _lot(runs: tuple[ScoredRun, ...], items: list[Item], left_out: dict[str, int]) -> Lot:
    if all(item.no_reply for item in items):
        reasons = {"failed": len(items), **left_out}
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count) or "no samples"
        raise RunError(f"there is no reply to judge: {told}", where=" and ".join(str(run.path) for run in runs))
    return Lot(runs, tuple(items), {reason: count for reason, count in left_out.items() if count})


def _in_order(answers: Sequence[Result]) -> list[Result]:
    return sorted(answers, key=lambda answer: (answer.dialogue, answer.id))


def _item(answer: Result, answers: tuple[Result, ...]) -> Item:
    # A line feed in a reply must not read as another part of the prompt.
    replies = tuple(" ".join((one.response or "").split()) if one.ok else None for one in answers)
    return Item(answer.id, answer.dialogue or answer.id, answer.history, answer.responder, replies)
