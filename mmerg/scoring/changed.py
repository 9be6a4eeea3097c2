"""Which samples a comparison is made of: those on which B is better than A by a figure, and those on which it is worse.

changes(Accuracy(), pair([read_run(a)], [read_run(b)]), ("A", "B"))
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mmerg.scoring.metric import Metric
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
    counted = np.all([metric.counted(side).reshape(pairing.seeds, -1) for side in (pairing.a, pairing.b)], axis=(0, 1))
    value, n = metric.ready((*pairing.a, *pairing.b)), pairing.samples
    each = np.array([value(np.array([place])) for place in range(len(pairing.a) * 2)]).reshape(2, pairing.seeds, n)
    a, b = each.mean(axis=1)
    gaps = np.where(counted & np.isfinite(a - b), b - a, 0.0)
    for place in np.argsort(-np.abs(gaps), kind="stable"):
        if not gaps[place]:
            return
        one, other = pairing.a[place].result, pairing.b[place].result
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
