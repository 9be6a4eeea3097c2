"""The cases that an auditor is measured on: outputs of first passes as they are, and with faults of several kinds.

foreign: another dialogue's output, which has nothing to do with the scene.
wrong: a forecast of the run itself that the gold label contradicts. Nothing is planted.
flipped: the forecast asked anew with another label, so with reasons of its own.
hot: a draw at temperature 1.5 against the run's own output. A weak one: it may be as good.
human: the human turn as the clean output, the model's own as the faulty one.
refusal, phrase, own name, narration, last turn: a reply that code makes.
roles: the reply that the other speaker would give.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import BaseModel

from mmerg.auditing.first_passes import FirstPasses
from mmerg.engine.ask import Asker, user_code
from mmerg.engine.loops.audit import is_final
from mmerg.engine.state import Draw, Output, State
from mmerg.errors import SampleError
from mmerg.runs.result import Result
from mmerg.settings.model import Form
from mmerg.storage.record import Record
from mmerg.systems.audit import audit_of
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


class Case(Record):
    """One output of a stage. fault: its kind, "" for the run's own output; human: a human turn, which is clean. right:
    whether the run's own forecast is the gold label, None where that is not known. donor: the sample that a foreign
    output is of. scores: by form; None where the check cannot be read."""

    sample: str
    dialogue: str
    stage: str
    fault: str = ""
    right: bool | None = None
    donor: str = ""
    scores: dict[Form, float | None]


@dataclass(frozen=True)
class Cases:
    """What the cases of all samples share. system and prompts are the asker's. forms: of each stage's check."""

    passes: FirstPasses
    results: Mapping[str, Result]
    stages: Collection[Stage]
    forms: Mapping[str, Collection[Form]]
    kinds: Collection[str]
    seed: int

    def of(self, sample: str, ask: Asker) -> Iterator[Case]:
        """The cases of a sample, stage by stage. Raises SampleError where a call fails."""
        first, result = self.passes.read(sample), self.results[sample]
        state = replace(first.state, images=self.passes.images(sample))
        system = ask.prompts.system
        forecast = state.text_at(system.result.get("emotion", ""))
        right = result.gold_emotion and forecast == result.gold_emotion
        findings = self._findings(state, ask, [stage.name for stage in self.stages])
        for stage in self.stages:
            known = {"sample": sample, "dialogue": self.passes.dialogues[sample], "stage": stage.name}
            own = self._scores(state, stage, ask, findings[stage.name])
            judged = bool(right) if right is not None and system.symbol("emotion") == stage.gives else None
            yield Case.model_validate({**known, "right": judged, "scores": own})
            for kind, output, donor in self._outputs(state, stage, result, ask):
                outputs = {**dict(state.outputs), stage.gives: output}
                planted = replace(state, outputs=tuple(outputs.items()))
                found = self._findings(planted, ask, [stage.name])[stage.name]
                scores = self._scores(planted, stage, ask, found)
                yield Case.model_validate({**known, "fault": kind, "donor": donor, "scores": scores})

    def _outputs(self, state: State, stage: Stage, result: Result, ask: Asker) -> Iterator[tuple[str, Output, str]]:
        """The kind of each fault of a stage, its output, and the sample that it is of."""
        system, before = ask.prompts.system, state.before(stage.gives)
        emotion, response = system.result.get("emotion", ""), system.result.get("response", "").partition(".")
        own = dict(state.outputs)[stage.gives]

        def again(kind: str, asked: Stage, shown: State) -> Iterator[tuple[str, Output, str]]:
            try:
                yield kind, ask(asked, shown, 0, draw=Draw(1)), ""
            except SampleError as error:  # no usable output, no case
                if not is_final(error):
                    raise

        if FOREIGN in self.kinds and (donor := self.passes.donor(state, stage, self.seed)):
            yield FOREIGN, dict(donor.outputs)[stage.gives], donor.scene.id
        labels = [label for label in state.scene.labels if label != state.text_at(emotion)]
        if FLIPPED in self.kinds and stage.gives == system.symbol("emotion") and labels:
            label = random.Random(f"{self.seed} {state.scene.id!a}").choice(sorted(labels))
            other = replace(before, scene=replace(before.scene, labels=(label,)), labels=(label,))
            yield from again(FLIPPED, stage, other)
        if HOT in self.kinds and not stage.by:
            yield from again(HOT, replace(stage, sampling={**stage.sampling, "temperature": HEAT}), before)
        if stage.gives != response[0]:
            return
        others = [turn.speaker for turn in state.scene.history if turn.speaker != state.scene.responder]
        if ROLES in self.kinds and others and state.scene.responder:
            yield from again(ROLES, stage, replace(before, scene=replace(before.scene, responder=others[-1])))
        said = str(getattr(own, response[2]) if response[2] else own)
        texts = {kind: make(said, state) for kind, make in BY_CODE.items()} | {HUMAN: result.gold_response or ""}
        for kind, text in texts.items():
            if kind in self.kinds and text:
                yield kind, own.model_copy(update={response[2]: text}) if isinstance(own, BaseModel) else text, ""

    def _scores(self, state: State, stage: Stage, ask: Asker, finding: float | None) -> dict[Form, float | None]:
        """By form, without the forms that the stage's check cannot have."""
        auditor = ask.prompts.system.auditor
        assert auditor is not None
        forms = ask.forms(auditor, state, 0)

        def score(form: Form) -> float | None:
            if form == "finding":
                return finding
            try:
                with user_code(f"{stage.name}, form={form}"):
                    return forms.score(stage, state, form)
            except SampleError as error:
                if not is_final(error):
                    raise
                return None

        return {form: score(form) for form in self.forms[stage.name]}

    def _findings(self, state: State, ask: Asker, stages: Collection[str]) -> dict[str, float | None]:
        """Of the auditor's one call: 1 for a passed check, -1 for a failed one, None where the audit cannot be read."""
        auditor = ask.prompts.system.auditor
        assert auditor is not None
        if not any("finding" in self.forms[stage] for stage in stages):
            return dict.fromkeys(stages)
        try:
            reply = ask(auditor, state, 0)
        except SampleError as error:
            if not is_final(error):
                raise
            return dict.fromkeys(stages)
        assert not isinstance(reply, str)
        findings = audit_of(reply).findings
        return {stage: (1.0 if findings[stage].passed else -1.0) if stage in findings else None for stage in stages}
