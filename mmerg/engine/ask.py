"""Asks a backend for one stage's output: render, call, validate, and a bounded repair.

A reply that cannot be used is shown to the model again with the exact complaint, at most `system.max_repairs` times
(after that ReplyError). The only place that judges replies. A call that fails is not repaired here: CallError passes
through. Example: see `sample.py`, which makes an `Asker` per sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mmerg.backends.protocol import Backend, Finish, Message, Reply, Request, Sampling
from mmerg.engine.answered import answered, code_of_the_user
from mmerg.engine.prompts import Inputs, Prompts, visible
from mmerg.engine.sources import Ready, Supply
from mmerg.engine.state import Correction, Output, State
from mmerg.errors import Failure, ReplyError
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.systems.answerer import Asked
from mmerg.systems.schema import Bounds, json_schema, outline, parse
from mmerg.systems.system import Stage, System

# What to do once repairs are used up; {setting} is the stage's limit of tokens by its whole name.
HINTS = {
    Failure.TRUNCATED: "give the stage more tokens, which makes another run: {setting}",
    Failure.THINKING_EXHAUSTED: "backbone.think=false, or more tokens, either of which makes another run: {setting}",
    Failure.SCHEMA_INVALID: "see the raw replies: python -m mmerg.show RUN SAMPLE --prompts",
}
WISHES = {Failure.TRUNCATED: "; be much shorter"}  # what the model alone is told, behind the complaint


@dataclass(frozen=True)
class Asker:
    """Implements `loops.loop.Ask`: a stage's class where it names one, else a model on a backend. `sampling` is the
    backbone's; a stage may override parts of it. sources supply inputs of this sample by symbol."""

    prompts: Prompts
    backend: Backend
    sampling: Sampling
    emit: Emit
    sources: Mapping[str, Ready] = field(default_factory=dict)

    def __call__(self, stage: Stage, state: State, t: int, correction: Correction | None = None) -> Output:
        bounds = bounds_of(self.prompts.system, stage, state)
        supplied = self._supplied(stage, state, t)
        if stage.by:
            return answered(stage, stage.by, bounds, self._asked(stage, state, t, supplied, correction))
        schema = json_schema(stage.output, bounds) if stage.output else None
        words = outline(schema) if schema else ""
        messages = self.prompts.messages(stage, state, supplied, words, correction)
        samplers = self.sampling.changed(stage.sampling)
        answer_schema = schema.text if schema else ""
        for attempt in range(self.prompts.system.max_repairs + 1):
            request = Request(messages, samplers, answer_schema, stage.logprobs)
            reply = self.backend.complete(request)
            self.emit(_called(state.scene.id, t, stage.name, attempt, request, reply))
            try:
                return accept(stage, bounds, reply)
            except ReplyError as error:
                self._refused(state, t, stage, attempt, error)
                if attempt == self.prompts.system.max_repairs:
                    hint = HINTS.get(error.failure, "").format(setting=limit_of(self.prompts.system, stage))
                    where = f"{stage.name}, pass {t}"
                    raise ReplyError(error.failure, error.what, where=where, hint=hint) from error
                complaint = self.prompts.complaint(error.what + WISHES.get(error.failure, ""), words)
                messages = (*request.messages, Message("assistant", reply.text.strip() or "(blank)"), complaint)
        raise AssertionError("the loop above returns or raises")

    def _asked(self, stage: Stage, state: State, t: int, supplied: Inputs, correction: Correction | None) -> Asked:
        inputs = visible(self.prompts.system, stage, state) | supplied
        return Asked(
            sample=state.scene.id,
            t=t,
            stage=stage.name,
            responder=state.scene.responder,
            labels=state.scene.labels,
            inputs=inputs,
            images=tuple(image.data for image in state.images) if "V" in inputs else (),
            previous=correction.previous if correction else None,
            instruction=correction.instruction if correction else "",
        )

    def _supplied(self, stage: Stage, state: State, t: int) -> Inputs:
        supplied: Inputs = {}
        for symbol, source in self.sources.items():
            if symbol not in stage.sees:
                continue
            with code_of_the_user(f"{stage.name}, pass {t}, sources.{symbol}"):
                supply = source(state, state.at(self.prompts.system.forecast(stage)))
                if not isinstance(supply, Supply):
                    raise TypeError(f"it gave {type(supply).__name__}, and a Supply is wanted")
                supplying = events.Supplied(
                    sample=state.scene.id,
                    t=t,
                    stage=stage.name,
                    symbol=symbol,
                    content=tuple(dict(item) for item in supply.content),
                    excluded=supply.excluded,
                    problem=supply.problem,
                )
                supplying.model_dump_json()  # what no file can hold is the source's fault, too
            self.emit(supplying)
            if supply.content:
                supplied[symbol] = supply.content
        return supplied

    def _refused(self, state: State, t: int, stage: Stage, attempt: int, error: ReplyError) -> None:
        self.emit(
            events.Refused(
                sample=state.scene.id,
                t=t,
                stage=stage.name,
                attempt=attempt,
                failure=error.failure,
                complaint=error.what,
            )
        )


def bounds_of(system: System, stage: Stage, state: State) -> Bounds:
    """What a reply of `stage` may refer to in `state`."""
    return Bounds(
        seen=frozenset(visible(system, stage, state)),
        choices={**system.vocabulary, "emotion": state.scene.labels},
        counts={"turn": len(state.scene.history), "frame": len(state.keyframes)},
    )


def limit_of(system: System, stage: Stage) -> str:
    """How a run is told how many tokens a reply of `stage` may have: `system.stages.sgrg.sampling.num_predict=…`."""
    node = "system.auditor" if stage is system.auditor else f"system.stages.{stage.name}"
    return f"{'+' * ('num_predict' not in stage.sampling)}{node}.sampling.num_predict=…"


def accept(stage: Stage, bounds: Bounds, reply: Reply) -> Output:
    """The output in a reply that ended by itself, is not blank, and holds to the schema; else ReplyError."""
    limit = reply.response_tokens
    if reply.finish is Finish.LENGTH and reply.thinking and not reply.text.strip():
        raise ReplyError(Failure.THINKING_EXHAUSTED, f"all {limit} tokens went into thinking, no answer was given")
    if reply.finish is Finish.LENGTH:
        raise ReplyError(Failure.TRUNCATED, f"the answer was cut off after {limit} tokens")
    if reply.finish is Finish.ABORT:
        raise ReplyError(Failure.LOOP_ABORT, "the answer was broken off because it repeated itself")
    said = reply.text.strip() if stage.output else _spoken(stage, reply.text)
    if not said:
        what = "the answer was blank" if not reply.text.strip() else "the answer was blank before its stop text"
        raise ReplyError(Failure.EMPTY, what)
    return parse(stage.output, bounds, reply.text) if stage.output else said


def _spoken(stage: Stage, text: str) -> str:
    """A text up to the first of the stage's stop texts, for servers that do not heed them."""
    for stop in Sampling().changed(stage.sampling).stop:
        text = text.strip().split(stop, 1)[0]
    return text.strip()


def _called(sample: str, t: int, stage: str, attempt: int, request: Request, reply: Reply) -> events.Called:
    return events.Called(
        sample=sample,
        t=t,
        stage=stage,
        attempt=attempt,
        digest=request.digest(),
        messages=tuple(
            events.TracedMessage(role=m.role, text=m.text, images=tuple(i.sha256 for i in m.images))
            for m in request.messages
        ),
        answer_schema=request.schema,
        sampling=vars(request.sampling),
        logprobs=request.logprobs,
        reply=reply,
    )
