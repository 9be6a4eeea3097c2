"""Asks a judge about one item: every aspect in a call of its own, in every order of the replies, as often as wanted.

The judge is a system of stages that see D, the history, and R, the replies, and nothing of each other. An answer that
cannot be used even after repairs is an unusable verdict, never a guess; a call that fails fails the item. Where a run
gave no reply there is nothing to ask."""

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
    """The system of a rubric's aspects. Raises ConfigError where it does not hold."""
    shared = {"name": rubric.name, "prompts": rubric.prompts, "max_repairs": rubric.max_repairs}
    settings = SystemSettings.model_validate(shared | {"stages": rubric.aspects, "result": {}, "loop": "single"})
    system = build(settings, given=[REPLIES], group="judge")
    wanted = Rating if rubric.replies == 1 else Preference
    for stage in system.stages:
        if stage.output is None or not issubclass(stage.output, wanted):
            what = f"aspect {stage.name} does not give a {wanted.__name__}, as a judge of {rubric.replies} replies does"
            hint = f"output: {wanted.__module__}.{wanted.__name__}"
            raise ConfigError(what, where=f"judge={rubric.name}", hint=hint)
    return system


@dataclass(frozen=True)
class Judge:
    """What all items share. sampling holds the first repeat's seed, later ones add 1 each."""

    prompts: Prompts
    sampling: Sampling
    replies: int
    repeats: int

    @property
    def rounds(self) -> list[tuple[tuple[int, ...], int]]:
        """How an item is asked about: each order of its replies, with the number of the repeat. Rounds with the same
        prompt follow each other, so that a server's prefix cache serves them."""
        return list(product(permutations(range(self.replies)), range(self.repeats)))

    def item(self, item: Item, backend: Backend, emit: Emit) -> Verdicts:
        """The verdicts on one item, or how a call failed. Raises CallError where it is interrupted, and ConfigError for
        what would fail every item."""

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
    """The fields of a verdict that the judge's answer gives."""
    if isinstance(answer, Preference):
        return {"choice": _CHOICES[answer.better], "reason": answer.reason}
    assert isinstance(answer, Rating)
    return {"score": answer.score, "reason": answer.reason}
