"""Which samples a comparison is made of: those on which B is better than A by a figure, and those on which it is worse;
and how often two runs forecast another emotion, which shows whether a setting does anything at all, such as the frames
that a model is shown.

pairing = pair([read_run(a)], [read_run(b)])
changes(accuracy(), pairing, ("A", "B"))
moved(pairing)    # Moved(samples=31, differ=12, interval=(23.7, 56.2))
"""

from collections.abc import Iterator

import numpy as np

from mmerg.scoring.answers import dialogue
from mmerg.scoring.intervals import each, interval
from mmerg.scoring.metric import Metric, Ratio
from mmerg.scoring.paired import Pairing
from mmerg.storage.record import Record


class Change(Record):
    """A sample on which two sides differ by a figure. Values are means over seeds, replies and emotions those of the
    first seed; gold: the label of the data."""

    metric: str
    a: str
    b: str
    sample: str
    better: bool
    a_value: float
    b_value: float
    a_reply: str | None
    b_reply: str | None
    a_emotion: str | None
    b_emotion: str | None
    gold: str | None


def changes(metric: Metric, pairing: Pairing, names: tuple[str, str]) -> Iterator[Change]:
    """The samples that both sides have a figure for, the largest differences first. None for what no sample has by
    itself, such as distinct n-grams."""
    if metric.interval_by == "jackknife":
        return
    kept = pairing.counted(metric)
    values = each(metric.ready((*kept.a, *kept.b)), 2 * len(kept.a)).reshape(2, kept.seeds, kept.samples)
    a, b = values.mean(axis=1)
    gaps = np.where(np.isfinite(a - b), b - a, 0.0)
    for place in np.argsort(-np.abs(gaps), kind="stable"):
        if not gaps[place]:
            return
        one, other = kept.a[place], kept.b[place]
        yield Change(
            metric=metric.name,
            a=names[0],
            b=names[1],
            sample=one.id,
            better=bool(gaps[place] > 0) == (metric.higher_is_better is not False),
            a_value=float(a[place]),
            b_value=float(b[place]),
            a_reply=one.response,
            b_reply=other.response,
            a_emotion=one.emotion,
            b_emotion=other.emotion,
            gold=one.gold_emotion,
        )


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
    both = [
        (a, b) for a, b in zip(pairing.a, pairing.b, strict=True) if a.emotion is not None and b.emotion is not None
    ]
    differ = np.array([100.0 * (a.emotion != b.emotion) for a, b in both])
    value, names = Ratio(differ, np.ones(len(both))), [dialogue(a) for a, _ in both]
    found = interval("wilson", value, names, resamples=1, seed=0) if both else None
    return Moved(samples=len(both), differ=int(np.count_nonzero(differ)), interval=found.ends if found else None)
