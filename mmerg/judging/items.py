"""What is judged: the replies of one run, or those that two runs gave to the same histories.

Nothing but history, responder and replies is taken from a run: no gold reply, label, forecast, plan or name can reach a
prompt from here. A sample that failed in a run has no reply: it stays an item, about which nothing is asked."""

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
    """A sample to judge. replies: one a run, in the order of the runs; None where the sample failed."""

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
        return Scene(self.id, tuple(Turn(*turn) for turn in self.history), self.responder, ())


@dataclass(frozen=True)
class JudgingSet:
    """The items of one judging, in the order of dialogues and ids; the runs that replied; and how many samples were
    left out, by reason."""

    runs: tuple[ScoredRun, ...]
    items: tuple[Item, ...]
    left_out: dict[str, int]

    def digest(self) -> str:
        """SHA-256 (hex) over all that the judge is shown, with ids and dialogues."""
        content = [[item.id, item.dialogue, item.history, item.responder, item.replies] for item in self.items]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def select_items(*runs: ScoredRun, count: int | None = None, seed: int = 0) -> JudgingSet:
    """The replies of one run, or of two to the samples that both have; at most `count` of them, drawn with the seed.
    Raises ConfigError where it is one run twice, RunError where runs cannot be compared (see `check_comparable`) or
    have another history of a sample, or there is no reply."""
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
    """A sample with the answers of all runs to it. Raises RunError where they are not to one and the same history."""
    first = answers[0]
    histories = {(answer.history, answer.responder) for answer in answers if answer.ok}
    if len(histories) > 1 or any(not history for history, _ in histories):
        what = f"the results have different histories of {first.id}"
        hint = "use runs with the same protocol.history; if a results.jsonl was edited, restore it"
        raise RunError(what, where=where, hint=hint)
    # A line feed in a reply must not read as another part of the prompt.
    replies = tuple(" ".join((one.response or "").split()) if one.ok else None for one in answers)
    return Item(first.id, first.dialogue or first.id, first.history, first.responder, replies)
