"""Perplexity of the replies under a model of your choice: ref_ppl. Needs `pip install 'mmerg[metrics]'`.

exp(Σ −ln p / Σ tokens) over all replies together, lower is better: how usual the words are to that model. The same
model for every run makes runs of different backbones comparable, which `self_ppl` is not. TRACE's paper (arXiv
2509.21849) does not say which model its PPL is of.

    RefPerplexity("gpt2").ready(run.answers)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer
from mmerg.scoring.causal_lm import CausalLm, load
from mmerg.scoring.metric import IntervalBy, Value
from mmerg.scoring.self_perplexity import perplexity


@dataclass(frozen=True)
class RefPerplexity:
    """model: as `causal_lm.load` takes it. context: whether the turns that were shown stand before the reply, a line
    each, without names; a sample whose turns the result does not tell of is then left out."""

    model: str
    context: bool = False
    name: str = "ref_ppl"
    higher_is_better: bool | None = False
    interval_by: IntervalBy = "bootstrap"
    needs: str = "a reply of a token or more that the model can take, and with context the turns before it"

    @property
    def signature(self) -> str:
        lm, context = self._lm(), "turns" if self.context else "none"
        return f"{lm.signature}|context:{context}|weight:token|failed:left-out||{lm.recorded}"

    def counted(self, answers: Sequence[Answer]) -> NDArray[np.bool_]:
        return self._scored(answers)[1] > 0

    def ready(self, answers: Sequence[Answer]) -> Value:
        return perplexity(*self._scored(answers))

    def _scored(self, answers: Sequence[Answer]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        lm = self._lm()
        found = np.array([self._nll(lm, answer) for answer in answers], float).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _nll(self, lm: CausalLm, answer: Answer) -> tuple[float, int]:
        reply = (answer.result.response or "") if answer.ok else ""
        if not self.context:
            return lm.nll("", reply)
        history = answer.result.history
        return lm.nll("".join(f"{text}\n" for _, text in history), reply) if history else (0.0, 0)

    def _lm(self) -> CausalLm:
        return load(self.model)
