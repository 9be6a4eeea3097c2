"""The first passes of a finished run, and outputs of other dialogues for faults in them.

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
from mmerg.systems.parsing import validate_output
from mmerg.systems.schema import build_json_schema
from mmerg.systems.system import Stage, System

AGAIN = "run it again with another runs=…: its calls and frames come from the caches"


@dataclass(frozen=True)
class FirstPass:
    """The inputs and outputs of the agents in the first pass of a sample."""

    started: events.SampleStarted
    state: State  # after the pass, without images
    images: tuple[str, ...]  # hashes of those sent
    source_outputs: Mapping[str, SourceOutput]  # by symbol


class FirstPasses:
    """The first passes of the run in folder `run`. dialogues: the dialogue of each finished sample. decoys: dialogues
    that give no faults, as form=comparison compares with their outputs."""

    def __init__(self, run: Path, system: System, dialogues: Mapping[str, str], decoys: Collection[str] = ()) -> None:
        self.run, self.system, self.dialogues, self.decoys = run, system, dialogues, decoys
        self.read = cache(self._read)

    def read_decoys(self, stage: Stage) -> tuple[object, ...]:
        """Reads the stage's output in one sample of each decoy dialogue, as JSON values."""
        first = {dialogue: sample for sample, dialogue in sorted(self.dialogues.items(), reverse=True)}
        outputs = (self.read(first[dialogue]).state.get(stage.gives) for dialogue in sorted(self.decoys))
        return tuple(output.model_dump(mode="json") if isinstance(output, BaseModel) else output for output in outputs)

    def draw_foreign(self, state: State, stage: Stage, gold: str | None, seed: int) -> Output | None:
        """Draws an output of `stage` from another dialogue. It differs from that in `state`; if it gives the emotion of
        `system.result`, its emotion differs, and is not `gold`. Returns None if there is no such output."""
        path = self.system.result["emotion"] if self.system.result_symbol("emotion") == stage.gives else stage.gives
        sample = state.scene.id
        excluded = {self.dialogues.get(sample), *self.decoys}
        others = sorted(other for other, dialogue in self.dialogues.items() if dialogue not in excluded)
        random.Random(f"{seed} {stage.name} {sample!a}").shuffle(others)
        for other in others:
            foreign = self.read(other).state
            if foreign.get_path(path) not in (state.get_path(path), gold):
                return foreign.get(stage.gives)
        return None

    def read_images(self, sample: str) -> tuple[Image, ...]:
        """Reads the images that were sent. Raises RunError if one is missing or has changed."""
        images = []
        for digest in self.read(sample).images:
            path = self.run / FRAMES / f"{digest}.jpg"
            images.append(Image(digest, path.read_bytes() if path.is_file() else b""))
            if sha256(images[-1].data).hexdigest() != digest:
                raise RunError(f"an image sent for {sample} is missing or has changed", where=str(path), hint=AGAIN)
        return tuple(images)

    def _read(self, sample: str) -> FirstPass:
        trace = SampleTrace(read_events(self.run, sample))
        first = trace.passes.get(0, Pass(0))
        if trace.started is None or not first.outputs.keys() >= {stage.gives for stage in self.system.stages}:
            place = str(events_file(self.run, sample))
            raise RunError(f"the events of {sample} have no complete first pass", where=place, hint=AGAIN)
        history = tuple(Turn(speaker, text) for speaker, text in trace.started.history)
        scene = Scene(sample, history, trace.started.responder, trace.started.labels)
        state = State(scene, trace.keyframes, labels=order_labels(self.system, scene))
        for stage in self.system.stages:
            state = self._add_output(state, stage, first.outputs[stage.gives].output)
        messages = (message for call in trace.calls for message in call.event.messages)
        sent = next((message.images for message in messages if message.images), ())
        if not sent and trace.frames and trace.frames.form == "images":  # only the user's functions saw them
            sent = tuple(keyframe.frame.sha256 for keyframe in trace.keyframes)
        source_outputs = {event.symbol: SourceOutput(event.content) for event in first.supplied}
        return FirstPass(trace.started, state, sent, source_outputs)

    def _add_output(self, state: State, stage: Stage, output: object) -> State:
        """Returns the state with the output of `stage`, of which it keeps only the requested fields."""
        if stage.output is None or not isinstance(output, dict):
            return state.with_output(stage.gives, str(output))
        bounds = get_bounds(self.system, stage, state)
        requested = build_json_schema(stage.output, bounds).required
        fields = {name: value for name, value in output.items() if name in requested}
        return state.with_output(stage.gives, validate_output(stage.output, bounds, fields))


def find_dialogues(run: Path, results: Results[Result]) -> dict[str, str]:
    """Finds the dialogue of each sample with a reply and events. Raises RunError if there are under two dialogues."""
    usable = (result for result in results.values() if result.ok and result.id not in results.without_events)
    dialogues = {result.id: result.dialogue or result.id for result in usable}
    if len(set(dialogues.values())) < 2:
        samples = plural(len(dialogues), "sample")
        what = f"there is no dialogue to take faults from: {samples} with a reply, all of one dialogue"
        raise RunError(what, where=str(run), hint="use a run of several dialogues")
    return dialogues
