"""What the audit loop of a run is worth, in forecasts, as gold labels alone tell right from wrong.

Of the first passes a share π has a wrong forecast. An audit fails a share s of these, and passes a share p of the
right ones. A pass that is run again mends a share q of wrong forecasts, and spoils a share h of right ones. With one
rerun the loop gains about π·s·q·p − (1−π)·(1−p)·h·(1−s): what it mends and then passes, less what it spoils and then
passes.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np

from mmerg.auditing.figures import Outputs, share
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.runs.story import Pass, Story
from mmerg.storage.record import Record
from mmerg.systems.audit import Measure


class Worth(Record):
    """faulty (π), sensitivity (s), specificity (p), mended (q), spoiled (h): None where the run has no such pass.
    gained: forecasts of a hundred that the formula gives; observed: those that became right less those that became
    wrong, from the first pass to the selected one. tokens: that audits and reruns take, a sample."""

    n: int
    faulty: Measure | None
    sensitivity: Measure | None
    specificity: Measure | None
    mended: Measure | None
    spoiled: Measure | None
    observed: float | None
    tokens: float

    def gained(self, sensitivity: Measure | None = None, specificity: Measure | None = None) -> float | None:
        """Forecasts of a hundred, with another check's sensitivity and specificity in place of the run's own. None
        where something is unknown."""
        s, p = sensitivity or self.sensitivity, specificity or self.specificity
        if not (self.faulty and s and p and self.mended and self.spoiled):
            return None
        faulty, q, h = self.faulty.value, self.mended.value, self.spoiled.value
        return 100 * (faulty * s.value * q * p.value - (1 - faulty) * (1 - p.value) * h * (1 - s.value))

    def per_thousand_tokens(self, gained: float | None) -> float | None:
        """Forecasts gained for a thousand tokens of audits and reruns."""
        return None if gained is None or not self.tokens else gained / 100 / (self.tokens / 1000)

    def describe(self) -> str:
        """A line of what is known."""
        known = {
            "wrong forecasts": self.faulty,
            "sensitivity": self.sensitivity,
            "specificity": self.specificity,
            "mended": self.mended,
            "spoiled": self.spoiled,
        }
        parts = [f"{name} {f'{one.value:.2f} (n={one.n})' if one else 'unknown'}" for name, one in known.items()]
        gained = self.gained()
        if gained is None:
            return f"worth of the loop: unknown; {', '.join(parts)}"
        rate = self.per_thousand_tokens(gained)
        worth = f"{gained:+.2f} forecasts of a hundred, {rate:+.4f} per thousand tokens" if rate is not None else "0"
        return f"worth of the loop: {worth} (observed {self.observed:+.2f}); {', '.join(parts)}"


def worth_of(run: Path, results: Iterable[Result], place: str) -> Worth:
    """place: where the forecast stands in a system's outputs, "e.emotion". Samples without a gold label do not
    count."""
    symbol, _, field = place.partition(".")
    found: dict[str, list[tuple[bool, str]]] = {name: [] for name in ("faulty", "s", "p", "q", "h")}
    changes, tokens = list[float](), list[int]()
    for result in results:
        if not (result.ok and result.gold_emotion and symbol):
            continue
        story, dialogue = Story(read_events(run, result.id)), result.dialogue or result.id
        passes = [this for this in story.passes.values() if symbol in this.outputs]
        right = [_label(this, symbol, field) == result.gold_emotion for this in passes]
        if not passes:
            continue
        found["faulty"].append((not right[0], dialogue))
        if audited := passes[0].audited:
            found["p" if right[0] else "s"].append(((audited.fault is None) is right[0], dialogue))
        for before, now in pairwise(right):
            found["h" if before else "q"].append((now is not before, dialogue))
        changes.append(float(result.emotion == result.gold_emotion) - right[0])
        tokens.append(_extra(story))
    shares = {name: _share(pairs) for name, pairs in found.items()}
    return Worth(
        n=len(changes),
        faulty=shares["faulty"],
        sensitivity=shares["s"],
        specificity=shares["p"],
        mended=shares["q"],
        spoiled=shares["h"],
        observed=100 * fmean(changes) if changes else None,
        tokens=fmean(tokens) if tokens else 0.0,
    )


def _label(this: Pass, symbol: str, field: str) -> object:
    output = this.outputs[symbol].output
    return output.get(field) if isinstance(output, Mapping) else output


def _extra(story: Story) -> int:
    """The tokens of all calls but those of the first pass's stages."""
    stages = {output.stage for this in story.passes.values() for output in this.outputs.values()}
    calls = [call.event for call in story.calls]
    extra = [one.reply for one in calls if one.t or one.stage not in stages]
    return sum(reply.prompt_tokens + reply.response_tokens for reply in extra)


def _share(pairs: list[tuple[bool, str]]) -> Measure | None:
    outputs = Outputs(np.array([holds for holds, _ in pairs], float), tuple(dialogue for _, dialogue in pairs))
    return share(lambda holds: holds > 0, outputs)
