"""Metrics that describe a run without judging it: reply lengths, passes and cost.

[metric.name for metric in descriptive_metrics(load_tokenizer("char"), "tok:char|case:lower")]
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from statistics import median

import numpy as np

from mmerg.runs.copying import SOURCES
from mmerg.runs.result import Result
from mmerg.scoring.metric import Metric, PerResult, Value, ok, rate
from mmerg.scoring.tokenizers import Tokenize


def descriptive_metrics(tokenize: Tokenize, tokenizer_signature: str, imported: bool = False) -> list[Metric]:
    """Makes the metrics that docs/metrics.md lists under Reply, Loop and Cost. `selected` is the "Avg." of MERG's table
    on iterations. imported: another system wrote the replies, so only their length is known."""
    signature = f"mean|{tokenizer_signature}|failed:skipped"
    length = rate("length", signature, "a reply", lambda result: len(tokenize(result.response or "")), ok)
    return [length] if imported else [length, *_RUN_METRICS]


def _count_later_passes(result: Result) -> float:
    return max(0.0, result.passes - 1.0)


def _count_excluded(result: Result) -> float:
    return float(sum(result.excluded.values()))


def _is_fresh(result: Result) -> float:
    return float(result.ok and not result.cached_calls)


def _quantile(name: str, signature: str, needs: str, value: PerResult, weight: PerResult, q: float = 0.5) -> Metric:
    """Makes a quantile of times, by default the median; not the mean, as one hanging host can outweigh a hundred
    samples. A result with weight 0 does not count."""

    def prepare(results: Sequence[Result]) -> Value:
        numbers = np.array(list(map(value, results)), float)
        return lambda indices: float(np.quantile(numbers[indices], q))

    return replace(_cost(name, signature, needs, value, weight), prepare=prepare)


def _forecast_changes(name: str, change: str, *, before: bool) -> Metric:
    """Measures the share of later passes that correct a wrong forecast, or spoil a right one, ×100. before: whether the
    forecast was right before the pass."""

    def count_changes(result: Result) -> float:
        right = [label == result.gold_emotion for label in result.forecasts]
        return float(sum(earlier == before != later for earlier, later in pairwise(right)))

    def count_passes(result: Result) -> float:
        return _count_later_passes(result) if result.gold_emotion else 0.0

    signature = f"{change}/passes-after-the-first|failed:skipped|scale:100"
    needs = "a second pass and a label in the data"
    return _pooled(name, signature, needs, count_changes, count_passes)


_pooled = partial(rate, pooled=True)
_share = partial(rate, interval_by="wilson")
_cost = partial(rate, interval_by=None)
_FRESH = "a reply without cached calls"
_UNCACHED = "cached:skipped|failed:skipped"
_TIMED = "an uncached call that the server timed"
_RUN_METRICS = (  # of runs that are not imported
    _cost("passes", "mean|failed:skipped", "a reply", attrgetter("passes"), ok),
    _cost("selected", "mean|from:0|failed:skipped", "a reply", lambda result: result.selected_pass or 0, ok),
    _share("rerun", "passes>1|failed:skipped|scale:100", "a reply", lambda result: 100.0 * (result.passes > 1), ok),
    _pooled(
        "idle",
        "repeated/passes-after-the-first|failed:skipped|scale:100",
        "a second pass",
        attrgetter("repeated_passes"),
        _count_later_passes,
    ),
    _forecast_changes("mended", "wrong-to-right", before=False),
    _forecast_changes("spoiled", "right-to-wrong", before=True),
    _pooled(
        "handed_on",
        "copied/runs-of-4-words|pass:0|failed:skipped|scale:100",
        "a stage with four words or more after another stage",
        lambda result: float(sum(copied for copied, _ in result.handed_on.values())),
        lambda result: result.ok * float(sum(total for _, total in result.handed_on.values())),
    ),
    *(
        _pooled(
            "copied" if source == "any" else f"copied_{source}",
            f"4-grams|of:{source}|case:fold|failed:skipped|scale:100",
            "a reply of 4 words or more",
            lambda result, source=source: float(result.copied.get(source, 0)),  # type: ignore[misc]
            lambda result: result.ok * float(result.copied.get("all", 0)),
        )
        for source in ("any", *SOURCES)
    ),
    _share("cleaned", "any-completion|failed:in|scale:100", "a result", lambda result: 100.0 * bool(result.cleaned)),
    *(
        _cost(name, "mean|failed:in", "a result", attrgetter(name))
        for name in ("calls", "prompt_tokens", "response_tokens")
    ),
    # Cached completions take no time. Samples in flight together slow each other down.
    _quantile("seconds", f"median|{_UNCACHED}", _FRESH, attrgetter("seconds"), _is_fresh),
    _quantile("seconds_p95", f"q95|{_UNCACHED}", _FRESH, attrgetter("seconds"), _is_fresh, 0.95),
    # Medians, as the first call of a run may wait for the model to load.
    _quantile(
        "completion_tok_s",
        "median-of-medians|cached:skipped",
        _TIMED,
        lambda result: median(result.timing.completion_rates),
        lambda result: len(result.timing.completion_rates),
    ),
    _cost(
        "prompt_tok_s",
        "tokens/seconds|cached:skipped",
        _TIMED,
        lambda result: float(result.timing.prompt_tokens),
        lambda result: result.timing.prompt_seconds,
    ),
    _pooled(
        "excluded",
        "excluded/found|failed:in|scale:100",
        "retrieved exemplars",
        _count_excluded,
        lambda result: _count_excluded(result) + result.exemplars,
    ),
)
