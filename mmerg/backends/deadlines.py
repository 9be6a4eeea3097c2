"""The deadlines of one call to a server."""

import time
from dataclasses import dataclass

import httpcore


@dataclass(frozen=True)
class Deadlines:
    """Limits in seconds: to connect; from the request to the first line of the response, including the server's queue
    and the evaluation of the prompt; between two lines; and for the whole call."""

    connect: float = 5.0
    first_token: float = 600.0
    stall: float = 120.0
    total: float = 1200.0


class Timer:
    """Applies the deadlines to a call that starts now. A `brief` call must end within the stall deadline."""

    def __init__(self, deadlines: Deadlines, brief: bool) -> None:
        self._deadlines = deadlines
        first, self._total = ("stall", "stall") if brief else ("first_token", "total")
        self._end = self._until = time.monotonic() + float(getattr(deadlines, self._total))
        self.enter(first)

    def enter(self, phase: str, seconds: float | None = None) -> None:
        """Starts the deadline `phase`, with `seconds` in place of its usual length."""
        seconds = getattr(self._deadlines, phase) if seconds is None else seconds
        self._until = min(time.monotonic() + seconds, self._end)
        self.phase = self._total if self._until == self._end else phase

    def left(self) -> float:
        """Seconds until the next deadline. Raises ReadTimeout if it has passed."""
        if (left := self._until - time.monotonic()) <= 0:
            raise httpcore.ReadTimeout
        return left
