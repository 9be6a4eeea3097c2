"""Results for tests of metrics, without a run folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Metric
from tests.scoring.run_builder import HISTORY, result


def sample_result(id: str = "a/1", response: str | None = "Oh no.", emotion: str | None = None, **more: Any) -> Result:
    """Makes a result; more: fields as for `run_builder.result`, or `logprobs`, the log-probabilities of its tokens."""
    if (logprobs := more.pop("logprobs", None)) is not None:
        more |= {"logprob": sum(logprobs), "logprob_tokens": len(logprobs)}
    return result(id, response, emotion, history=HISTORY, **more)


def replies(*texts: str | None) -> list[Result]:
    """Makes a result per text, each from another dialogue; None is a failed sample."""
    return [sample_result(f"d{number}/1", text) for number, text in enumerate(texts)]


def make_pairs(pairs: Sequence[tuple[str, str]]) -> list[Result]:
    """Makes a result per pair of a reply and its gold response."""
    return [sample_result(f"d{number}/1", reply, gold_response=gold) for number, (reply, gold) in enumerate(pairs)]


def forecasts(*pairs: tuple[str | None, str | None] | str) -> list[Result]:
    """Makes a result per (gold, forecast); a gold label alone is a failed sample."""
    return [
        sample_result(f"d{number}/1", None, gold=pair)
        if isinstance(pair, str)
        else sample_result(f"d{number}/1", "Oh no.", pair[1], gold=pair[0])
        for number, pair in enumerate(pairs)
    ]


def compute(metric: Metric, results: Sequence[Result]) -> float:
    """Computes a metric over the results that count for it."""
    kept = [result for result, counts in zip(results, metric.mask(results), strict=True) if counts]
    return metric.prepare(kept)(np.arange(len(kept)))


def count(metric: Metric, results: Sequence[Result]) -> int:
    return int(metric.mask(results).sum())
