"""Asks an auditor of clean and planted first passes, as the run's own loop asked it of the clean ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mmerg.auditing.comparison import Comparison
from mmerg.auditing.first_passes import FirstPasses
from mmerg.auditing.planted import Case
from mmerg.backends.protocol import Backend, Sampling
from mmerg.engine.ask import Asker
from mmerg.engine.loops.audit import is_final
from mmerg.engine.loops.loop import Ask
from mmerg.engine.prompts import Prompts
from mmerg.engine.state import State
from mmerg.errors import Failure, SampleError
from mmerg.runs.events import Emit
from mmerg.runs.result import SampleLine
from mmerg.systems.audit import audit_of
from mmerg.systems.system import Stage


class Audits(SampleLine):
    """A sample's cases, the clean one first; or how a call failed."""

    cases: tuple[Case, ...] = ()
    failure_text: str = ""


@dataclass(frozen=True)
class Auditing:
    """What all samples share."""

    passes: FirstPasses
    prompts: Prompts
    auditor: Stage
    stages: Sequence[Stage]
    sampling: Sampling
    seed: int

    def sample(self, sample: str, backend: Backend, emit: Emit) -> Audits:
        """The audits of the clean pass, and of one with a fault in each stage for which there is one to plant. Raises
        CallError (interrupted), and RunError where the run's folder does not hold what is needed."""
        first, dialogue = self.passes.read(sample), self.passes.dialogues[sample]
        emit(first.started)
        sources = {symbol: lambda *_, supply=supply: supply for symbol, supply in first.supplied.items()}
        ask: Ask = Asker(self.prompts, backend, self.sampling, emit, sources)
        if isinstance(self.prompts.system.loop, Comparison):
            ask = self.prompts.system.loop.asking(self.prompts.system, ask)
        clean = replace(first.state, images=self.passes.images(sample))
        try:
            cases = [self._case(ask, clean, Case(sample=sample, dialogue=dialogue))]
            for stage in self.stages:
                if donor := next(self.passes.donors(first.state, stage, self.seed), None):
                    outputs = {**dict(clean.outputs), stage.gives: dict(donor.outputs)[stage.gives]}
                    case = Case(sample=sample, dialogue=dialogue, stage=stage.name, donor=donor.scene.id)
                    cases.append(self._case(ask, replace(clean, outputs=tuple(outputs.items())), case))
        except SampleError as error:
            if error.failure is Failure.INTERRUPTED:
                raise
            return Audits(id=sample, status="failed", dialogue=dialogue, failure_text=str(error))
        return Audits(id=sample, status="ok", dialogue=dialogue, cases=tuple(cases))

    def _case(self, ask: Ask, state: State, case: Case) -> Case:
        """The case with its audit, or why that cannot be read."""
        try:
            reply = ask(self.auditor, state, 0)
        except SampleError as error:
            if not is_final(error):
                raise
            return case.model_copy(update={"failure": error.failure})
        assert not isinstance(reply, str)
        return case.model_copy(update={"audit": audit_of(reply)})
