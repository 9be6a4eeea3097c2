"""The worth of a run's audit loop, in forecasts, which gold labels alone decide.

A share π of first passes has a wrong forecast. An audit fails a share s of these, and passes a share p of the right
ones. Another pass corrects a share q of wrong forecasts, and spoils a share h of right ones. With one rerun the loop
gains about π·s·q·p − (1−π)·(1−p)·h·(1−s): what it corrects and passes, minus what it spoils and passes.
"""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from mmerg.auditing.metrics import share
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.runs.trace import SampleTrace
from mmerg.storage.record import Record
from mmerg.systems.audit import Check, Measure

PARTS = {"wrong forecasts": "π", "sensitivity": "s", "specificity": "p", "mended": "q", "spoiled": "h"}


class Worth(Record):
    """shares: the PARTS for which the run has passes. observed: forecasts of a hundred that became right, minus those
    that became wrong, from the first to the selected pass. tokens: of audits and reruns, per sample."""

    shares: dict[str, Measure]
    observed: float
    tokens: float

    def describe(self, check: Check | None = None) -> str:
        """A one-line summary. check: of the forecast, in place of the run's own audits."""
        shares = dict(self.shares)
        if check and (found := check.sensitivity.get("wrong")) and check.specificity:
            shares |= {"sensitivity": found, "specificity": check.specificity}
        known = {name: f"{shares[name].value:.2f} (n={shares[name].n})" for name in PARTS if name in shares}
        parts = ", ".join(f"{name} {known.get(name, 'unknown')}" for name in PARTS)
        if len(known) < len(PARTS) or not self.tokens:
            return f"worth of the loop: unknown; {parts}"
        wrong, s, p, q, h = (shares[name].value for name in PARTS)
        gained = 100 * (wrong * s * q * p - (1 - wrong) * (1 - p) * h * (1 - s))
        seen = "" if check else f", observed {self.observed:+.2f}"
        rate = f"{gained * 10 / self.tokens:+.4f} per thousand tokens"
        return f"worth of the loop: {gained:+.2f} forecasts of a hundred{seen}, {rate}; {parts}"


def measure_worth(run: Path, results: Iterable[Result], place: str) -> Worth:
    """place: the path of the forecast in a system's outputs, "e.emotion". Samples without a gold label do not count."""
    symbol = place.partition(".")[0]
    found: dict[str, list[tuple[bool, str]]] = {name: [] for name in PARTS}
    changes, tokens = list[float](), list[int]()
    for result in results:
        if not (result.ok and result.gold_emotion):
            continue
        trace, dialogue = SampleTrace(read_events(run, result.id)), result.dialogue or result.id
        passes = [this for this in trace.passes.values() if symbol in this.outputs]
        right = [this.at(place) == result.gold_emotion for this in passes]
        if not passes:
            continue
        found["wrong forecasts"].append((not right[0], dialogue))
        if audited := passes[0].audited:
            name = "specificity" if right[0] else "sensitivity"
            found[name].append(((audited.fault is None) is right[0], dialogue))
        for before, now in pairwise(right):
            found["spoiled" if before else "mended"].append((now is not before, dialogue))
        changes.append(100.0 * ((result.emotion == result.gold_emotion) - right[0]))
        tokens.append(_extra(trace))
    shares = {name: one for name, pairs in found.items() if (one := share(pairs))}
    return Worth(shares=shares, observed=fmean(changes or [0.0]), tokens=fmean(tokens or [0]))


def _extra(trace: SampleTrace) -> int:
    """The tokens of all calls except those of the first pass's stages."""
    stages = {output.stage for this in trace.passes.values() for output in this.outputs.values()}
    extra = [call.event.reply for call in trace.calls if call.event.t or call.event.stage not in stages]
    return sum(reply.prompt_tokens + reply.response_tokens for reply in extra)
