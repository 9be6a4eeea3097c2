"""Reruns of a faulty stage in other views of the scene, without its previous output, which models copy.

The views (`system.rerun_views`) are:
    labels: the emotions in another order
    last_turns: only the last turns
    without_before: without the output of the previous stage
    seed: another seed, for stages with a temperature above 0
Views that would change nothing are skipped. At temperature 0 only `labels` is used more than once.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import cycle, islice

from mmerg.engine.labels import shuffle_labels
from mmerg.engine.loops.loop import Ask
from mmerg.engine.state import Candidate, Pass, State
from mmerg.errors import CompletionError
from mmerg.runs import events
from mmerg.runs.events import Became, Emit
from mmerg.systems.audit import make_audit_class, to_audit
from mmerg.systems.schema import find_vocabularies
from mmerg.systems.system import Stage, System

TURNS = 2  # the turns that the view last_turns shows


def make_views(system: System, stage: Stage, state: State) -> Iterator[tuple[str, Stage, State]]:
    """Yields at most `system.max_views` views of a stage: the name of the view, and the changed stage and state."""
    previous = [symbol for symbol, _ in state.outputs if symbol in stage.sees][-1:]
    chooses_emotion = stage.output is not None and "emotion" in find_vocabularies(stage.output)
    has_effect = {
        "labels": chooses_emotion and len(state.scene.labels) > 1,
        "last_turns": "D" in stage.sees and len(state.scene.history) > TURNS,
        "without_before": bool(previous) and len(stage.sees) > 1,
        "seed": not system.greedy,
    }
    if system.rerun_temperature is not None:
        stage = replace(stage, sampling={**stage.sampling, "temperature": system.rerun_temperature})
    names = [name for name in system.rerun_views if has_effect[name]]
    for number, name in enumerate(islice(cycle(names), system.max_views), start=1):
        if system.greedy and number > len(names) and name != "labels":
            continue
        if name == "labels":
            yield name, stage, replace(state, labels=shuffle_labels(state.scene.labels, state.scene.id, number))
        elif name == "last_turns":
            yield name, stage, replace(state, turns=TURNS)
        elif name == "without_before":
            yield name, replace(stage, sees=tuple(symbol for symbol in stage.sees if symbol not in previous)), state
        else:
            yield name, stage, state


def rerun_in_views(
    system: System, auditor: Stage, stage: Stage, faulty: Pass, ask: Ask, emit: Emit, t: int
) -> State | None:
    """Looks for a better output of the stage that failed in the pass `faulty`.

    Returns the state with the first output that passes the stage's check. If the check has scores, returns the state
    with the best output of all views, provided that it scores higher than the pass. Returns None if no output is
    better. Raises SampleError if a call fails.
    """
    check = replace(auditor, audits=(stage.name,), output=make_audit_class((stage.name,)))
    before, outputs = faulty.state.before(stage.gives), [faulty.state.get(stage.gives)]
    assert faulty.audit
    best_score, best_state = faulty.audit.findings[stage.name].score, None
    for number, (view, changed_stage, changed_state) in enumerate(make_views(system, stage, before), start=1):
        became: Became = "unusable"
        score: float | None = None
        with suppress(CompletionError):  # an invalid output or check
            output = ask(changed_stage, changed_state, t, candidate=Candidate(number))
            became = "as before"
            if output not in outputs:
                outputs.append(output)
                became = "failed"
                audit = ask(check, before.with_output(stage.gives, output), t, candidate=Candidate(number))
                assert not isinstance(audit, str)
                verdict = to_audit(audit).findings[stage.name]
                became, score = "passed" if verdict.passed else "failed", verdict.score
                better = verdict.passed if score is None or best_score is None else score > best_score
                if better:
                    best_score, best_state = score, before.with_output(stage.gives, output)
        emit(events.Viewed(sample=before.scene.id, t=t, stage=stage.name, view=view, became=became, score=score))
        if best_state and best_score is None:
            break
    return best_state
