"""Asks a judge about one item: every aspect in a call of its own, in every order of the replies, as often as wanted.

The judge is a system of stages that see D, the history, and R, the replies, and nothing of each other. What its calls
have in common comes first in every prompt, and aspects follow each other back to back, so that a server's prefix cache
serves them. An answer that cannot be used even after repairs is an unusable verdict, never a guess; a call that fails
fails the item. Where a run gave no reply there is nothing to ask.

    judge = Judge(Prompts(judge_system(settings.judge)), Sampling(), replies=2, repeats=1)
    verdicts = judge.item(item, backend, trace.emit)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, permutations
from typing import get_args

from mmerg.backends.protocol import Backend, Sampling
from mmerg.engine.ask import Asker
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Fields, attempt
from mmerg.engine.sources import Supply
from mmerg.engine.state import State
from mmerg.errors import ConfigError, ReplyError
from mmerg.judging.items import Item
from mmerg.judging.schemas import Preference, Rating
from mmerg.runs import events
from mmerg.runs.events import Choice, Emit, Verdict
from mmerg.runs.result import Verdicts
from mmerg.settings.model import RubricSettings, SystemSettings
from mmerg.systems.build import build
from mmerg.systems.system import Stage, System

REPLIES = "R"
_CHOICES: dict[str, Choice] = dict(zip(("Reply 1", "Reply 2", "tie"), get_args(Choice), strict=True))


def judge_system(node: RubricSettings) -> System:
    """The system that the settings of a judge describe. Raises ConfigError where it does not hold."""
    asked = SystemSettings(
        name=node.name,
        prompts=node.prompts,
        max_repairs=node.max_repairs,
        stages=node.aspects,
        result={},
        loop="single",
    )
    for aspect, settings in node.aspects.items():
        if settings.sampling.temperature is not None:
            raise ConfigError(
                f"aspect {aspect} has a temperature of its own",
                where=f"judge={node.name}",
                hint="all aspects share judge.temperature",
            )
    system = build(asked, given=[REPLIES], group="judge")
    wanted = Rating if node.replies == 1 else Preference
    for stage in system.stages:
        if stage.output is None or not issubclass(stage.output, wanted):
            raise ConfigError(
                f"aspect {stage.name} does not give a {wanted.__name__}, as a judge of {node.replies} replies does",
                where=f"judge={node.name}",
                hint=f"output: {wanted.__module__}.{wanted.__name__}",
            )
    return system


@dataclass(frozen=True)
class Round:
    """One look at an item: in which order its replies are shown, and which repeat of this order it is."""

    number: int
    order: tuple[int, ...]
    repeat: int


@dataclass(frozen=True)
class Judge:
    """What all items share. sampling holds the first repeat's seed, later ones add 1 each."""

    prompts: Prompts
    sampling: Sampling
    replies: int
    repeats: int

    @property
    def rounds(self) -> list[Round]:
        """Orders outside, repeats inside: repeats of an order share its whole prompt."""
        looks = [(order, repeat) for order in permutations(range(self.replies)) for repeat in range(self.repeats)]
        return [Round(number, order, repeat) for number, (order, repeat) in enumerate(looks)]

    def item(self, item: Item, backend: Backend, emit: Emit) -> Verdicts:
        """The verdicts on one item, failed or not. Raises CallError (interrupted), after which nothing is decided, and
        ConfigError for what would fail every item."""

        def decide(note: Emit, _: object) -> Fields:
            looks = (self._look(item, look, backend, note) for look in self.rounds if not item.no_reply)
            return {"verdicts": tuple(chain.from_iterable(looks)), "no_reply": item.no_reply}

        started = events.SampleStarted(
            sample=item.id, dialogue=item.dialogue, history=item.history, responder=item.responder, labels=()
        )
        fields, _ = attempt(started, decide, emit)
        return Verdicts.model_validate(fields)

    def _look(self, item: Item, look: Round, backend: Backend, emit: Emit) -> Iterator[Verdict]:
        sampling = replace(self.sampling, seed=self.sampling.seed + look.repeat)
        shown = [{"number": place, "reply": item.replies[run]} for place, run in enumerate(look.order, start=1)]
        supply = Supply(tuple(shown))
        asker = Asker(self.prompts, backend, sampling, emit, {REPLIES: lambda *_: supply})
        for stage in self.prompts.system.stages:
            asked = Verdict(
                aspect=stage.name, round=look.number, order=look.order, repeat=look.repeat, seed=sampling.seed
            )
            verdict = _answered(asked, asker, stage, State(item.scene))
            emit(events.Judged(sample=item.id, t=look.number, verdict=verdict))
            yield verdict


def _answered(asked: Verdict, asker: Asker, stage: Stage, state: State) -> Verdict:
    """The verdict as the judge gives it; without score or choice where no answer can be used."""
    try:
        answer = asker(stage, state, asked.round)
    except ReplyError as error:
        return asked.model_copy(update={"failure": error.failure})
    if isinstance(answer, Preference):
        return asked.model_copy(update={"choice": _CHOICES[answer.better], "reason": answer.reason})
    assert isinstance(answer, Rating)
    return asked.model_copy(update={"score": answer.score, "reason": answer.reason})
