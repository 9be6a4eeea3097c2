"""Runs a system over samples: several in flight, each apart, one failed sample never costs another.

`Experiment.sample` is one sample from clips to result line, `attempt` what it has in common with other work that is
done a sample at a time. `in_flight` maps it over many with threads (calls wait on a server, decoding releases the
interpreter), and is the only thing to change for another kind of parallelism.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from mmerg.backends.protocol import Backend, Engine, Reply, Sampling
from mmerg.corpora.dialogue import Sample
from mmerg.engine.ask import Asker, Source
from mmerg.engine.look import OVER_BUDGET, Looker
from mmerg.engine.prompts import Prompts
from mmerg.engine.refine import Outcome, refine
from mmerg.engine.state import State
from mmerg.errors import Failure, SampleError
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.runs.result import Result
from mmerg.systems.system import System

Item = TypeVar("Item")
Out = TypeVar("Out")


class KeepFrame(Protocol):
    """Keeps a JPEG that the trace names; `read` gives its bytes where it is not there yet."""

    def __call__(self, sha256: str, read: Callable[[], bytes]) -> None: ...


@dataclass(frozen=True)
class Experiment:
    """What every sample of a run shares. sources make, for a sample, what supplies an input that no stage makes; they
    may know its dialogue and target (to guard against leaks), what they supply goes into prompts."""

    prompts: Prompts
    looker: Looker
    sampling: Sampling
    engine: Engine
    max_images: int
    sources: Mapping[str, Callable[[Sample], Source]] = field(default_factory=dict)

    def sample(self, sample: Sample, backend: Backend, emit: Emit, keep_frame: KeepFrame) -> Result:
        """One sample's result, failed or not. Raises CallError (interrupted), after which nothing is decided, and
        ConfigError for what would fail every sample."""
        bad_clips: set[int] = set()
        shown: set[str] = set()
        excluded: set[tuple[str, str]] = set()
        problems: set[str] = set()

        def watch(event: events.Event) -> None:
            emit(event)
            if isinstance(event, events.Supplied):
                shown.update(str(item["id"]) for item in event.content if "id" in item)
                excluded.update((kept.guard, kept.id) for kept in event.excluded)
                problems.update({event.problem} - {""})
            elif isinstance(event, events.FramesTaken):
                bad_clips.update(turn.turn for turn in event.turns if turn.problem not in ("", OVER_BUDGET))

        scene, system = sample.scene, self.prompts.system

        def decide(note: Emit) -> dict[str, Any]:
            vision = self.engine.vision
            state = self.looker.look(scene, sample.dropped, vision=vision, max_images=self.max_images, emit=note)
            self._keep(state, keep_frame)
            sources = {symbol: source(sample) for symbol, source in self.sources.items()}
            asker = Asker(self.prompts, backend, self.sampling, note, sources)
            return _decided(system, refine(system, state, asker, note))

        started = events.SampleStarted(
            sample=sample.id,
            dialogue=sample.dialogue_id,
            history=tuple((turn.speaker, turn.text) for turn in scene.history),
            responder=scene.responder,
            labels=scene.labels,
        )
        common = attempt(started, decide, watch)
        return Result(
            gold_response=sample.target.text if sample.target else None,
            gold_emotion=sample.target.emotion if sample.target else None,
            clip_problems=len(bad_clips),
            exemplars=len(shown),
            excluded=dict(sorted(Counter(guard for guard, _ in excluded).items())),
            exemplars_problem="; ".join(sorted(problems)) or None,
            **common,
        )

    def _keep(self, state: State, keep_frame: KeepFrame) -> None:
        for image in state.images:  # first: these bytes are at hand, a frame among them need not be read again
            keep_frame(image.sha256, partial(bytes, image.data))
        for keyframe in state.keyframes:
            keep_frame(keyframe.frame.sha256, partial(self.looker.store.read, keyframe.frame.sha256))


def attempt(started: events.SampleStarted, decide: Callable[[Emit], dict[str, Any]], emit: Emit) -> dict[str, Any]:
    """One try at a sample, whatever is to be decided of it: what every sample's line has, its calls and how it failed,
    and what `decide` gives where it did not. Raises CallError (interrupted), after which nothing is decided."""
    begun = time.monotonic()
    sample = started.sample
    calls: list[Reply] = []

    def note(event: events.Event) -> None:
        emit(event)
        if isinstance(event, events.Called):
            calls.append(event.reply)

    note(started)
    decided: dict[str, Any]
    try:
        decided = {"status": "ok", **decide(note)}
        note(events.SampleDone(sample=sample))
    except SampleError as error:
        if error.failure is Failure.INTERRUPTED:
            raise
        note(
            events.SampleFailed(
                sample=sample, failure=error.failure, what=error.what, where=error.where, hint=error.hint
            )
        )
        decided = {"status": "failed", "failure": error.failure, "failure_text": str(error)}
    return {
        "id": sample,
        "dialogue": started.dialogue,
        "calls": len(calls),
        "cached_calls": sum(reply.cached for reply in calls),
        "prompt_tokens": sum(reply.prompt_tokens for reply in calls),
        "response_tokens": sum(reply.response_tokens for reply in calls),
        "seconds": round(time.monotonic() - begun, 3),
        **decided,
    }


def _decided(system: System, outcome: Outcome) -> dict[str, Any]:
    chosen = outcome.selected
    audit = chosen.audit
    return {
        "selected_pass": chosen.t,
        "passes": len(outcome.passes),
        "ended": outcome.ended,
        "audit": {name: int(finding.passed) for name, finding in audit.findings.items()} if audit else None,
        **{key: _at(chosen.state, path) for key, path in system.result.items()},
    }


def _at(state: State, path: str) -> Any:
    """The output, or the field of it, that a path such as "e.emotion" names."""
    symbol, *fields = path.split(".")
    value: Any = state.get(symbol)
    for name in fields:
        value = getattr(value, name)
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def in_flight(
    items: Iterable[Item], work: Callable[[Item], Out], slots: int, stop: Callable[[], None]
) -> Generator[Out, None, None]:
    """`work` over `items`, at most `slots` at a time, results as they come. On an error or Ctrl-C nothing more is begun
    and `stop` is called so that calls in flight break off; what still ends well comes before the error."""
    waiting = iter(items)
    with ThreadPoolExecutor(slots, thread_name_prefix="sample") as threads:
        running: set[Future[Out]] = set()
        try:
            while True:
                while len(running) < slots and (item := next(waiting, None)) is not None:
                    running.add(threads.submit(work, item))
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    running.remove(future)
                    yield future.result()
        except GeneratorExit:  # nobody takes results any more
            stop()
            raise
        except BaseException:
            stop()
            for future in running:
                if future.exception() is None:
                    yield future.result()
            raise
