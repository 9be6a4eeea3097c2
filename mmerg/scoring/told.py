"""What a run's trace adds to its results: the history that was shown, and the response's log-probabilities.

Of each sample the last finished try counts. Lines that are not needed are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmerg.runs.events import Called, SampleStarted
from mmerg.runs.result import Result
from mmerg.runs.tries import Tries
from mmerg.scoring.tokens import of_response

ROUNDING = 1e-4  # what a server's single precision may put on top of 0, the logarithm of certainty


@dataclass(frozen=True, slots=True)
class Told:
    """history: (speaker, text) of the turns shown, responder: who replies. logprobs: None where the trace holds none of
    the response, or `improper` ones: a number that is no logarithm of a probability."""

    history: tuple[tuple[str, str], ...] = ()
    logprobs: tuple[float, ...] | None = None
    responder: str = ""
    improper: bool = False


def told(trace: Path, results: Mapping[str, Result], stage: str, field: str = "") -> dict[str, Told]:
    """What `trace` tells of the last finished try of each sample in `results`, by id. `stage` gives the response, as
    its text or in a `field` of it.

    The response of the selected pass is that of the last call of `stage` up to this pass: a pass that was run again
    from a later stage keeps it, and of several attempts the last was accepted. Raises RunError where there are results
    and no trace, or a line that is needed, other than a torn last one, cannot be read.
    """
    if not results:
        return {}
    with Tries(trace, {"sample_started", "called"}) as tries:
        return {sample: _told(tries, result, stage, field) for sample, result in results.items() if sample in tries}


def _told(tries: Tries, result: Result, stage: str, field: str) -> Told:
    heads = tries.heads(result.id)
    started = next((tries.event(head) for head in heads if head.kind == "sample_started"), None)
    last = result.selected_pass
    calls = [head for head in heads if head.kind == "called" and head.stage == stage and _up_to(head.t, last)]
    called = tries.event(calls[-1]) if calls else None
    reply = called.reply if isinstance(called, Called) else None
    own = of_response(reply.logprobs, reply.text, result.response or "", field) if reply else None
    improper = own is not None and not all(logprob <= ROUNDING for logprob in own)  # so is NaN
    kept = None if improper else own
    if not isinstance(started, SampleStarted):
        return Told(logprobs=kept, improper=improper)
    return Told(started.history, kept, started.responder, improper)


def _up_to(t: int | None, last: int | None) -> bool:
    return t is not None and last is not None and t <= last
