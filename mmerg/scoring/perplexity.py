"""Perplexity of the replies: exp(Σ −ln p / Σ tokens) over all replies together, lower is better.

self_ppl is under the model that generated them, as its server gave it: how sure the model was of its own words.
Scores of different models, and those of an outside model, are not comparable. MERG's table (arXiv 2604.18988) can only
be this: 1.2 to 2.3.

ref_ppl is under a model of your choice: how usual the words are to that model. The same model for every run makes runs
of different backbones comparable. TRACE's paper (arXiv 2509.21849) does not say which model its PPL is of. Needs
`pip install 'mmerg[metrics]'`.

    self_perplexity(run.manifest), ref_perplexity("gpt2")
    load("gpt2").nll("I am so sorry.")    # (21.3, 6): Σ −ln p over 6 tokens
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mmerg.runs.manifest import Manifest
from mmerg.runs.result import Result
from mmerg.scoring.extras import device, fingerprint, loading, require
from mmerg.scoring.metric import Metric, rate


def self_perplexity(manifest: Manifest) -> Metric:
    """Over the tokens of the reply itself, without an end token, which servers do not give alike (see `runs.facts`). Of
    a reply inside JSON and of one that is plain text these are two scores, and so is that of a reply that was chosen
    for it among several (best_of_n): the signature says which, and they are not compared."""
    engine = manifest.engine
    form = "in-json" if "." in manifest.setting("system.result.response", "") else "plain"
    form += "|chosen-by-it" * (manifest.setting("system.loop") == "candidates")
    model = f"lm:{engine.model}|digest:{engine.digest[:12]}|backend:{engine.backend}|reply:{form}"
    return rate(
        "self_ppl",
        f"{model}|tokens:reply|weight:token|p-over-1:left-out|failed:left-out||{engine.backend}-{engine.version}",
        "a reply with the log-probabilities of its tokens (the stage's `logprobs: true`)",
        lambda result: -(result.logprob or 0.0),
        lambda result: result.logprob_tokens if result.ok and result.logprob is not None else 0,
        higher_is_better=False,
        finish=np.exp,
    )


def ref_perplexity(model: str) -> Metric:
    """model: as `load` takes it. The dialogue before the reply is not shown to it. Raises ConfigError where the model
    cannot be loaded."""
    lm = load(model)

    def nll(result: Result) -> tuple[float, int]:
        return lm.nll(result.response or "") if result.ok else (0.0, 0)

    return rate(
        "ref_ppl",
        f"{lm.signature}|context:none|weight:token|failed:left-out||{lm.recorded}",
        "a reply of a token or more that the model can take",
        lambda result: nll(result)[0],
        lambda result: nll(result)[1],
        higher_is_better=False,
        finish=np.exp,
    )


@dataclass(frozen=True)
class CausalLm:
    """A loaded model. nll: Σ −ln p (natural) of the tokens of a text, and how many were scored.

    They follow the model's start token, where it has one; else the first token cannot be scored. (0.0, 0) for a text
    without tokens, or one longer than the model takes. One text at a time, in float32: nothing depends on neighbours.
    recorded: what does not decide the score."""

    nll: Callable[[str], tuple[float, int]]
    signature: str
    recorded: str


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
    signature = f"lm:{path.name}|weights:{fingerprint(model, tokenizer)}|start:{start}|float32"
    packages = f"transformers-{version('transformers')}|torch-{torch.__version__}|device:{device()}"
    return CausalLm(cache(partial(_nll, model, tokenizer)), signature, packages)


def _nll(model: Any, tokenizer: Any, text: str) -> tuple[float, int]:
    import torch

    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    ids = [*start, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    scored = len(ids) - 1
    if scored < 1 or len(ids) > int(getattr(model.config, "max_position_embeddings", None) or 1024):
        return 0.0, 0
    with torch.inference_mode():
        logits = model(torch.tensor([ids], device=model.device)).logits[0, -scored - 1 : -1].float()
        targets = torch.tensor(ids[-scored:], device=logits.device)
        chances = torch.log_softmax(logits, -1).gather(-1, targets[:, None])
    return -float(chances.double().sum()), scored
