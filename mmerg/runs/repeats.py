"""Passes that changed nothing: the agent at fault, told why and what to correct, answered word for word as before.

MERG's loop goes on then (arXiv 2604.18988, section 3, knows no other end than a passed audit or the last pass), and at
temperature 0 all that follows comes from the reply cache, word for word. Prints nothing.

    repeats(read_events(run, "test_dia0/3"))    # {2: "mpa"}: pass 2 is pass 1 again, mpa answered as before
    describe_repeats(1, 2)                      # 1 of 2 passes after the first repeat the one before: …
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mmerg.runs import events


def repeats(found: Iterable[events.Event]) -> dict[int, str]:
    """Of the events of one try, the audited passes in which every agent that ran again gave what it had given before,
    and the agent that each of them began from."""
    said: dict[str, Any] = {}  # by symbol, what the agents gave last
    repeated: dict[int, str] = {}
    again: events.Rerun | None = None
    for event in found:
        match event:
            case events.Rerun():
                again = event
            case events.Produced():
                if again and (event.symbol not in said or said[event.symbol] != event.output):
                    again = None
                said[event.symbol] = event.output
            case events.Audited():
                if again:
                    repeated[event.t] = again.stage
                again = None
    return repeated


def describe_repeats(count: int, later: int) -> str:
    """That so many of the `later` passes behind the first ones changed nothing, in words; "" where none did."""
    if not count:
        return ""
    return f"{count} of {later} passes after the first repeat the one before: the agent at fault answered as before"
