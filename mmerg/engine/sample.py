"""One sample from clips to result line. A failed sample never affects another."""

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
from mmerg.systems.instantiate import dotted_name
from mmerg.systems.system import System

LOOPS: Mapping[str, Loop] = {"audit": audit, "single": single, "refine": refine, "candidates": candidates}
Fields = dict[str, object]  # of a result
Decide = Callable[[Emit, SampleTrace], Fields]  # gets a function that emits an event, and the trace so far
KeepFrame = Callable[[str, Callable[[], bytes]], None]  # stores a JPEG by hash; reads its bytes only if it is new


@dataclass(frozen=True)
class Experiment:
    """What all samples of a run share. sources: by symbol."""

    prompts: Prompts
    sampler: KeyframeSampler
    sampling: Sampling
    engine: Engine
    max_images: int
    sources: Mapping[str, Source] = field(default_factory=dict)

    def run_sample(self, sample: Sample, backend: Backend, emit: Emit, keep_frame: KeepFrame) -> Result:
        """The result of one sample, failed or not. Raises CallError (interrupted) without a result, and ConfigError for
        a problem of all samples."""
        system, store = self.prompts.system, self.sampler.store

        def decide(note: Emit, trace: SampleTrace) -> Fields:
            vision, most = self.engine.vision, self.max_images
            later: list[events.Event] = []  # emitted once the frames are stored
            state = self.sampler.initial_state(
                sample.scene, sample.dropped, vision=vision, max_images=most, emit=later.append
            )
            state = replace(state, labels=order_labels(system, sample.scene))
            for image in state.images:  # their bytes are in memory
                keep_frame(image.sha256, partial(bytes, image.data))
            for keyframe in state.keyframes:
                keep_frame(keyframe.frame.sha256, partial(store.read, keyframe.frame.sha256))
            for event in later:
                note(event)
            ready: dict[str, BoundSource] = {
                symbol: partial(each.supply, sample) for symbol, each in self.sources.items()
            }
            asker = Asker(self.prompts, backend, self.sampling, note, ready)
            samplers = [self.sampling.override(agent.sampling) for agent in system.agents if not agent.function]
            greedy = not any(one.temperature for one in samplers) and not system.rerun_temperature
            looped = replace(system, greedy=greedy)
            if isinstance(system.loop, str):
                return _result_fields(system, get_loop(system)(looped, state, asker, note))
            with user_code(f"loop {dotted_name(system.loop)}"):
                outcome = get_loop(system)(looped, state, asker, note)
                decided = _result_fields(system, outcome)
                Result.model_validate({"id": sample.id, "status": "ok", **decided})  # raises here for invalid fields
                if not trace.selected:
                    raise TypeError("it emitted no Selected event: return finish(…) of mmerg.engine.loops.loop")
                return decided

        return build_result(sample, decide, emit, system.result)


def get_loop(system: System) -> Loop:
    return LOOPS[system.loop] if isinstance(system.loop, str) else cast(Loop, system.loop)


def build_result(sample: Sample, decide: Decide, emit: Emit, places: Mapping[str, str] = NOWHERE) -> Result:
    """The result of one attempt at a sample: the fields of `attempt`, the target, and counts of its events. places: of
    the results in the system's state."""
    scene, target = sample.scene, sample.target
    started = events.SampleStarted(
        sample=sample.id,
        dialogue=sample.dialogue_id,
        history=tuple((turn.speaker, turn.text) for turn in scene.history),
        responder=scene.responder,
        labels=scene.labels,
    )
    decided, trace = run_attempt(started, decide, emit)
    gold = {"gold_response": target.text, "gold_emotion": target.emotion} if target else {}
    facts = collect_facts(trace, cast("str | None", decided.get("response")), places)
    return Result.model_validate({**gold, **facts, **decided})


def run_attempt(started: events.SampleStarted, decide: Decide, emit: Emit) -> tuple[Fields, SampleTrace]:
    """One attempt at a sample: the fields of its result (from `decide` or the failure, with the cost of its calls), and
    its trace. Raises CallError (interrupted) without a result."""
    start = time.monotonic()
    sample = started.sample
    trace = SampleTrace()

    def note(event: events.Event) -> None:
        emit(event)
        trace.add(event)

    note(started)
    decided: Fields
    try:
        decided = {"status": "ok", **decide(note, trace)}
        note(events.SampleDone(sample=sample))
    except SampleError as error:
        failure = error.failure
        if failure is Failure.INTERRUPTED:
            raise
        note(events.SampleFailed(sample=sample, failure=failure, what=error.what, where=error.where, hint=error.hint))
        decided = {"status": "failed", "failure": failure, "failure_text": str(error)}
    calls = [call.event.reply for call in trace.calls]
    fields: Fields = {
        "id": sample,
        "dialogue": started.dialogue,
        "calls": len(calls),
        "cached_calls": sum(reply.cached for reply in calls),
        "prompt_tokens": sum(reply.prompt_tokens for reply in calls),
        "response_tokens": sum(reply.response_tokens for reply in calls),
        "seconds": round(time.monotonic() - start, 3),
    }
    return fields | decided, trace


def _result_fields(system: System, outcome: Outcome) -> Fields:
    chosen = outcome.selected
    values = {key: chosen.state.get_path(path) for key, path in system.result.items()}
    return {
        "selected_pass": chosen.t,
        "passes": len(outcome.passes),
        "ended": outcome.ended,
        "audit": dict(zip(chosen.audit.findings, chosen.audit.checks, strict=True)) if chosen.audit else None,
        **{key: one.model_dump(mode="json") if isinstance(one, BaseModel) else one for key, one in values.items()},
    }
