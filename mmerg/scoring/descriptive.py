"""Metrics that describe a run without judging it: lengths, passes, cost.

[metric.name for metric in descriptive_metrics(words, "tok:whitespace|case:keep")]
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter
from statistics import median

import numpy as np

from mmerg.runs.copying import SOURCES
from mmerg.runs.result import Result
from mmerg.scoring.metric import Floats, Indices, Mask, Metric, Value, ok, pooled_share, rate
from mmerg.scoring.tokenizers import Tokenize


def descriptive_metrics(words: Tokenize, words_signature: str, imported: bool = False) -> list[Metric]:
    """The metrics that docs/metrics.md lists under Reply, Loop and Cost. `selected` is the "Avg." of MERG's table on
    iterations. imported: another system wrote the replies, so that only their length is known."""
    length = f"mean|{words_signature}|failed:left-out"
    of_reply = rate("length", length, "a reply", lambda result: len(words(result.response or "")), ok)
    if not imported:
        return [of_reply, *_MADE_HERE]
    unknown, none = "passes and calls: another system wrote the replies", lambda _: 0.0
    return [of_reply, *(rate(metric.name, "made-elsewhere", unknown, none, none) for metric in _MADE_HERE)]


def _later_passes(result: Result) -> float:
    return max(0.0, result.passes - 1.0)


def _count_excluded(result: Result) -> float:
    return float(sum(result.excluded.values()))


def _fresh(results: Sequence[Result]) -> Mask:
    return np.array([result.ok and not result.cached_calls for result in results], bool)


def _timed(results: Sequence[Result]) -> Mask:
    return np.array([bool(result.timing.reply_rates) for result in results], bool)


def _over(take: Callable[[Floats], float], number: Callable[[Result], float], results: Sequence[Result]) -> Value:
    """`take` of a number of each result. Not the mean, as one hanging host can outweigh a hundred samples."""
    numbers = np.array([number(result) for result in results], float)

    def value(indices: Indices) -> float:
        return float(take(numbers[indices])) if len(indices) else float("nan")

    return value


def _forecast(name: str, change: str, *, before: bool) -> Metric:
    """The share of later passes that correct a wrong forecast, or with `before` spoil a right one, ×100."""

    def changed(result: Result) -> float:
        right = [label == result.gold_emotion for label in result.forecasts]
        return 100.0 * sum(then == before != now for then, now in pairwise(right))

    signature = f"{change}/passes-after-the-first|failed:left-out|scale:100"
    needs = "a second pass and a label in the data"
    return rate(name, signature, needs, changed, lambda result: _later_passes(result) * bool(result.gold_emotion))


_p95 = partial(np.quantile, q=0.95, method="inverted_cdf")
_seconds = attrgetter("seconds")
_share = partial(rate, interval_by="wilson")
_cost = partial(rate, interval_by=None)
_FRESH = "a reply without cached calls"
_UNCACHED = "cached:left-out|failed:left-out"
_TIMED = "an uncached call that the server timed"
_MADE_HERE = (
    _cost("passes", "mean|failed:left-out", "a reply", attrgetter("passes"), ok),
    _cost("selected", "mean|from:0|failed:left-out", "a reply", lambda result: result.selected_pass or 0, ok),
    _share("rerun", "passes>1|failed:left-out|scale:100", "a reply", lambda result: 100.0 * (result.passes > 1), ok),
    pooled_share(
        "idle",
        "repeated/passes-after-the-first|failed:left-out|scale:100",
        "a second pass",
        attrgetter("repeated_passes"),
        _later_passes,
    ),
    _forecast("mended", "wrong-to-right", before=False),
    _forecast("spoiled", "right-to-wrong", before=True),
    rate(
        "handed_on",
        "copied/runs-of-4-words|pass:0|failed:left-out|scale:100",
        "a stage with four words or more after another stage",
        lambda result: 100.0 * sum(copied for copied, _ in result.handed_on.values()),
        lambda result: result.ok * float(sum(total for _, total in result.handed_on.values())),
    ),
    *(
        pooled_share(
            "copied" if source == "any" else f"copied_{source}",
            f"4-grams|of:{source}|case:fold|failed:left-out|scale:100",
            "a reply of 4 words or more",
            lambda result, source=source: float(result.copied.get(source, 0)),  # type: ignore[misc]
            lambda result: result.ok * float(result.copied.get("all", 0)),
        )
        for source in ("any", *SOURCES)
    ),
    _share("cleaned", "any-reply|failed:in|scale:100", "a result", lambda result: 100.0 * bool(result.cleaned)),
    *(
        _cost(name, "mean|failed:in", "a result", attrgetter(name))
        for name in ("calls", "prompt_tokens", "response_tokens")
    ),
    # Cached replies take no time. Samples in flight together slow each other down.
    Metric("seconds", f"median|{_UNCACHED}", _FRESH, _fresh, partial(_over, np.median, _seconds), None),
    Metric("seconds_p95", f"q95|{_UNCACHED}", _FRESH, _fresh, partial(_over, _p95, _seconds), None),
    # Medians, as the first call of a run may wait for the model to load.
    Metric(
        "reply_tok_s",
        "median-of-medians|cached:left-out",
        _TIMED,
        _timed,
        partial(_over, np.median, lambda result: median(result.timing.reply_rates)),
        None,
    ),
    _cost(
        "prompt_tok_s",
        "tokens/seconds|cached:left-out",
        _TIMED,
        lambda result: float(result.timing.prompt_tokens),
        lambda result: result.timing.prompt_seconds,
    ),
    pooled_share(
        "excluded",
        "kept-back/found|failed:in|scale:100",
        "retrieved exemplars",
        _count_excluded,
        lambda result: _count_excluded(result) + result.exemplars,
    ),
)
