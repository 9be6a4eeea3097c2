"""Passes that say again what the pass before said: the agent that was to mend its output answered as before.

MERG's loop goes on then (arXiv 2604.18988, section 3, knows no other end than a passed audit or the last pass), and at
temperature 0 all that follows comes from the reply cache, word for word. Reads events only, prints nothing.

    repeats(story(run / TRACE, "test_dia0/3"))      # {2: "mpa"}: pass 2 is pass 1 again, mpa answered as before
    told_repeats(run / TRACE, results)              # 1 of 2 passes after the first repeat the one before: …
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mmerg.runs import events
from mmerg.runs.result import Result
from mmerg.runs.trace import ENDS, parsed, read_heads

KINDS = frozenset({"produced", "rerun", "audited"})


def repeats(told: Iterable[events.Event]) -> dict[int, str]:
    """Of the events of one try, the audited passes in which every agent that ran again gave what it had given before,
    and the agent that each of them began from."""
    said: dict[str, Any] = {}  # by symbol, what the agents gave last
    found: dict[int, str] = {}
    again: events.Rerun | None = None
    for event in told:
        match event:
            case events.Rerun():
                again = event
            case events.Produced():
                if again and (event.symbol not in said or said[event.symbol] != event.output):
                    again = None
                said[event.symbol] = event.output
            case events.Audited():
                if again:
                    found[event.t] = again.stage
                again = None
    return found


def told_repeats(trace: Path, results: Iterable[Result]) -> str:
    """How many refinements of `results` changed nothing, in words; "" where none did. Goes through the trace once and
    keeps what it holds of samples in flight alone. Raises RunError where the trace cannot be read."""
    passes = {result.id: result.passes for result in results if result.passes > 1}
    if not passes:
        return ""
    running: dict[str, list[events.Event]] = {}
    found: dict[str, int] = {}
    for head, line in read_heads(trace):
        if head.sample in passes and head.kind == "sample_started":
            running[head.sample] = []
        elif head.sample in running and head.kind in KINDS:
            running[head.sample].append(parsed(line, head.number, trace))
        elif head.sample in running and head.kind in ENDS:
            found[head.sample] = len(repeats(running.pop(head.sample)))
    if not (count := sum(found.values())):
        return ""
    later = sum(passes.values()) - len(passes)
    return f"{count} of {later} passes after the first repeat the one before: the agent at fault answered as before"
