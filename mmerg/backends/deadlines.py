"""The deadlines of one call to a server."""

import time
from dataclasses import dataclass

import httpcore


@dataclass(frozen=True)
class Deadlines:
    """The deadlines of a call in seconds."""

    connect: float = 5.0
    first_token: float = 600.0  # to the first line, with the server's queue and the evaluation of the prompt
    stall: float = 120.0  # between two lines
    total: float = 1200.0


class Timer:
    """The time of a call that starts now, against its deadlines. A `brief` call must end within the stall deadline."""

    def __init__(self, deadlines: Deadlines, brief: bool) -> None:
        self._deadlines = deadlines
        first, self._total = ("stall", "stall") if brief else ("first_token", "total")
        self._end = self._until = time.monotonic() + float(getattr(deadlines, self._total))
        self.enter(first)

    def enter(self, phase: str, seconds: float | None = None) -> None:
        """Starts the deadline `phase`, which lasts `seconds` if given."""
        seconds = getattr(self._deadlines, phase) if seconds is None else seconds
        self._until = min(time.monotonic() + seconds, self._end)
        self.phase = self._total if self._until == self._end else phase

    def remaining(self) -> float:
        """Returns the seconds until the next deadline. Raises ReadTimeout if it has passed."""
        seconds = self._until - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout
        return seconds
