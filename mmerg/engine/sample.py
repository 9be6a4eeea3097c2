"""The run of one sample, from its clips to its line in the results. A failed sample never affects another."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from pydantic import BaseModel

from mmerg.backends.protocol import Backend, Engine, Sampling
from mmerg.corpora.dialogue import Sample
from mmerg.engine.ask import Asker, user_code
from mmerg.engine.keyframes import KeyframeSampler
from mmerg.engine.labels import order_labels
from mmerg.engine.loops.audit import audit, refine
from mmerg.engine.loops.candidates import candidates
from mmerg.engine.loops.loop import Loop, Outcome, single
from mmerg.engine.prompts import Prompts
from mmerg.engine.sources import BoundSource, Source
from mmerg.errors import Failure, SampleError
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.runs.facts import NOWHERE, collect_facts
from mmerg.runs.result import Result
from mmerg.runs.trace import SampleTrace
from mmerg.systems.instantiate import get_dotted_name
from mmerg.systems.system import System

LOOPS: Mapping[str, Loop] = {"audit": audit, "single": single, "refine": refine, "candidates": candidates}
Fields = dict[str, object]  # of a result
MakeFields = Callable[[Emit, SampleTrace], Fields]  # gets a function that emits an event, and the trace so far
KeepFrame = Callable[[str, Callable[[], bytes]], None]  # stores a JPEG by hash; reads its bytes only if it is new


@dataclass(frozen=True)
class Experiment:
    """Everything that the samples of a run share."""

    prompts: Prompts
    sampler: KeyframeSampler
    sampling: Sampling  # of the backbone; stages may override parts
    engine: Engine
    max_images: int  # of one call
    sources: Mapping[str, Source] = field(default_factory=dict)  # by symbol

    def run_sample(self, sample: Sample, backend: Backend, emit: Emit, keep_frame: KeepFrame) -> Result:
        """Runs a sample and returns its result, even if the sample fails. Raises CallError if the user interrupts the
        run, and ConfigError for a problem that affects all samples."""
        system, store = self.prompts.system, self.sampler.store

        def make_fields(record: Emit, trace: SampleTrace) -> Fields:
            pending: list[events.Event] = []  # recorded once the frames are stored
            vision, most = self.engine.vision, self.max_images
            state = self.sampler.initial_state(
                sample.scene, sample.dropped, vision=vision, max_images=most, emit=pending.append
            )
            state = replace(state, labels=order_labels(system, sample.scene))
            for image in state.images:  # their bytes are in memory
                keep_frame(image.sha256, partial(bytes, image.data))
            for keyframe in state.keyframes:
                keep_frame(keyframe.frame.sha256, partial(store.read, keyframe.frame.sha256))
            for event in pending:
                record(event)
            sources: dict[str, BoundSource] = {
                symbol: partial(source.supply, sample) for symbol, source in self.sources.items()
            }
            ask = Asker(self.prompts, backend, self.sampling, record, sources)
            samplings = [self.sampling.override(agent.sampling) for agent in system.agents if not agent.function]
            greedy = not any(sampling.temperature for sampling in samplings) and not system.rerun_temperature
            loop, loop_system = get_loop(system), replace(system, greedy=greedy)
            if isinstance(system.loop, str):
                return _describe_outcome(system, loop(loop_system, state, ask, record))
            with user_code(f"loop {get_dotted_name(system.loop)}"):
                fields = _describe_outcome(system, loop(loop_system, state, ask, record))
                Result.model_validate({"id": sample.id, "status": "ok", **fields})  # raises here for invalid fields
                if not trace.selected:
                    raise TypeError("it emitted no Selected event: return finish(…) of mmerg.engine.loops.loop")
                return fields

        return build_result(sample, make_fields, emit, system.result)


def get_loop(system: System) -> Loop:
    """Returns the built-in loop that the system names, or the user's."""
    return LOOPS[system.loop] if isinstance(system.loop, str) else cast(Loop, system.loop)


def build_result(sample: Sample, make_fields: MakeFields, emit: Emit, paths: Mapping[str, str] = NOWHERE) -> Result:
    """Attempts a sample, and returns its result: the fields of `run_attempt`, the target, and counts of events. paths:
    where the response, emotion and plan are in the stages' outputs (`System.result`)."""
    scene, target = sample.scene, sample.target
    started = events.SampleStarted(
        sample=sample.id,
        dialogue=sample.dialogue_id,
        history=tuple((turn.speaker, turn.text) for turn in scene.history),
        responder=scene.responder,
        labels=scene.labels,
    )
    fields, trace = run_attempt(started, make_fields, emit)
    gold = {"gold_response": target.text, "gold_emotion": target.emotion} if target else {}
    facts = collect_facts(trace, cast("str | None", fields.get("response")), paths)
    return Result.model_validate({**gold, **facts, **fields})


def run_attempt(started: events.SampleStarted, make_fields: MakeFields, emit: Emit) -> tuple[Fields, SampleTrace]:
    """Attempts a sample once. Returns the fields of its result, with the cost of its calls, and its trace. If the
    sample fails, the fields describe the failure. Raises CallError if the user interrupts the run."""
    start = time.monotonic()
    sample = started.sample
    trace = SampleTrace()

    def record(event: events.Event) -> None:
        emit(event)
        trace.add(event)

    record(started)
    fields: Fields
    try:
        fields = {"status": "ok", **make_fields(record, trace)}
        record(events.SampleDone(sample=sample))
    except SampleError as error:
        failure = error.failure
        if failure is Failure.INTERRUPTED:
            raise
        record(events.SampleFailed(sample=sample, failure=failure, what=error.what, where=error.where, hint=error.hint))
        fields = {"status": "failed", "failure": failure, "failure_text": str(error)}
    completions = [call.event.completion for call in trace.calls]
    costs: Fields = {
        "id": sample,
        "dialogue": started.dialogue,
        "calls": len(completions),
        "cached_calls": sum(completion.cached for completion in completions),
        "prompt_tokens": sum(completion.prompt_tokens for completion in completions),
        "response_tokens": sum(completion.response_tokens for completion in completions),
        "seconds": round(time.monotonic() - start, 3),
    }
    return costs | fields, trace


def _describe_outcome(system: System, outcome: Outcome) -> Fields:
    selected = outcome.selected
    values = {key: selected.state.get_path(path) for key, path in system.result.items()}
    return {
        "selected_pass": selected.t,
        "passes": len(outcome.passes),
        "ended": outcome.ended,
        "audit": dict(zip(selected.audit.findings, selected.audit.checks, strict=True)) if selected.audit else None,
        **{k: value.model_dump(mode="json") if isinstance(value, BaseModel) else value for k, value in values.items()},
    }
