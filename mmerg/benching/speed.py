"""How fast a run was, from its results: of calls and samples that the reply cache served, nothing is said.

Results keep what calls took when they were made, so a run that is finished already has its figures, too.

    speed_of(read_results(Path("runs/demo-merg-…")).values()).reply_tokens_s
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np

from mmerg.benching.rows import Seconds, Speed
from mmerg.runs.result import Result


@dataclass(frozen=True)
class Figure:
    """A figure of a speed. head: what a table has above it; seconds: whether it is over samples, not over calls."""

    head: str
    of: Callable[[Speed], float | None]
    seconds: bool = False


# By the names that means go by.
FIGURES = {
    "seconds_median": Figure(
        "s/sample\nmedian", lambda speed: speed.seconds.median if speed.seconds else None, seconds=True
    ),
    "seconds_p95": Figure("s/sample\np95", lambda speed: speed.seconds.p95 if speed.seconds else None, seconds=True),
    "prompt_tokens_s": Figure("prompt\ntok/s", lambda speed: speed.prompt_tokens_s),
    "reply_tokens_s": Figure("reply\ntok/s", lambda speed: speed.reply_tokens_s),
}


def speed_of(results: Collection[Result]) -> Speed:
    """The figures of a run."""
    fresh = [result.timing for result in results]
    if not (calls := sum(timing.calls for timing in fresh)):
        cached = any(result.calls for result in results)
        return Speed(calls=0, why="every call came from the reply cache" if cached else "no call was answered")
    seconds = seconds_of(results)
    helped = sum(result.status == "ok" and result.cached_calls > 0 for result in results)
    why = f"{helped} samples came out well, all with replies from the cache" if helped else "no sample came out well"
    prompted = sum(timing.prompt_seconds for timing in fresh)
    # A median, as the first call of a run may wait for the model to be loaded.
    rates = [rate for timing in fresh for rate in timing.reply_rates]
    return Speed(
        calls=calls,
        prompt_tokens_s=sum(timing.prompt_tokens for timing in fresh) / prompted if prompted > 0 else None,
        reply_tokens_s=float(np.median(rates)) if rates else None,
        seconds=seconds,
        helped=helped,
        why="" if seconds else f"no s/sample: {why}",
    )


def seconds_of(results: Iterable[Result]) -> Seconds | None:
    """Over the samples that came out well and made all their calls; None where there is none."""
    took = [result.seconds for result in results if result.status == "ok" and not result.cached_calls]
    if not took:
        return None
    p25, median, p75, p95 = (round(float(part), 3) for part in np.quantile(took, [0.25, 0.5, 0.75, 0.95]))
    return Seconds(n=len(took), median=median, p25=p25, p75=p75, p95=p95)
