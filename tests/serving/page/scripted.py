"""The scripted model of the page's tests: MERG's agents, which a test can make wait."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mmerg.backends.protocol import Request
from mmerg.backends.scripted import Scripted, ScriptItem
from tests.engine.parts import STAGES, as_text, audit, fill_schema, find_stage

REPLY = "You wanted this one. It need not be fine."
FIRST = "Then let us go and eat."
OUTPUTS: Mapping[str, Mapping[str, object]] = {
    "mpa": {
        "textual_cues": [{"turn": 1, "cue": "“Really.” stands alone"}],
        "visual_cues": [{"frame": 2, "cue": "her mouth falls"}],
    },
    "caef": {
        "textual": "she says that it is fine",
        "visual": "her face does not",
        "consistency": "conflict",
        "reasoning": "the face outweighs two words",
        "emotion": "sadness",
    },
    "psp": {
        "reasoning": "she needs to be heard",
        "goal": "comfort",
        "stance": "warm",
        "tactic": "reflection of feelings",
        "tone": "gentle",
        "note": "",
    },
}


class Agents:
    """MERG's agents, and that of one_pass. In the first pass they forecast joy, which the audit blames. In the next
    pass they forecast sadness, and all checks pass. instead: other completions, by stage."""

    def __init__(self, **instead: ScriptItem) -> None:
        self.instead = instead
        self.backend = Scripted(self._answer)
        self._held = ""
        self._go_on = threading.Event()

    @contextmanager
    def held(self, stage: str) -> Iterator[None]:
        """Makes a stage wait until the block ends."""
        self._held = stage
        self._go_on.clear()
        try:
            yield
        finally:
            self._held = ""
            self._go_on.set()

    def seeds(self) -> set[int]:
        return {request.sampling.seed for request in self.backend.requests}

    def prompts(self, stage: str) -> list[str]:
        return [request.messages[1].text for request in self.backend.requests if _stage(request) == stage]

    def _answer(self, request: Request) -> ScriptItem:
        stage, prompt = _stage(request), request.messages[1].text
        if stage == self._held:
            self._go_on.wait()
        if stage in self.instead:
            return self.instead[stage]
        if stage == "answer":
            return json.dumps({"emotion": "neutral", "response": "Good for you."})
        if stage == "sgrg":
            return FIRST if "joy" in prompt else REPLY
        if stage == "gra":
            return as_text(audit({name: name != "caef" or FIRST not in prompt for name in STAGES}))
        output = dict(OUTPUTS[stage])
        if stage == "caef" and "The audit found" not in prompt:
            output["emotion"] = "joy"
        return fill_schema(output, json.loads(request.schema))


def _stage(request: Request) -> str:
    return "answer" if '"response"' in request.schema else find_stage(request)
