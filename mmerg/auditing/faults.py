"""The cases that measure an auditor: outputs of first passes, unchanged and with faults of several kinds.

foreign: another dialogue's output, which has nothing to do with the scene.
wrong: a forecast of the run itself that the gold label contradicts. Nothing is planted.
flipped: a forecast generated for another label, with its own reasons.
hot: an output sampled at temperature 1.5. A weak fault, as it may be as good as the run's own.
human: the human turn as the clean output, the model's own as the faulty one.
refusal, phrase, own name, narration, last turn: a reply that code makes.
roles: a reply generated for the other speaker.
"""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
    "own name": lambda text, state: f"{text.rstrip('.!?… ')}, {state.scene.responder or 'you'}.",
    "narration": lambda _, state: f"{state.scene.responder or 'The speaker'} looks away and says nothing.",
    "last turn": lambda _, state: state.scene.history[-1].text,
}
KINDS = (FOREIGN, WRONG, FLIPPED, HOT, HUMAN, ROLES, *BY_CODE)
HEAT = 1.5
Made = TypeVar("Made")


class Case(Record):
    """One output of a stage. fault: its kind, "" for the run's own output; human: a human turn, which is clean. right:
    whether the run's own forecast is the gold label; None if unknown. scores: by form; None if the check cannot be
    read."""

    sample: str
    dialogue: str
    stage: str
    fault: str = ""
    right: bool | None = None
    scores: dict[Form, float | None]


class Audits(Verdicts):
    """The cases of a sample, or how a call failed."""

    cases: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Auditing:
    """What the audits of all samples share. forms: of each stage's check, by stage name."""

    passes: FirstPasses
    results: Mapping[str, Result]
    stages: Collection[Stage]
    forms: Mapping[str, Collection[Form]]
    kinds: Collection[str]
    seed: int
    prompts: Prompts
    sampling: Sampling

    def sample(self, sample: str, backend: Backend, emit: Emit) -> Audits:
        """The audits of a sample. Raises CallError (interrupted), and RunError if the run folder lacks something."""
        first = self.passes.read(sample)
        sources = {symbol: lambda *_, output=output: output for symbol, output in first.supplied.items()}

        def decide(note: Emit, _: object) -> dict[str, object]:
            ask = Asker(self.prompts, backend, self.sampling, note, sources)
            state = replace(first.state, images=self.passes.images(sample))
            return {"cases": tuple(self._cases(state, self.results[sample], ask))}

        return Audits.model_validate(run_attempt(first.started, decide, emit)[0])

    def _cases(self, state: State, result: Result, ask: Asker) -> Iterator[Case]:
        """The cases of a sample, stage by stage. Raises SampleError if a call fails."""
        sample, system = state.scene.id, self.prompts.system
        forecast = state.get_text(system.result.get("emotion", ""))
        right = forecast == result.gold_emotion if result.gold_emotion else None
        own = self._scores(state, self.stages, ask)
        for stage in self.stages:
            known = {"sample": sample, "dialogue": self.passes.dialogues[sample], "stage": stage.name}
            judged = right if system.result_symbol("emotion") == stage.gives else None
            yield Case.model_validate({**known, "right": judged, "scores": own[stage.name]})
            for kind, output in self._faults(state, stage, result, ask):
                planted = replace(state, outputs=tuple({**dict(state.outputs), stage.gives: output}.items()))
                scores = self._scores(planted, [stage], ask)[stage.name]
                yield Case.model_validate({**known, "fault": kind, "scores": scores})

    def _faults(self, state: State, stage: Stage, result: Result, ask: Asker) -> Iterator[tuple[str, Output]]:
        """The kinds and outputs of the faults of a stage. Skips those that the model cannot generate."""
        system, before, scene = self.prompts.system, state.before(stage.gives), state.scene
        emotion, response = system.result.get("emotion", ""), system.result.get("response", "").partition(".")
        own = dict(state.outputs)[stage.gives]
        again: list[tuple[str, Stage, State]] = []
        if FOREIGN in self.kinds and (foreign := self.passes.foreign(state, stage, self.seed)):
            yield FOREIGN, foreign
        labels = [label for label in scene.labels if label != state.get_text(emotion)]
        if FLIPPED in self.kinds and stage.gives == system.result_symbol("emotion") and labels:
            label = random.Random(f"{self.seed} {scene.id!a}").choice(sorted(labels))
            again.append((FLIPPED, stage, replace(before, scene=replace(scene, labels=(label,)), labels=(label,))))
        if HOT in self.kinds and not stage.function:
            again.append((HOT, replace(stage, sampling={**stage.sampling, "temperature": HEAT}), before))
        others = [turn.speaker for turn in scene.history if turn.speaker != scene.responder]
        if ROLES in self.kinds and stage.gives == response[0] and others and scene.responder:
            again.append((ROLES, stage, replace(before, scene=replace(scene, responder=others[-1]))))
        for kind, asked, shown in again:
            if output := _unless_final(partial(ask, asked, shown, 0, candidate=Candidate(1))):
                yield kind, output
        if stage.gives == response[0]:
            said = str(getattr(own, response[2]) if response[2] else own)
            texts = {kind: make(said, state) for kind, make in BY_CODE.items()} | {HUMAN: result.gold_response or ""}
            for kind, text in ((kind, text) for kind, text in texts.items() if kind in self.kinds and text):
                yield kind, own.model_copy(update={response[2]: text}) if isinstance(own, BaseModel) else text

    def _scores(self, state: State, stages: Iterable[Stage], ask: Asker) -> dict[str, dict[Form, float | None]]:
        """Scores by stage and form; a finding is 1 if the check passed, else -1. One call gives all findings, as in a
        run."""
        auditor = self.prompts.system.auditor
        assert auditor is not None
        forms, finds = ask.forms(auditor, state, 0), any("finding" in self.forms[stage.name] for stage in stages)
        reply = _unless_final(lambda: ask(auditor, state, 0)) if finds else None
        findings = to_audit(reply).findings if isinstance(reply, BaseModel) else {}
        found = {name: 1.0 if finding.passed else -1.0 for name, finding in findings.items()}

        def score(stage: Stage, form: Form) -> float | None:
            if form == "finding":
                return found.get(stage.name)
            with user_code(f"{stage.name}, form={form}"):
                return _unless_final(lambda: forms.score(stage, state, form))

        return {stage.name: {form: score(stage, form) for form in self.forms[stage.name]} for stage in stages}


def _unless_final(work: Callable[[], Made]) -> Made | None:
    """The result of `work`; None if the model cannot give one. Raises SampleError if a call fails."""
    try:
        return work()
    except SampleError as error:
        if not is_final(error):
            raise
        return None
