"""How often two runs forecast another emotion for the same sample: what shows whether a setting does anything at all,
such as the frames that a model is shown.

    moved(pair([read_run(a)], [read_run(b)])) # Moved(samples=31, differ=12, interval=(23.7, 56.2))
"""

from __future__ import annotations

import numpy as np

from mmerg.scoring.intervals import interval
from mmerg.scoring.metric import ratio
from mmerg.scoring.paired import Pairing
from mmerg.storage.record import Record


class Moved(Record):
    """Of so many samples for which both sides have a forecast, how many differ; the 95 % interval of their share in
    percent (see `intervals`)."""

    samples: int
    differ: int
    interval: tuple[float, float] | None

    def told(self) -> str:
        """One line for people."""
        ends = ", 95 % interval {:.1f} to {:.1f}".format(*self.interval) if self.interval else ""
        share = f" ({100 * self.differ / self.samples:.1f} %{ends})" if self.samples else ""
        return f"forecasts that differ: {self.differ} of {self.samples}{share}"


def moved(pairing: Pairing) -> Moved:
    """The forecasts of both sides, held against each other."""
    both = [(a.result, b.result) for a, b in zip(pairing.a, pairing.b, strict=True)]
    both = [(a, b) for a, b in both if a.emotion is not None and b.emotion is not None]
    differ = np.array([100.0 * (a.emotion != b.emotion) for a, b in both])
    names = [a.dialogue or a.id for a, _ in both]
    found = interval("wilson", ratio(differ, np.ones(len(both))), names, resamples=1, seed=0) if both else None
    return Moved(samples=len(both), differ=int(np.count_nonzero(differ)), interval=found.ends if found else None)
