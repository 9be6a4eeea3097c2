"""Perplexity of the replies under the model that generated them, as its server told it: self_ppl.

exp(Σ −ln p / Σ tokens) over all replies together, lower is better. How sure the model was of its own words; figures
of different models, and those of an outside model (`ref_ppl`), are not comparable. MERG's table (arXiv 2604.18988) can
only be this: 1.2 to 2.3.

    SelfPerplexity("qwen2.5vl:7b|digest:5ced39dfa4ba").ready(run.answers)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer, ScoredRun
from mmerg.scoring.metric import Indices, IntervalBy, Value, ratio


@dataclass(frozen=True)
class SelfPerplexity:
    """Over the tokens of the reply itself, without an end token, which servers do not give alike (see `tokens`).
    `engine` names who generated, `server` which version of it."""

    engine: str
    server: str = ""
    name: str = "self_ppl"
    higher_is_better: bool | None = False
    interval_by: IntervalBy = "bootstrap"
    needs: str = "a reply with the log-probabilities of its tokens (the stage's `logprobs: true`)"

    @classmethod
    def of(cls, run: ScoredRun) -> SelfPerplexity:
        """For the engine that `run` names."""
        engine = run.manifest.engine
        told = f"{engine.model}|digest:{engine.digest[:12]}|backend:{engine.backend}"
        return cls(told, f"{engine.backend}-{engine.version}")

    @property
    def signature(self) -> str:
        return f"lm:{self.engine}|tokens:reply|weight:token|p-over-1:left-out|failed:left-out||{self.server}"

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return np.array([answer.ok and answer.result.logprob is not None for answer in answers], bool)

    def ready(self, answers: Sequence[Answer]) -> Value:
        nll = np.array([-(answer.result.logprob or 0.0) for answer in answers], float)
        tokens = np.array([answer.result.logprob_tokens for answer in answers], float)
        return perplexity(nll, tokens)


def perplexity(nll: NDArray[np.float64], tokens: NDArray[np.float64]) -> Value:
    """exp of the mean over tokens, of sums an answer."""
    mean = ratio(nll, tokens)

    def value(indices: Indices) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp(mean(indices)))

    return value
