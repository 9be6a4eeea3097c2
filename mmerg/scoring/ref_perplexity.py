"""Perplexity of the replies under a model of your choice: ref_ppl. Needs `pip install 'mmerg[metrics]'`.

exp(Σ −ln p / Σ tokens) over all replies together, lower is better: how usual the words are to that model. The same
model for every run makes runs of different backbones comparable, which `self_ppl` is not. TRACE's paper (arXiv
2509.21849) does not say which model its PPL is of.

    RefPerplexity("gpt2").ready(run.answers)
    load("gpt2").nll("", "I am so sorry.")    # (21.3, 6): Σ −ln p over 6 tokens
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmerg.scoring.answers import Answer
from mmerg.scoring.extras import device, fingerprint, loading, readable, require
from mmerg.scoring.metric import IntervalBy, Value
from mmerg.scoring.self_perplexity import perplexity


@dataclass(frozen=True)
class RefPerplexity:
    """model: as `load` takes it. context: whether the turns that were shown stand before the reply, a line
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


class CausalLm:
    """A loaded model; keeps what it has scored. One text at a time, in float32: nothing depends on neighbours."""

    def __init__(self, model: Any, tokenizer: Any, signature: str, recorded: str = "") -> None:
        self.signature, self.recorded = signature, recorded
        self._model = model
        self._tokenizer = tokenizer
        self._longest = int(getattr(model.config, "max_position_embeddings", None) or 1024)
        self._known: dict[tuple[str, str], tuple[float, int]] = {}

    def nll(self, context: str, text: str) -> tuple[float, int]:
        """Σ −ln p (natural) of the tokens of `text` behind `context`, and how many were scored.

        They follow the model's start token, where it has one; else the first token of all cannot be scored. Of a
        context that is too long the end is kept. (0.0, 0) for a text without tokens, or one longer than the model
        takes.
        """
        key = (context, text)
        if key not in self._known:
            self._known[key] = self._scored(context, text)
        return self._known[key]

    def _scored(self, context: str, text: str) -> tuple[float, int]:
        import torch

        own = self._ids(text)
        start = self._tokenizer.bos_token_id
        before = [] if start is None else [start]
        room = self._longest - len(before) - len(own)
        if not own or room < 0:
            return 0.0, 0
        ids = [*before, *(self._ids(context)[-room:] if context and room else []), *own]
        scored = min(len(own), len(ids) - 1)
        if not scored:
            return 0.0, 0
        with torch.inference_mode():
            logits = self._model(torch.tensor([ids], device=self._model.device)).logits[0, -scored - 1 : -1].float()
            told = torch.log_softmax(logits, -1).gather(-1, torch.tensor(ids[-scored:], device=logits.device)[:, None])
        return -float(told.double().sum()), scored

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(readable(text), add_special_tokens=False)["input_ids"])


@lru_cache(maxsize=1)
def load(reference: str) -> CausalLm:
    """The model in a folder, in a GGUF file (with its tokenizer; weights dequantised), or under a hub's name, on a GPU
    where there is one. Raises ConfigError where it cannot be loaded."""
    gguf = Path(reference).suffix == ".gguf"
    require("torch", "transformers", *(("gguf", "accelerate") if gguf else ()))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = Path(reference)
    where, more = (str(path.parent), {"gguf_file": path.name}) if gguf else (reference, {})
    with loading(reference, "--ref-ppl"):
        tokenizer = AutoTokenizer.from_pretrained(where, **more)
        model: Any = AutoModelForCausalLM.from_pretrained(where, dtype=torch.float32, **more)
    model.to(device()).eval()
    start = "none" if tokenizer.bos_token_id is None else "bos"
    weights = fingerprint(model, tokenizer)
    packages = f"transformers-{version('transformers')}|torch-{torch.__version__}|device:{device()}"
    return CausalLm(model, tokenizer, f"lm:{path.name}|weights:{weights}|start:{start}|float32", packages)
