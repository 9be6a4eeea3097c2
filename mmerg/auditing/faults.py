"""The cases that measure an auditor: outputs of first passes, unchanged and with faults of several kinds.

foreign: another dialogue's output, which has nothing to do with the scene.
wrong: a forecast of the run itself that the gold label contradicts. Nothing is planted.
flipped: a forecast generated for another label, which is not the gold label either, with reasons for that label.
hot: an output sampled at temperature 1.5. This is a weak fault, as the output may be as good as the run's.
human: here the human turn is the clean output, and the model's reply is the faulty one.
refusal, phrase, own name, narration, last turn: a reply that code makes.
roles: a reply generated for the other speaker.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from pydantic import BaseModel

from mmerg.auditing.first_passes import FirstPasses
from mmerg.backends.protocol import Backend, Sampling
from mmerg.engine.ask import Asker, user_code
from mmerg.engine.loops.audit import is_final
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import run_attempt
from mmerg.engine.state import Candidate, Output, State
from mmerg.errors import SampleError
from mmerg.runs.events import Emit
from mmerg.runs.result import Result, Verdicts
from mmerg.settings.model import Form
from mmerg.storage.record import Record
from mmerg.systems.audit import to_audit
from mmerg.systems.system import Stage

FOREIGN, WRONG, FLIPPED, HOT, HUMAN, ROLES = "foreign", "wrong", "flipped", "hot", "human", "roles"
BY_CODE: Mapping[str, Callable[[str, State], str]] = {
    "refusal": lambda *_: "I'm sorry, but I can't assist with that.",
    "phrase": lambda *_: "How can I help you today?",
    "own name": lambda text, state: state.scene.responder and f"{text.rstrip('.!?… ')}, {state.scene.responder}.",
    "narration": lambda _, state: state.scene.responder and f"{state.scene.responder} looks away and says nothing.",
    "last turn": lambda _, state: state.scene.history[-1].text,
}
KINDS = (FOREIGN, WRONG, FLIPPED, HOT, HUMAN, ROLES, *BY_CODE)
HEAT = 1.5  # the temperature of hot outputs
T = TypeVar("T")


class Case(Record):
    """One output of a stage, and the scores of its checks."""

    sample: str
    dialogue: str
    stage: str
    fault: str = ""  # its kind; "" for the run's unchanged output; "human" for a human turn, which is clean
    right: bool | None = None  # the unchanged forecast is the gold label; None if unknown
    scores: dict[Form, float | None]  # by form of the check; None if the check cannot be read


class SampleAudit(Verdicts):
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Auditing:
    """An audit of the samples of a run."""

    passes: FirstPasses
    results: Mapping[str, Result]
    stages: Collection[Stage]
    forms: Mapping[str, Collection[Form]]  # to measure, by stage name
    kinds: Collection[str]  # of faults to plant
    seed: int  # decides the faults
    prompts: Prompts
    sampling: Sampling

    def audit_sample(self, sample: str, backend: Backend, emit: Emit) -> SampleAudit:
        """Audits a sample. Raises CallError if it is interrupted, and RunError if the run folder is not complete."""
        first = self.passes.read(sample)
        sources = {symbol: lambda *_, output=output: output for symbol, output in first.source_outputs.items()}

        def decide(record: Emit, _: object) -> dict[str, object]:
            ask = Asker(self.prompts, backend, self.sampling, record, sources)
            state = replace(first.state, images=self.passes.read_images(sample))
            return {"cases": tuple(self._make_cases(state, self.results[sample], ask))}

        return SampleAudit.model_validate(run_attempt(first.started, decide, emit)[0])

    def _make_cases(self, state: State, result: Result, ask: Asker) -> Iterator[Case]:
        """Yields the cases of a sample, stage by stage. Raises SampleError if a call fails."""
        sample, system = state.scene.id, self.prompts.system
        forecast = state.get_text(system.result.get("emotion", ""))
        right = forecast == result.gold_emotion if result.gold_emotion else None
        unchanged = self._score(state, self.stages, ask)
        for stage in self.stages:
            fields = {"sample": sample, "dialogue": self.passes.dialogues[sample], "stage": stage.name}
            stage_right = right if system.result_symbol("emotion") == stage.gives else None
            yield Case.model_validate({**fields, "right": stage_right, "scores": unchanged[stage.name]})
            for kind, output in self._make_faults(state, stage, result, ask):
                planted = replace(state, outputs=tuple({**dict(state.outputs), stage.gives: output}.items()))
                scores = self._score(planted, [stage], ask)[stage.name]
                yield Case.model_validate({**fields, "fault": kind, "scores": scores})

    def _make_faults(self, state: State, stage: Stage, result: Result, ask: Asker) -> Iterator[tuple[str, Output]]:
        """Yields the kinds and outputs of the faults of a stage. Skips those that the model cannot generate."""
        if FOREIGN in self.kinds and (
            foreign := self.passes.draw_foreign(state, stage, result.gold_emotion, self.seed)
        ):
            yield FOREIGN, foreign
        for kind, changed_stage, changed_state in self._change_inputs(state, stage, result.gold_emotion):
            if output := _call_or_none(partial(ask, changed_stage, changed_state, 0, candidate=Candidate(1))):
                yield kind, output
        symbol, _, field = self.prompts.system.result.get("response", "").partition(".")
        if stage.gives == symbol:
            output = dict(state.outputs)[stage.gives]
            reply = str(getattr(output, field) if field else output)
            texts = {kind: make(reply, state) for kind, make in BY_CODE.items()} | {HUMAN: result.gold_response or ""}
            for kind, text in texts.items():
                if kind in self.kinds and text:
                    yield kind, output.model_copy(update={field: text}) if isinstance(output, BaseModel) else text

    def _change_inputs(self, state: State, stage: Stage, gold: str | None) -> Iterator[tuple[str, Stage, State]]:
        """Yields the kinds of faults that the model generates, with the stage and the state that it gets for them."""
        system, before, scene = self.prompts.system, state.before(stage.gives), state.scene
        not_faulty = {gold, state.get_text(system.result.get("emotion", ""))}
        labels = [label for label in scene.labels if label not in not_faulty]
        if FLIPPED in self.kinds and stage.gives == system.result_symbol("emotion") and labels:
            label = random.Random(f"{self.seed} {scene.id!a}").choice(sorted(labels))
            yield FLIPPED, stage, replace(before, scene=replace(scene, labels=(label,)), labels=(label,))
        if HOT in self.kinds and not stage.function:
            yield HOT, replace(stage, sampling={**stage.sampling, "temperature": HEAT}), before
        others = [turn.speaker for turn in scene.history if turn.speaker != scene.responder]
        if ROLES in self.kinds and stage.gives == system.result_symbol("response") and others and scene.responder:
            yield ROLES, stage, replace(before, scene=replace(scene, responder=others[-1]))

    def _score(self, state: State, stages: Collection[Stage], ask: Asker) -> dict[str, dict[Form, float | None]]:
        """Returns scores by stage and form; of a finding, 1 if the check passes, else -1. One call gives them all."""
        auditor = self.prompts.system.auditor
        assert auditor is not None
        forms = ask.make_forms(auditor, state, 0)
        needs_findings = any("finding" in self.forms[stage.name] for stage in stages)
        audit = _call_or_none(lambda: ask(auditor, state, 0)) if needs_findings else None
        findings = to_audit(audit).findings if isinstance(audit, BaseModel) else {}
        passed = {name: 1.0 if finding.passed else -1.0 for name, finding in findings.items()}

        def score(stage: Stage, form: Form) -> float | None:
            if form == "finding":
                return passed.get(stage.name)
            with user_code(f"{stage.name}, form={form}"):
                return _call_or_none(lambda: forms.score(stage, state, form))

        return {stage.name: {form: score(stage, form) for form in self.forms[stage.name]} for stage in stages}


def _call_or_none(work: Callable[[], T]) -> T | None:
    """Returns the result of `work`; None if the model gives no valid output. Raises SampleError if a call fails."""
    try:
        return work()
    except SampleError as error:
        if not is_final(error):
            raise
        return None
