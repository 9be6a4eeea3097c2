"""A judge that is asked about one item: one call for each aspect, order of the replies, and repeat.

The judge is a system whose stages see only D, the history, and R, the replies. If its completion is still invalid after
all repairs, the verdict is unusable; it is never guessed. A failed call fails the item. An item without a reply needs
no call.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import get_args

from mmerg.backends.protocol import Backend, Sampling
from mmerg.engine.ask import Asker
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Fields, run_attempt
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import Output, State
from mmerg.errors import CompletionError, ConfigError
from mmerg.judging.items import Item
from mmerg.judging.schemas import Preference, Rating
from mmerg.runs import events
from mmerg.runs.events import Choice, Emit, Verdict
from mmerg.runs.result import Verdicts
from mmerg.settings.commands import RubricSettings
from mmerg.settings.model import SystemSettings
from mmerg.systems.build import build_system
from mmerg.systems.system import System

REPLIES = "R"
_CHOICES: dict[str, Choice] = dict(zip(("Reply 1", "Reply 2", "tie"), get_args(Choice), strict=True))


def build_judge_system(rubric: RubricSettings) -> System:
    """Builds a system with one stage per aspect of the rubric. Raises ConfigError if an aspect's output is no `Rating`
    (for one reply) or `Preference` (for two)."""
    shared = {"name": rubric.name, "prompts": rubric.prompts, "max_repairs": rubric.max_repairs}
    settings = SystemSettings.model_validate(shared | {"stages": rubric.aspects, "result": {}, "loop": "single"})
    system = build_system(settings, sources=[REPLIES], group="judge")
    kind = Rating if rubric.replies == 1 else Preference
    for stage in system.stages:
        if stage.output is None or not issubclass(stage.output, kind):
            what = f"aspect {stage.name} must give a {kind.__name__}, as replies is {rubric.replies}"
            hint = f"output: {kind.__module__}.{kind.__name__}"
            raise ConfigError(what, where=f"judge={rubric.name}", hint=hint)
    return system


@dataclass(frozen=True)
class Judge:
    """A judge of items."""

    prompts: Prompts
    sampling: Sampling  # with the seed of the first repeat; each later repeat adds 1 to it
    replies: int  # of an item: 1 to rate, or 2 to compare
    repeats: int  # how often each question is asked

    @property
    def rounds(self) -> list[tuple[tuple[int, ...], int]]:
        """The order of the replies and the number of the repeat, for each call per item and aspect. Rounds with the
        same prompt are consecutive, so that the server's prefix cache helps."""
        return list(product(permutations(range(self.replies)), range(self.repeats)))

    def judge_item(self, item: Item, backend: Backend, emit: Emit) -> Verdicts:
        """Returns the verdicts on one item, or the failure of a call. Raises CallError if it is interrupted, and
        ConfigError for a fault that would fail every item."""

        def decide(record: Emit, _: object) -> Fields:
            return {"verdicts": tuple(self._ask_all(item, backend, record)), "no_reply": item.no_reply}

        started = events.SampleStarted(
            sample=item.id, dialogue=item.dialogue, history=item.history, responder=item.responder, labels=()
        )
        return Verdicts.model_validate(run_attempt(started, decide, emit)[0])

    def _ask_all(self, item: Item, backend: Backend, emit: Emit) -> Iterator[Verdict]:
        """Asks every question about the item. Emits and yields the verdicts."""
        if item.no_reply:
            return
        state = State(item.scene)
        for number, (order, repeat) in enumerate(self.rounds):
            sampling = replace(self.sampling, seed=self.sampling.seed + repeat)
            replies = tuple({"number": place, "reply": item.replies[run]} for place, run in enumerate(order, start=1))
            source = SourceOutput(replies)
            asker = Asker(self.prompts, backend, sampling, emit, {REPLIES: lambda *_, source=source: source})
            for stage in self.prompts.system.stages:
                try:
                    outcome = _to_fields(asker(stage, state, number))
                except CompletionError as error:
                    outcome = {"failure": error.failure}
                call = {"aspect": stage.name, "round": number, "order": order, "repeat": repeat, "seed": sampling.seed}
                verdict = Verdict.model_validate(call | outcome)
                emit(events.Judged(sample=item.id, t=number, verdict=verdict))
                yield verdict


def _to_fields(output: Output) -> Fields:
    """Returns the fields of a verdict from the judge's validated output."""
    if isinstance(output, Preference):
        return {"choice": _CHOICES[output.better], "reason": output.reason}
    assert isinstance(output, Rating)
    return {"score": output.score, "reason": output.reason}
