"""Loops with an auditor: MERG's audit loop, and Self-Refine.

Pass t = 0 is the first full run of all stages. At most `max_iterations` refinements follow. Every pass is audited,
including the last. A system without an auditor makes one pass.
"""

from collections.abc import Callable
from dataclasses import replace

from mmerg.engine.loops.loop import Ask, Outcome, complete, finish, single
from mmerg.engine.loops.views import rerun_in_views
from mmerg.engine.state import Correction, Draft, Output, Pass, State
from mmerg.errors import CallError, CompletionError, Failure, SampleError
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.settings.model import Selection
from mmerg.systems.audit import to_audit
from mmerg.systems.system import Stage, System

REFUSED_PROMPT = frozenset({Failure.CONTEXT_OVERFLOW, Failure.IMAGE_REJECTED, Failure.BAD_REQUEST})
_ReadAudit = Callable[[Output, Pass], tuple[Pass, Correction | str]]  # see `_audited_passes`


def audit(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """Runs MERG's loop (arXiv 2604.18988, section 3): again from the earliest fault, and selects the best pass.

    That is the pass with the lexicographic maximum of (c1, …, cn, -t). With measured checks, it is the pass with the
    largest sum of their log-likelihood ratios of clean over faulty. Errors: see `_audited_passes`.
    """
    if system.auditor is None:
        return single(system, state, ask, emit)

    def read(output: Output, current: Pass) -> tuple[Pass, Correction | str]:
        assert not isinstance(output, str)
        result = to_audit(output)
        emit(events.Audited(sample=state.scene.id, t=current.t, audit=result, checks=result.checks, fault=result.fault))
        audited = replace(current, audit=result)
        if system.final_selection == "calibrated":
            findings = [(stage.verdict, result.findings[stage.name]) for stage in system.checked_stages]
            ratios = [check.log_likelihood_ratio(finding) or 0.0 for check, finding in findings]
            audited = replace(audited, score=(round(sum(ratios), 6),))
        if result.fault is None:
            return audited, "passed"
        faulty = system.get_stage(result.fault)
        finding, previous = result.findings[faulty.name], current.state.get(faulty.gives)
        assert previous is not None
        later = current.state.outputs[len(current.state.before(faulty.gives).outputs) + 1 :]
        retained = dict(later) if system.retain == "all" and system.rerun == "shown" else {}
        return audited, Correction(faulty.name, previous, finding.reason, finding.correction, retained=retained)

    return _audited_passes(system, system.auditor, state, ask, emit, read, system.final_selection)


def refine(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """Runs Self-Refine (Madaan et al., 2023, arXiv 2303.17651, algorithm 1): draft, feedback, refinement.

    The auditor gives free feedback on the whole pass: a text, or an instance of a user's class. If its field
    `system.stop` is true, the loop ends. Its field `system.score`, a whole number, ranks the drafts; without it the
    last draft is selected. The stage that writes the response runs again and sees all drafts and feedback; earlier
    stages keep their outputs. Errors: see `_audited_passes`.
    """
    critic = system.auditor
    if critic is None:
        return single(system, state, ask, emit)
    symbol = system.result.get("response", system.stages[-1].gives).split(".")[0]
    writer = next(stage for stage in system.stages if stage.gives == symbol)

    def read(output: Output, current: Pass) -> tuple[Pass, Correction | str]:
        emit(events.Produced.from_output(state.scene.id, current.t, critic.name, critic.gives, output))
        scored = replace(current, score=(int(getattr(output, system.score)) if system.score else 0,))
        if system.stop and getattr(output, system.stop):
            return scored, "good enough"
        draft = current.state.get(writer.gives)
        assert draft is not None
        earlier = current.correction.drafts if current.correction else ()
        drafts = (*earlier, Draft(draft, output))
        feedback = output if isinstance(output, str) else output.model_dump_json()
        return scored, Correction(writer.name, draft, "", feedback, drafts)

    return _audited_passes(system, critic, state, ask, emit, read, system.final_selection if system.score else "last")


def _audited_passes(
    system: System, auditor: Stage, state: State, ask: Ask, emit: Emit, read: _ReadAudit, selection: Selection
) -> Outcome:
    """Makes at most `max_iterations` + 1 passes, audits each, and selects one.

    The loop also ends if an audit cannot be read, if a later pass cannot be finished, or if the faulty stage repeats
    its output; earlier passes can still be selected. Raises SampleError if the first pass or a call fails.

    read: takes the auditor's output and the pass. Returns the pass with its audit or score, and either the correction
    for the next pass or, as a text, why the loop ends.
    """
    sample = state.scene.id
    passes: list[Pass] = []
    correction: Correction | None = None
    for t in range(system.max_iterations + 1):
        try:
            if correction:
                why, what = correction.reason, correction.instruction
                emit(events.Rerun(sample=sample, t=t, stage=correction.stage, reason=why, correction=what))
                corrected = _rerun_stage(system, auditor, passes[-1], ask, emit, t, correction)
                if corrected is None:
                    same = replace(passes[-1], t=t, correction=correction)
                    return finish(sample, [*passes, same], "idle", selection, emit)
                state = corrected
            state = complete(system, state, ask, emit, t, correction)
        except SampleError as error:
            if not passes or not is_final(error):
                raise
            emit(events.PassLost(sample=sample, t=t, failure=error.failure, what=error.what))
            return finish(sample, passes, "unusable", selection, emit)
        current = Pass(t, state, correction=correction)
        try:
            output = ask(auditor, state, t)
        except SampleError as error:
            if not is_final(error) or (isinstance(error, CallError) and not passes):
                raise
            emit(events.Unaudited(sample=sample, t=t, failure=error.failure, what=error.what, hint=error.hint))
            return finish(sample, [*passes, current], "unaudited", selection, emit)
        current, next_step = read(output, current)
        passes.append(current)
        if isinstance(next_step, str):
            return finish(sample, passes, next_step, selection, emit)
        correction = next_step
    return finish(sample, passes, "max_iterations", selection, emit)


def _rerun_stage(
    system: System, auditor: Stage, faulty: Pass, ask: Ask, emit: Emit, t: int, correction: Correction
) -> State | None:
    """Runs the faulty stage again, and returns the state up to its new output.

    Returns None if a new pass would only repeat the previous one: no other view is better; or the stage repeats its
    output, every agent has temperature 0, and later stages see neither drafts nor their previous outputs.
    """
    stage = system.get_stage(correction.stage)
    if system.rerun == "view":
        corrected = rerun_in_views(system, auditor, stage, faulty, ask, emit, t)
    else:
        before = faulty.state.before(stage.gives)
        corrected = before.with_output(stage.gives, ask(stage, before, t, correction))
    if corrected is None:
        return None
    _, output = corrected.outputs[-1]
    emit(events.Produced.from_output(faulty.state.scene.id, t, stage.name, stage.gives, output))
    same = output == correction.previous and not (correction.drafts or correction.retained)
    return None if system.greedy and same else corrected


def is_final(error: SampleError) -> bool:
    """Returns True if a retry cannot help: the completion is invalid, or the server refuses the prompt."""
    return isinstance(error, CompletionError) or error.failure in REFUSED_PROMPT
