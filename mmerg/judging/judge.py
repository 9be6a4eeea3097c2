"""Asks a judge about one item: a call per aspect, order of the replies, and repeat.

The judge is a system whose stages see only D, the history, and R, the replies. An answer that is invalid even after
repairs is an unusable verdict, never a guess; a failed call fails the item. An item without a reply needs no call."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import get_args

from mmerg.backends.protocol import Backend, Sampling
from mmerg.engine.ask import Asker
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Fields, attempt
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import Output, State
from mmerg.errors import ConfigError, ReplyError
from mmerg.judging.items import Item
from mmerg.judging.schemas import Preference, Rating
from mmerg.runs import events
from mmerg.runs.events import Choice, Emit, Verdict
from mmerg.runs.result import Verdicts
from mmerg.settings.commands import RubricSettings
from mmerg.settings.model import SystemSettings
from mmerg.systems.build import build
from mmerg.systems.system import System

REPLIES = "R"
_CHOICES: dict[str, Choice] = dict(zip(("Reply 1", "Reply 2", "tie"), get_args(Choice), strict=True))


def judge_system(rubric: RubricSettings) -> System:
    """The system of a rubric's aspects. Raises ConfigError if an aspect has another kind of output."""
    shared = {"name": rubric.name, "prompts": rubric.prompts, "max_repairs": rubric.max_repairs}
    settings = SystemSettings.model_validate(shared | {"stages": rubric.aspects, "result": {}, "loop": "single"})
    system = build(settings, given=[REPLIES], group="judge")
    wanted = Rating if rubric.replies == 1 else Preference
    for stage in system.stages:
        if stage.output is None or not issubclass(stage.output, wanted):
            what = f"aspect {stage.name} must give a {wanted.__name__}, as replies is {rubric.replies}"
            hint = f"output: {wanted.__module__}.{wanted.__name__}"
            raise ConfigError(what, where=f"judge={rubric.name}", hint=hint)
    return system


@dataclass(frozen=True)
class Judge:
    """A judge of items. sampling: with the seed of the first repeat; each later one adds 1."""

    prompts: Prompts
    sampling: Sampling
    replies: int
    repeats: int

    @property
    def rounds(self) -> list[tuple[tuple[int, ...], int]]:
        """The calls per item and aspect: each order of the replies, and the number of the repeat. Rounds with the same
        prompt follow each other, so that the server's prefix cache helps."""
        return list(product(permutations(range(self.replies)), range(self.repeats)))

    def item(self, item: Item, backend: Backend, emit: Emit) -> Verdicts:
        """The verdicts on one item, or the failure of a call. Raises CallError if it is interrupted, and ConfigError if
        every item would fail."""

        def decide(note: Emit, _: object) -> Fields:
            return {"verdicts": tuple(self._verdicts(item, backend, note)), "no_reply": item.no_reply}

        started = events.SampleStarted(
            sample=item.id, dialogue=item.dialogue, history=item.history, responder=item.responder, labels=()
        )
        return Verdicts.model_validate(attempt(started, decide, emit)[0])

    def _verdicts(self, item: Item, backend: Backend, emit: Emit) -> Iterator[Verdict]:
        state = State(item.scene)
        for number, (order, repeat) in enumerate(self.rounds if not item.no_reply else ()):
            sampling = replace(self.sampling, seed=self.sampling.seed + repeat)
            supply = SourceOutput(
                tuple({"number": place, "reply": item.replies[run]} for place, run in enumerate(order, start=1))
            )
            asker = Asker(self.prompts, backend, sampling, emit, {REPLIES: lambda *_, supply=supply: supply})
            for stage in self.prompts.system.stages:
                try:
                    answer = _to_fields(asker(stage, state, number))
                except ReplyError as error:
                    answer = {"failure": error.failure}
                asked = {"aspect": stage.name, "round": number, "order": order, "repeat": repeat, "seed": sampling.seed}
                verdict = Verdict.model_validate(asked | answer)
                emit(events.Judged(sample=item.id, t=number, verdict=verdict))
                yield verdict


def _to_fields(answer: Output) -> Fields:
    """The judge's answer as fields of a verdict."""
    if isinstance(answer, Preference):
        return {"choice": _CHOICES[answer.better], "reason": answer.reason}
    assert isinstance(answer, Rating)
    return {"score": answer.score, "reason": answer.reason}
