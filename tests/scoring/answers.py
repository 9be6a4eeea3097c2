"""Answers for tests of metrics, without a folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mmerg.runs.result import Result
from mmerg.scoring.metric import Metric
from tests.scoring.run_builder import HISTORY, result


def answer(id: str = "a/1", response: str | None = "Oh no.", emotion: str | None = None, **more: Any) -> Result:
    """One answer; see `run_builder.result`. `logprobs` may be given."""
    if (logprobs := more.pop("logprobs", None)) is not None:
        more |= {"logprob": sum(logprobs), "logprob_tokens": len(logprobs)}
    return result(id, response, emotion, history=HISTORY, **more)


def replies(*texts: str | None) -> list[Result]:
    """An answer a text, None for a failed one, each of a dialogue of its own."""
    return [answer(f"d{number}/1", text) for number, text in enumerate(texts)]


def forecasts(*pairs: tuple[str | None, str | None] | str) -> list[Result]:
    """An answer a (gold, forecast); a gold label alone is a failed one."""
    return [
        answer(f"d{number}/1", None, gold=pair)
        if isinstance(pair, str)
        else answer(f"d{number}/1", "Oh no.", pair[1], gold=pair[0])
        for number, pair in enumerate(pairs)
    ]


def compute(metric: Metric, answers: Sequence[Result]) -> float:
    """The metric's value over those of `answers` that count for it."""
    kept = [answer for answer, counts in zip(answers, metric.mask(answers), strict=True) if counts]
    return metric.prepare(kept)(np.arange(len(kept)))


def count(metric: Metric, answers: Sequence[Result]) -> int:
    """How many of `answers` it is over."""
    return int(metric.mask(answers).sum())
