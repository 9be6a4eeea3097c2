"""Self-Refine (Madaan et al., 2023, arXiv 2303.17651, algorithm 1): draft, feedback, refinement, until it is good.

The auditor's output is free feedback on the whole pass: a text, or a class of the user's. Its field `stop` ends the
loop where it is true, otherwise `max_iterations` does. Its field `score`, a whole number, picks the draft (an earlier
one wins a tie); without it the last draft is the response. The stage that writes the response is asked again with every
draft and all feedback so far; stages before it keep their output.

    loop: refine
    auditor: {name: critic, sees: [D, R], output: my_feedback.Feedback, stop: good_enough, score: points}
"""

from __future__ import annotations

from dataclasses import replace

from mmerg.engine.loops.loop import Ask, Outcome, audited_passes, single
from mmerg.engine.state import Correction, Draft, Output, Pass, State
from mmerg.runs import events
from mmerg.runs.events import Emit
from mmerg.systems.system import System


def refine(system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
    """See `audited_passes` for its errors."""
    critic = system.auditor
    if critic is None:
        return single(system, state, ask, emit)
    symbol = system.result.get("response", system.stages[-1].gives).split(".")[0]
    [writer] = [stage for stage in system.stages if stage.gives == symbol]

    def read(reply: Output, this: Pass) -> tuple[Pass, Correction | str]:
        emit(events.Produced.of(state.scene.id, this.t, critic.name, critic.gives, reply))
        looked_at = replace(this, score=int(getattr(reply, system.score)) if system.score else 0)
        if system.stop and getattr(reply, system.stop):
            return looked_at, "good enough"
        draft = this.state.get(writer.gives)
        assert draft is not None
        drafts = (*(this.correction.drafts if this.correction else ()), Draft(draft, reply))
        feedback = reply if isinstance(reply, str) else reply.model_dump_json()
        return looked_at, Correction(writer.name, draft, "", feedback, drafts)

    return audited_passes(system, critic, state, ask, emit, read, system.final_selection if system.score else "last")
