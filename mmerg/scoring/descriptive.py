"""What describes a run and does not judge it: lengths, passes, cost.

[metric.name for metric in descriptive(words, "tok:whitespace|case:keep")]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer
from mmerg.scoring.metric import Indices, IntervalBy, Value, ratio
from mmerg.scoring.words import Words

Of = Callable[[Answer], float]


@dataclass(frozen=True)
class Rate:
    """Σ of over Σ per, one of each a sample: with `per` left at 1 a mean. A sample with `per` 0 does not count."""

    name: str
    signature: str
    needs: str
    of: Of
    per: Of
    interval_by: IntervalBy = "bootstrap"
    higher_is_better: bool | None = None

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return np.array([self.per(answer) > 0 for answer in answers], bool)

    def ready(self, answers: Sequence[Answer]) -> Value:
        per = np.array([self.per(answer) for answer in answers], float)
        of = np.array([self.of(answer) for answer in answers], float)
        return ratio(np.where(per > 0, of, 0.0), per)


@dataclass(frozen=True)
class Seconds:
    """The median time of a sample that came out well and made all its calls, as `benching.speed` counts: one that
    failed at once took no time to speak of. A median, as one host that hangs can outweigh a hundred samples; samples in
    flight together slow each other down."""

    name: str = "seconds"
    signature: str = "median|cached:left-out|failed:left-out"
    needs: str = "a reply of calls that were all made anew, none from the cache"
    interval_by: IntervalBy = "bootstrap"
    higher_is_better: bool | None = None

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return np.array([answer.ok and not answer.result.cached_calls for answer in answers], bool)

    def ready(self, answers: Sequence[Answer]) -> Value:
        seconds, counted = np.array([answer.result.seconds for answer in answers], float), self.counted(answers)

        def value(indices: Indices) -> float:
            kept = seconds[indices[counted[indices]]]
            return float(np.median(kept)) if len(kept) else float("nan")

        return value


def descriptive(words: Words, words_signature: str, imported: bool = False) -> list[Rate | Seconds]:
    """length in tokens of the reply; passes; selected, the mean number of the selected pass from 0 (the "Avg." of
    MERG's table on iterations); rerun, the share of samples with more than one pass, ×100; idle, the share of passes
    after the first that say what the one before said, ×100; cleaned, the share of samples with a reply of
    which something was taken off, ×100; calls and the server's token counts, failed samples
    included; seconds; excluded, the share of exemplars that guards kept back, ×100."""
    reply, sample, found = "a reply", "a result", "exemplars found"
    rates: list[Rate | Seconds] = [
        Rate(
            "length",
            f"mean|{words_signature}|failed:left-out",
            reply,
            lambda a: len(words(a.result.response or "")),
            _ok,
        ),
        Rate("passes", "mean|failed:left-out", reply, lambda a: a.result.passes, _ok),
        Rate("selected", "mean|from:0|failed:left-out", reply, lambda a: a.result.selected_pass or 0, _ok),
        Rate("rerun", "passes>1|failed:left-out|scale:100", reply, lambda a: 100.0 * _again(a), _ok, "wilson"),
        Rate(
            "idle",
            "repeated/passes-after-the-first|failed:left-out|scale:100",
            "a second pass",
            lambda a: 100.0 * a.result.repeated_passes,
            _later,
        ),
        Rate("cleaned", "any-reply|failed:in|scale:100", sample, _cleaned, _one, "wilson"),
        Rate("calls", "mean|failed:in", sample, lambda a: a.result.calls, _one),
        Rate("prompt_tokens", "mean|failed:in", sample, lambda a: a.result.prompt_tokens, _one),
        Rate("response_tokens", "mean|failed:in", sample, lambda a: a.result.response_tokens, _one),
        Seconds(),
        Rate("excluded", "kept-back/found|failed:in|scale:100", found, lambda a: 100.0 * _kept_back(a), _found),
    ]
    unknown = "passes and calls of ours: another system wrote the replies"
    known = 1 if imported else len(rates)
    return rates[:known] + [Rate(rate.name, "made-elsewhere", unknown, _none, _none) for rate in rates[known:]]


def _ok(answer: Answer) -> float:
    return float(answer.ok)


def _again(answer: Answer) -> bool:
    return answer.result.passes > 1


def _cleaned(answer: Answer) -> float:
    return 100.0 * bool(answer.result.cleaned)


def _later(answer: Answer) -> float:
    return float(max(0, answer.result.passes - 1))


def _one(_: Answer) -> float:
    return 1.0


def _none(_: Answer) -> float:
    return 0.0


def _kept_back(answer: Answer) -> float:
    return float(sum(answer.result.excluded.values()))


def _found(answer: Answer) -> float:
    return _kept_back(answer) + answer.result.exemplars
