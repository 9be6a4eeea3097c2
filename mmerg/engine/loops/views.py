"""Asks a faulty stage again in other views, without its draft, which models copy.

Views (`system.rerun_views`): labels (emotions in another order), last_turns (only the last turns), without_before
(without the output of the previous stage), seed (another seed, for stages with a temperature). Views that change
nothing are skipped."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import cycle, islice

from mmerg.engine.labels import shuffle_labels
from mmerg.engine.loops.loop import Ask
from mmerg.engine.state import Candidate, Pass, State
from mmerg.errors import ReplyError
from mmerg.runs import events
from mmerg.runs.events import Became, Emit
from mmerg.systems.audit import audit_class, to_audit
from mmerg.systems.schema import find_vocabularies
from mmerg.systems.system import Stage, System

TURNS = 2  # of last_turns


def make_views(system: System, stage: Stage, state: State) -> Iterator[tuple[str, Stage, State]]:
    """`system.max_views` views of a stage in `state`: the name of the view, and the changed stage and state."""
    before = [symbol for symbol, _ in state.outputs if symbol in stage.sees][-1:]
    choosing = stage.output is not None and "emotion" in find_vocabularies(stage.output)
    changing = {
        "labels": choosing and len(state.scene.labels) > 1,
        "last_turns": "D" in stage.sees and len(state.scene.history) > TURNS,
        "without_before": bool(before) and len(stage.sees) > 1,
        "seed": not system.greedy,
    }
    own = {} if system.rerun_temperature is None else {"temperature": system.rerun_temperature}
    stage = replace(stage, sampling={**stage.sampling, **own})
    names = [name for name in system.rerun_views if changing[name]]
    for number, name in enumerate(islice(cycle(names), system.max_views), start=1):
        if name == "labels":
            yield name, stage, replace(state, labels=shuffle_labels(state.scene.labels, state.scene.id, number))
        elif name == "last_turns":
            yield name, stage, replace(state, turns=TURNS)
        elif name == "without_before":
            yield name, replace(stage, sees=tuple(one for one in stage.sees if one not in before)), state
        else:
            yield name, stage, state


def rerun_in_views(
    system: System, auditor: Stage, stage: Stage, this: Pass, ask: Ask, emit: Emit, t: int
) -> State | None:
    """The state with a better output of the stage that failed in the pass `this`: the first that passes its check, or
    if checks have scores, the best of all views, if better than the pass. None if there is none. Raises SampleError if
    a call fails."""
    check = replace(auditor, audits=(stage.name,), output=audit_class((stage.name,)))
    before, tried = this.state.before(stage.gives), [this.state.get(stage.gives)]
    assert this.audit
    best, found = this.audit.findings[stage.name].score, None
    for number, (view, asked, shown) in enumerate(make_views(system, stage, before), start=1):
        became: Became = "unusable"
        score: float | None = None
        with suppress(ReplyError):  # an invalid output or check
            output = ask(asked, shown, t, candidate=Candidate(number))
            became = "as before"
            if output not in tried:
                tried.append(output)
                became = "failed"
                reply = ask(check, before.with_output(stage.gives, output), t, candidate=Candidate(number))
                assert not isinstance(reply, str)
                verdict = to_audit(reply).findings[stage.name]
                became, score = "passed" if verdict.passed else "failed", verdict.score
                better = verdict.passed if score is None or best is None else score > best
                if better:
                    best, found = score, before.with_output(stage.gives, output)
        emit(events.Viewed(sample=before.scene.id, t=t, stage=stage.name, view=view, became=became, score=score))
        if found and best is None:
            break
    return found
