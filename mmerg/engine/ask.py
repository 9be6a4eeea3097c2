"""The output of one stage, from the model or from the user's function.

For the model, it renders the prompt, makes the call, and validates the completion. If that is invalid, the model sees
it again with a complaint and tries once more, at most `system.max_repairs` times. A failed call raises CallError and is
not repaired here.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, cast

from pydantic import BaseModel

from mmerg.backends.protocol import Backend, Completion, Finish, Message, Request, Sampling
from mmerg.backends.thinking import separate_thoughts
from mmerg.engine.clean import clean
from mmerg.engine.forms import Forms
from mmerg.engine.labels import ALTERNATIVES, TOKENS, build_schema, list_orders, read_choice
from mmerg.engine.prompts import LABEL, Inputs, Prompts, get_bounds, select_inputs
from mmerg.engine.sources import BoundSource
from mmerg.engine.state import Candidate, Correction, Output, State
from mmerg.errors import CompletionError, Failure, MmergError, SampleError, format_exception, locate_error
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.storage.words import split_ngrams
from mmerg.systems.audit import Finding, make_audit_class
from mmerg.systems.instantiate import get_dotted_name
from mmerg.systems.parsing import parse_output, validate_output
from mmerg.systems.schema import Bounds, build_json_schema
from mmerg.systems.system import Stage, StageFunction, StageInput, System

# Hints for failures when no repairs are left. {setting}: the full name of the stage's token limit.
HINTS = {
    Failure.TRUNCATED: "give the stage more tokens, which makes another run: {setting}",
    Failure.THINKING_EXHAUSTED: "backbone.think=false, the model's instruct tag, or more tokens, each of which makes "
    "another run: {setting}",
    Failure.SCHEMA_INVALID: "see the raw completions: mmerg show RUN SAMPLE --prompts",
}
Place = dict[str, Any]  # fields of events: sample, t, stage, attempt
REQUESTS = {Failure.TRUNCATED: "; be much shorter"}  # added to the complaint in the prompt
FIX_CODE = "fix it and repeat the command, which takes equal calls from the completion cache"


@dataclass(frozen=True)
class Asker:
    """The `loops.loop.Ask` of one sample."""

    prompts: Prompts
    backend: Backend
    sampling: Sampling  # of the backbone; stages may override parts
    emit: Emit
    sources: Mapping[str, BoundSource] = field(default_factory=dict)  # for this sample, by symbol

    def __call__(
        self,
        stage: Stage,
        state: State,
        t: int,
        correction: Correction | None = None,
        candidate: Candidate | None = None,
    ) -> Output:
        system = self.prompts.system
        place: Place = {"sample": state.scene.id, "t": t, "stage": stage.name}
        if any(audited.verdict.form != "finding" for audited in system.stages if audited.name in stage.audits):
            return self._audit(stage, state, t, candidate)
        bounds = get_bounds(system, stage, state)
        supplied = self._get_supplied(stage, state, place)
        if stage.function:
            inputs = select_inputs(stage, state) | supplied
            return _call_function(stage, stage.function, bounds, state, t, inputs, correction)
        if stage.label:
            emotion = self._read_emotion(stage, state, place, supplied, correction)
            state = replace(state, labels=(emotion,))  # other fields may explain it
            bounds = get_bounds(system, stage, state)
            if stage.output and build_json_schema(stage.output, bounds).required == (stage.label,):
                return stage.output.model_validate({stage.label: emotion})
        schema = build_json_schema(stage.output, bounds) if stage.output else None
        outline, answer_schema = (schema.outline, schema.text) if schema else ("", "")
        messages = self.prompts.render_messages(stage, state, supplied, outline, correction)
        sampling = self.sampling.override(stage.sampling)
        if correction and correction.instruction and system.rerun_temperature is not None:
            sampling = replace(sampling, temperature=system.rerun_temperature)
        sampling = sampling.derive_seed(state.scene.id, stage.name, t, candidate.number if candidate else 0)
        for attempt in range(system.max_repairs + 1):
            attempt_place: Place = {**place, "attempt": attempt}
            request = Request(messages, sampling, answer_schema, stage.logprobs)
            completion = self.backend.complete(request)
            self.emit(_describe_call(attempt_place, request, completion))
            try:
                written, cut = _read_output(stage, bounds, completion, sampling.stop)
                _check_findings(system, stage, written)
                output, cleaned = _clean_response(system, stage, state, supplied, written)
            except CompletionError as error:
                failure, what = error.failure, error.what
                self.emit(events.Refused(**attempt_place, failure=failure, complaint=what))
                if attempt == system.max_repairs:
                    hint = HINTS.get(failure, "").format(setting=name_token_limit(system, stage))
                    raise CompletionError(failure, what, where=f"{stage.name}, pass {t}", hint=hint) from error
                complaint = self.prompts.render_complaint(what + REQUESTS.get(failure, ""), outline)
                messages = (*request.messages, Message("assistant", completion.text.strip() or "(blank)"), complaint)
            else:
                if removed := (*cut, *cleaned):
                    self.emit(events.Cleaned(**attempt_place, removed=removed))
                if candidate:
                    candidate.completions[stage.gives] = completion, written
                return output
        raise AssertionError("unreachable")

    def _read_emotion(
        self, stage: Stage, state: State, place: Place, supplied: Inputs, correction: Correction | None
    ) -> str:
        """Returns the most probable emotion. Its log-probability is the mean over several orders of the labels, and is
        calibrated if the stage has a prior."""
        labels, readings = state.scene.labels, list[Mapping[str, float]]()
        for order in list_orders(state.ordered_labels, stage.orders):
            shown = replace(state, labels=order)
            messages = self.prompts.render_messages(replace(stage, name=LABEL), shown, supplied, "", correction)
            request = Request(messages, Sampling(num_predict=TOKENS), build_schema(order), True, ALTERNATIVES)
            completion = self.backend.complete(request)
            self.emit(_describe_call({**place, "attempt": 0}, request, completion))
            readings.append(read_choice(completion, labels, "reads: labels"))
        mean = {label: round(fmean(reading[label] for reading in readings), 6) for label in labels}
        scores = stage.prior.calibrate(mean) if stage.prior else mean
        self.emit(events.LabelsRead(**place, logprobs=mean, calibrated=stage.prior is not None))
        return max(labels, key=lambda label: scores[label])

    def make_forms(self, auditor: Stage, state: State, t: int) -> Forms:
        """Returns the forms of check for pass t. Their calls are recorded as calls of the auditor."""

        def call(request: Request) -> Completion:
            completion = self.backend.complete(request)
            place: Place = {"sample": state.scene.id, "t": t, "stage": auditor.name, "attempt": 0}
            self.emit(_describe_call(place, request, completion))
            return completion

        return Forms(self.prompts, auditor, call)

    def _audit(self, auditor: Stage, state: State, t: int, candidate: Candidate | None) -> Output:
        """Returns the findings on the audited stages, each by the form of its check."""
        audited = [stage for stage in self.prompts.system.stages if stage.name in auditor.audits]
        by_finding = tuple(stage.name for stage in audited if stage.verdict.form == "finding")
        forms = self.make_forms(auditor, state, t)
        with user_code(f"{auditor.name}, pass {t}"):
            findings = {stage.name: forms.check(stage, state) for stage in audited if stage.name not in by_finding}
        if by_finding:
            narrowed = replace(auditor, audits=by_finding, output=make_audit_class(by_finding))
            findings |= dict(cast(BaseModel, self(narrowed, state, t, candidate=candidate)))
        return make_audit_class(auditor.audits)(**{stage.name: findings[stage.name] for stage in audited})

    def _get_supplied(self, stage: Stage, state: State, place: Place) -> Inputs:
        """Gets the inputs from sources that the stage sees, and returns them by symbol."""
        supplied: Inputs = {}
        for symbol in [symbol for symbol in self.sources if symbol in stage.sees]:
            with user_code(f"{stage.name}, pass {place['t']}, sources.{symbol}"):
                output = self.sources[symbol](state, state.get_text(self.prompts.system.forecast_path(stage)))
                event = events.Supplied(
                    **place,
                    symbol=symbol,
                    content=tuple(map(dict, output.content)),
                    excluded=output.excluded,
                    problem=output.problem,
                )
                event.model_dump(mode="json")  # raises here for content that JSON cannot hold
            self.emit(event)
            if output.content:
                supplied[symbol] = output.content
        return supplied


def name_token_limit(system: System, stage: Stage) -> str:
    """Names the setting that limits the tokens of a completion, such as `system.stages.sgrg.sampling.num_predict=…`."""
    node = "system.auditor" if system.auditor and stage.name == system.auditor.name else f"system.stages.{stage.name}"
    return f"{'+' * ('num_predict' not in stage.sampling)}{node}.sampling.num_predict=…"


def _read_output(
    stage: Stage, bounds: Bounds, completion: Completion, stops: tuple[str, ...]
) -> tuple[Output, tuple[str, ...]]:
    """Parses a completion, and returns the output and what was removed. Raises CompletionError if the completion is
    blank, violates the schema, or ends neither by itself nor at a stop text."""
    limit, text = completion.response_tokens, completion.text.strip()
    if not text and (completion.thinking or completion.removed) and completion.finish is not Finish.ABORT:
        used = f"the model used all {limit} tokens for thinking and gave no answer"
        what = used if completion.finish is Finish.LENGTH else "the reply has thoughts only, no answer"
        raise CompletionError(Failure.THINKING_EXHAUSTED, what)
    ends = [] if stage.output else [at for stop in stops if (at := text.find(stop)) >= 0]
    if ends:  # the server ignored the stop texts, or did not get them
        if not (text := text[: min(ends)].strip()):
            raise CompletionError(Failure.EMPTY, "the answer was blank before its stop text")
        return text, completion.removed
    if completion.finish is Finish.LENGTH:
        raise CompletionError(Failure.TRUNCATED, f"the answer was cut off after {limit} tokens")
    if completion.finish is Finish.ABORT:
        raise CompletionError(Failure.LOOP_ABORT, "the answer was broken off because it repeated itself")
    if not text:
        raise CompletionError(Failure.EMPTY, "the answer was blank")
    if stage.output:
        output, cut = parse_output(stage.output, bounds, completion.text)
        return output, (*completion.removed, *cut)
    return text, completion.removed


def _check_findings(system: System, stage: Stage, output: Output) -> None:
    """Raises CompletionError if an auditor has copied every reason from its instructions, as very small models do."""
    if not stage.audits or isinstance(output, str):
        return
    texts = [audited.check for audited in system.stages if audited.name in stage.audits]
    texts += [field.description or "" for field in Finding.model_fields.values()]
    rubric = {ngram for text in texts for ngram in split_ngrams(text)}
    reasons = [split_ngrams(finding.reason) for _, finding in output if isinstance(finding, Finding)]
    if reasons and all(2 * sum(ngram in rubric for ngram in ngrams) > len(ngrams) for ngrams in reasons):
        what = "every reason is copied from the instructions: say of each what you checked in this scene and found"
        raise CompletionError(Failure.SCHEMA_INVALID, what)


def _clean_response(
    system: System, stage: Stage, state: State, supplied: Inputs, output: Output
) -> tuple[Output, tuple[str, ...]]:
    """Cleans the system's response in an output, and returns the output and what was removed. Returns outputs without
    the response unchanged. Raises CompletionError if nothing is left of the response."""
    symbol, _, name = system.result.get("response", "").partition(".")
    if symbol != stage.gives:
        return output, ()
    names = {turn.speaker for turn in state.scene.history} | {state.scene.responder} | _find_speakers(supplied)
    written = getattr(output, name) if name else str(output)
    _, response = separate_thoughts(written)  # texts in JSON may also hold thoughts
    if written and not response:
        raise CompletionError(Failure.THINKING_EXHAUSTED, "the reply has thoughts only, no answer")
    words, removed = clean(response, names, state.scene.responder)
    if response != written:
        removed = ("thinking", *removed)
    if not words:
        raise CompletionError(Failure.EMPTY, f"the answer says nothing{' but ' if removed else ''}{', '.join(removed)}")
    if not removed:
        return output, ()
    return words if isinstance(output, str) else output.model_copy(update={name: words}), removed


def _find_speakers(supplied: Inputs) -> set[str]:
    """Returns the speakers in exemplars, whose names a model may copy."""
    items = [item for content in supplied.values() if isinstance(content, tuple) for item in content]
    turns = [turn for item in items for turn in item.get("history", ())]
    return {turn["speaker"] for turn in turns if isinstance(turn, Mapping) and "speaker" in turn}


def _describe_call(place: Place, request: Request, completion: Completion) -> events.Called:
    messages = tuple(
        events.TracedMessage(role=sent.role, text=sent.text, images=tuple(image.sha256 for image in sent.images))
        for sent in request.messages
    )
    return events.Called(
        **place,
        digest=request.digest,
        messages=messages,
        answer_schema=request.schema,
        sampling=vars(request.sampling),
        logprobs=request.logprobs,
        completion=completion,
    )


def _call_function(
    stage: Stage,
    function: StageFunction,
    bounds: Bounds,
    state: State,
    t: int,
    inputs: Inputs,
    correction: Correction | None,
) -> Output:
    """Returns the output of a stage's function. Raises CompletionError if it violates the schema or, in a stage without
    a schema, is blank or not a text."""
    where = f"{stage.name}, pass {t}, {get_dotted_name(function)}"
    stage_input = StageInput(
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
    try:
        with user_code(where):
            output = function(stage_input)
            if stage.output:
                fields = output.model_dump(mode="json", exclude_unset=True) if isinstance(output, BaseModel) else output
                return validate_output(stage.output, bounds, fields)
    except CompletionError as error:
        raise CompletionError(error.failure, error.what, where=where, hint=FIX_CODE) from error
    if not isinstance(output, str):
        what = f"it returned {type(output).__name__}, not a text"
        raise CompletionError(Failure.SCHEMA_INVALID, what, where=where, hint=FIX_CODE)
    if not output.strip():
        raise CompletionError(Failure.EMPTY, "its text is blank", where=where, hint=FIX_CODE)
    return output.strip()


@contextmanager
def user_code(where: str) -> Iterator[None]:
    """Turns any error of the user's code, except MmergError, into a SampleError (code_error) that names `where` and the
    line."""
    try:
        yield
    except MmergError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit() in the user's code fails this sample, not the run
        raise SampleError(
            Failure.CODE_ERROR, format_exception(error), where=f"{where}, {locate_error(error)}", hint=FIX_CODE
        ) from error
