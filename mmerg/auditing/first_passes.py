"""The first passes of a finished run, and outputs for faults in them.

Every finished sample has a pass 0, which no audit has changed. The selected pass would be biased, as the auditor ranked
it first.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel

from mmerg.backends.protocol import Image
from mmerg.console.terminal import plural
from mmerg.corpora.dialogue import Scene, Turn
from mmerg.engine.labels import order_labels
from mmerg.engine.prompts import get_bounds
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import Output, State
from mmerg.errors import RunError
from mmerg.runs import events
from mmerg.runs.folder import FRAMES
from mmerg.runs.result import Result, Results
from mmerg.runs.samples import events_file, read_events
from mmerg.runs.trace import Pass, SampleTrace
from mmerg.systems.schema import build_json_schema, validate_output
from mmerg.systems.system import Stage, System

AGAIN = "run it again with another runs=…: its calls and frames come from the caches"


@dataclass(frozen=True)
class FirstPass:
    """What the agents saw of a sample, with a state without images. images: the hashes of the images sent. supplied:
    the outputs of sources, by symbol."""

    started: events.SampleStarted
    state: State
    images: tuple[str, ...]
    supplied: Mapping[str, SourceOutput]


class FirstPasses:
    """dialogues: the dialogue of each finished sample of the run in folder `run`. decoys: dialogues that give no
    faults, as form=comparison compares with their outputs."""

    def __init__(self, run: Path, system: System, dialogues: Mapping[str, str], decoys: Collection[str] = ()) -> None:
        self.run, self.system, self.dialogues, self.decoys = run, system, dialogues, decoys
        self.read = cache(self._read)

    def decoy_outputs(self, stage: Stage) -> tuple[object, ...]:
        """The stage's output in one sample of each decoy dialogue, as a file holds it."""
        first = {dialogue: sample for sample, dialogue in sorted(self.dialogues.items(), reverse=True)}
        outputs = (self.read(first[dialogue]).state.get(stage.gives) for dialogue in sorted(self.decoys))
        return tuple(one.model_dump(mode="json") if isinstance(one, BaseModel) else one for one in outputs)

    def foreign(self, own: State, stage: Stage, seed: int) -> Output | None:
        """An output of `stage` in another dialogue, drawn by the seed: a different one, or one with another emotion if
        it gives the emotion of `system.result`. None if there is none."""
        place = self.system.result["emotion"] if self.system.result_symbol("emotion") == stage.gives else stage.gives
        sample = own.scene.id
        not_from = {self.dialogues.get(sample), *self.decoys}
        others = sorted(other for other, name in self.dialogues.items() if name not in not_from)
        random.Random(f"{seed} {stage.name} {sample!a}").shuffle(others)
        states = (self.read(other).state for other in others)
        return next((state.get(stage.gives) for state in states if state.get_path(place) != own.get_path(place)), None)

    def images(self, sample: str) -> tuple[Image, ...]:
        """The images sent. Raises RunError if one is missing or changed."""
        images = []
        for digest in self.read(sample).images:
            path = self.run / FRAMES / f"{digest}.jpg"
            images.append(Image(digest, path.read_bytes() if path.is_file() else b""))
            if sha256(images[-1].data).hexdigest() != digest:
                raise RunError(f"an image sent for {sample} is gone or changed", where=str(path), hint=AGAIN)
        return tuple(images)

    def _read(self, sample: str) -> FirstPass:
        trace = SampleTrace(read_events(self.run, sample))
        first = trace.passes.get(0, Pass(0))
        if trace.started is None or not first.outputs.keys() >= {stage.gives for stage in self.system.stages}:
            place = str(events_file(self.run, sample))
            raise RunError(f"the events of {sample} do not hold a whole first pass", where=place, hint=AGAIN)
        history = tuple(Turn(speaker, text) for speaker, text in trace.started.history)
        scene = Scene(sample, history, trace.started.responder, trace.started.labels)
        state = State(scene, trace.keyframes, labels=order_labels(self.system, scene))
        for stage in self.system.stages:
            state = self._with(state, stage, first.outputs[stage.gives].output)
        messages = (message for call in trace.calls for message in call.event.messages)
        sent = next((message.images for message in messages if message.images), ())
        if not sent and trace.frames and trace.frames.form == "images":  # only the user's functions saw them
            sent = tuple(keyframe.frame.sha256 for keyframe in trace.keyframes)
        supplied = {one.symbol: SourceOutput(one.content) for one in first.supplied}
        return FirstPass(trace.started, state, sent, supplied)

    def _with(self, state: State, stage: Stage, output: object) -> State:
        """The state with the output of `stage`, reduced to the requested fields."""
        if stage.output is None or not isinstance(output, dict):
            return state.with_output(stage.gives, str(output))
        bounds = get_bounds(self.system, stage, state)
        asked = build_json_schema(stage.output, bounds).required
        given = {name: value for name, value in output.items() if name in asked}
        return state.with_output(stage.gives, validate_output(stage.output, bounds, given))


def finished(run: Path, results: Results[Result]) -> dict[str, str]:
    """The dialogue of each sample with a reply and events. Raises RunError if there is only one dialogue."""
    kept = (result for result in results.values() if result.ok and result.id not in results.lost)
    finished = {result.id: result.dialogue or result.id for result in kept}
    if len(set(finished.values())) < 2:
        what = f"there is no dialogue to take faults from: {plural(len(finished), 'sample')} with a reply, all of one"
        raise RunError(f"{what} dialogue", where=str(run), hint="take a run of several dialogues")
    return finished
