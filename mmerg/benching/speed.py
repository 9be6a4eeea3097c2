"""How fast a run was, from its trace and results: of calls and samples that the reply cache served, nothing is said.

A trace keeps what every call took when it was made, so a run that is finished already has its figures, too.

    speed_of(Path("runs/demo-merg-…")).reply_tokens_s
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mmerg.backends.protocol import Reply
from mmerg.benching.rows import Seconds, Speed
from mmerg.runs.events import Called
from mmerg.runs.folder import TRACE, read_results
from mmerg.runs.result import Result
from mmerg.runs.tries import Tries


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


def speed_of(run: Path) -> Speed:
    """The figures of a run folder. Raises RunError where it cannot be read."""
    results = read_results(run)
    replies: list[Reply] = []
    calls = 0
    with Tries(run / TRACE, ("called",)) as tries:
        for sample in results:
            for event in tries.of(sample):
                if isinstance(event, Called):
                    calls += 1
                    if not event.reply.cached:
                        replies.append(event.reply.model_copy(update={"text": "", "thinking": "", "logprobs": ()}))
    if not replies:
        return Speed(calls=0, why="every call came from the reply cache" if calls else "no call was answered")
    whole = results.part()
    seconds = seconds_of(whole)
    helped = sum(result.status == "ok" and result.cached_calls > 0 for result in whole)
    why = f"{helped} samples came out well, all with replies from the cache" if helped else "no sample came out well"
    return Speed(
        calls=len(replies),
        prompt_tokens_s=_prompt_rate(replies),
        reply_tokens_s=_reply_rate(replies),
        seconds=seconds,
        helped=helped,
        why="" if seconds else f"no s/sample: {why}",
    )


def seconds_of(results: Sequence[Result]) -> Seconds | None:
    """Over the samples that came out well and made all their calls; None where there is none."""
    took = [result.seconds for result in results if result.status == "ok" and not result.cached_calls]
    if not took:
        return None
    p25, median, p75, p95 = (round(float(part), 3) for part in np.quantile(took, [0.25, 0.5, 0.75, 0.95]))
    return Seconds(n=len(took), median=median, p25=p25, p75=p75, p95=p95)


def _prompt_rate(replies: Sequence[Reply]) -> float | None:
    took = sum(reply.prompt_seconds for reply in replies)
    tokens = sum(reply.prompt_tokens - (reply.reused_tokens or 0) for reply in replies)
    return tokens / took if took > 0 else None


def _reply_rate(replies: Sequence[Reply]) -> float | None:
    """A median, as the first call of a run may wait for the model to be loaded."""
    rates = [
        reply.response_tokens / rest
        for reply in replies
        if reply.response_tokens and (rest := reply.seconds - reply.prompt_seconds) > 0
    ]
    return float(np.median(rates)) if rates else None
