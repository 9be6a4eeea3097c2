"""Runs a system of mmerg on one scene with scripted completions, and records its events."""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial

from mmerg.backends.dry import TEXT, build_smallest
from mmerg.backends.protocol import Request, Sampling
from mmerg.backends.scripted import Scripted, ScriptItem
from mmerg.engine.ask import Asker
from mmerg.engine.loops.loop import Outcome
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import get_loop
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import Candidate, Correction, Output, State
from mmerg.runs import events
from mmerg.settings.model import EmotionOf, RunSettings
from mmerg.systems.build import build_system
from mmerg.systems.system import Stage
from tests.configs import parse_settings
from tests.engine.parts import state_with_images

EXEMPLARS = tuple(
    {"history": [{"speaker": "Ana", "text": f"I lost\nmy {thing}."}], "reply": f"Your {thing}, oh no.", "emotion": mood}
    for thing, mood in (("keys", "sadness"), ("way", None))
)
SITUATION = ({"text": "I applied for a job."},)
PREDICTED = (
    {"emotions": [{"label": "sadness", "p": 0.6}, {"label": "neutral", "p": 0.3}], "high": ["job"], "low": ["fine"]},
)
SUPPLIED: dict[str, tuple[Mapping[str, object], ...]] = {"S": SITUATION, "W": PREDICTED}
Script = Callable[[str, Request], ScriptItem]


def smallest_completion(stage: str, request: Request) -> str:
    """Returns the smallest valid completion."""
    if not request.schema:
        return TEXT
    return json.dumps(build_smallest(json.loads(request.schema), 0))


@cache
def settings_on_demo(*words: str) -> RunSettings:
    return parse_settings("dataset=demo", *words)


def _supply(supply: SourceOutput, state: State, forecast: str | None) -> SourceOutput:
    return supply


class Played:
    """A system of mmerg that has run on one scene. settings: overrides of a run on the demo. supplied: the output of
    each source. emotion_of: overrides the dataset's."""

    def __init__(
        self,
        system: str,
        *settings: str,
        script: Script = smallest_completion,
        supplied: Mapping[str, SourceOutput] | None = None,
        state: State | None = None,
        emotion_of: EmotionOf | None = None,
    ) -> None:
        run = settings_on_demo(f"system={system}", *settings)
        self.system = build_system(run.system, sources=run.sources)
        self.events: list[events.Event] = []
        if supplied is None:
            supplied = {symbol: SourceOutput(SUPPLIED.get(symbol, EXEMPLARS)) for symbol in run.sources}
        asking = [""]
        self.backend = Scripted(lambda request: script(asking[-1], request))
        sources = {symbol: partial(_supply, supply) for symbol, supply in supplied.items()}
        prompts = Prompts(self.system, emotion_of or run.dataset.emotion_of)
        asker = Asker(prompts, self.backend, Sampling(seed=7), self.events.append, sources)

        def ask(
            stage: Stage, state: State, t: int, correction: Correction | None = None, candidate: Candidate | None = None
        ) -> Output:
            asking.append(stage.name)
            return asker(stage, state, t, correction, candidate)

        scene = state_with_images() if state is None else state
        self.outcome: Outcome = get_loop(self.system)(self.system, scene, ask, self.events.append)

    @property
    def calls(self) -> list[events.Called]:
        return [event for event in self.events if isinstance(event, events.Called)]

    @property
    def asked(self) -> list[str]:
        return [call.stage for call in self.calls]

    def prompt(self, number: int) -> str:
        """Returns the last message of call `number`."""
        return self.calls[number].messages[-1].text

    @property
    def prompts(self) -> str:
        """All that a model is shown, as in a golden file."""
        system = self.calls[0].messages[0].text
        messages = [
            f"=== {call.stage}, pass {call.t}, {len(message.images)} images, {call.sampling.get('temperature')}\n"
            f"{message.text}\n"
            for call in self.calls
            for message in call.messages[1:]
        ]
        return f"=== system\n{system}\n{''.join(messages)}"
