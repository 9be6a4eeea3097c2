"""The worth of a run's audit loop: how many more forecasts it gets right, by the gold labels alone.

A share π of first passes has a wrong forecast. An audit fails a share s of these, and passes a share p of the right
ones. Another pass corrects a share q of wrong forecasts, and spoils a share h of right ones. With one rerun the loop
gains about π·s·q·p − (1−π)·(1−p)·h·(1−s): what it corrects and passes, minus what it spoils and passes.
"""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from mmerg.auditing.metrics import measure_share
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.runs.trace import SampleTrace
from mmerg.storage.record import Record
from mmerg.systems.audit import Check, Measure

PARTS = {"wrong forecasts": "π", "sensitivity": "s", "specificity": "p", "mended": "q", "spoiled": "h"}


class Worth(Record):
    """The worth of a run's audit loop."""

    shares: dict[str, Measure]  # those of `PARTS` for which the run has passes
    observed: float  # of a hundred forecasts, from the first to the selected pass: became right, minus became wrong
    tokens: float  # of audits and reruns, per sample

    def describe(self, check: Check | None = None) -> str:
        """Describes the worth on one line. check: a check of the forecast that replaces the run's audits; its tokens
        are unknown."""
        shares = dict(self.shares)
        if check and check.specificity and "wrong" in check.sensitivity:
            shares |= {"sensitivity": check.sensitivity["wrong"], "specificity": check.specificity}
        values = {name: f"{shares[name].value:.2f} (n={shares[name].n})" for name in PARTS if name in shares}
        parts = ", ".join(f"{name} {values.get(name, 'unknown')}" for name in PARTS)
        if len(values) < len(PARTS) or not self.tokens:
            return f"worth of the loop: unknown; {parts}"
        wrong, s, p, q, h = (shares[name].value for name in PARTS)
        gained = 100 * (wrong * s * q * p - (1 - wrong) * (1 - p) * h * (1 - s))
        rate = f", observed {self.observed:+.2f}, {gained * 10 / self.tokens:+.4f} per thousand tokens"
        return f"worth of the loop: {gained:+.2f} forecasts of a hundred{'' if check else rate}; {parts}"


def measure_worth(run: Path, results: Iterable[Result], path: str) -> Worth:
    """Measures the worth on samples with a gold label. path: that of the forecast in outputs, such as "e.emotion"."""
    symbol = path.partition(".")[0]
    cases: dict[str, list[tuple[bool, str]]] = {name: [] for name in PARTS}
    changes, tokens = list[float](), list[int]()
    for result in results:
        if not (result.ok and result.gold_emotion):
            continue
        trace, dialogue = SampleTrace(read_events(run, result.id)), result.dialogue or result.id
        first = trace.passes.get(0)
        if not first or symbol not in first.outputs:
            continue
        forecasts = result.forecasts or (first.at(path),)  # an idle rerun has the forecast of the pass before
        right = [forecast == result.gold_emotion for forecast in forecasts]
        cases["wrong forecasts"].append((not right[0], dialogue))
        if audited := first.audited:
            name = "specificity" if right[0] else "sensitivity"
            cases[name].append(((audited.fault is None) is right[0], dialogue))
        for before, after in pairwise(right):
            cases["spoiled" if before else "mended"].append((after is not before, dialogue))
        changes.append(100.0 * ((result.emotion == result.gold_emotion) - right[0]))
        tokens.append(_count_loop_tokens(trace))
    measures = {name: measure_share(pairs) for name, pairs in cases.items()}
    shares = {name: measure for name, measure in measures.items() if measure}
    return Worth(shares=shares, observed=fmean(changes or [0.0]), tokens=fmean(tokens or [0]))


def _count_loop_tokens(trace: SampleTrace) -> int:
    """Counts the tokens of all calls except those of the first pass's stages."""
    stages = {output.stage for pass_ in trace.passes.values() for output in pass_.outputs.values()}
    completions = [call.event.completion for call in trace.calls if call.event.t or call.event.stage not in stages]
    return sum(completion.prompt_tokens + completion.response_tokens for completion in completions)
