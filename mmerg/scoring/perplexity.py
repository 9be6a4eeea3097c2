"""Perplexity of the replies: exp(Σ −ln p / Σ tokens) over all replies together, lower is better.

self_ppl uses the probabilities that the server of the generating model reported: it tells how sure the model was of its
reply. It cannot be compared between models. The values in MERG's table (arXiv 2604.18988), 1.2 to 2.3, can only be this
metric.

ref_ppl uses another model: it tells how usual the reply is to that model. Runs of different backbones can be compared
under the same model. TRACE's paper (arXiv 2509.21849) does not name its model. Needs `pip install 'mmerg[metrics]'`.

    self_perplexity(run.manifest), ref_perplexity("gpt2")
"""

from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mmerg.runs.manifest import Manifest
from mmerg.scoring.extras import hash_model, loading_errors
from mmerg.scoring.metric import Metric, rate


def self_perplexity(manifest: Manifest) -> Metric:
    """Measures perplexity under the generating model, over the tokens of the reply without the end token, which servers
    report differently (see `runs.facts`). Replies in JSON, plain replies, and replies selected by this score
    (best_of_n) cannot be compared, so their signatures differ."""
    engine = manifest.engine
    form = "in-json" if "." in manifest.setting("system.result.response", "") else "plain"
    form += "|chosen-by-it" * (manifest.setting("system.loop") == "candidates")
    model = f"lm:{engine.model}|digest:{engine.digest[:12]}|backend:{engine.backend}|reply:{form}"
    return rate(
        "self_ppl",
        f"{model}|tokens:reply|weight:token|p-over-1:skipped|failed:skipped||{engine.backend}-{engine.version}",
        "a reply with the log-probabilities of its tokens (the stage's `logprobs: true`)",
        lambda result: -(result.logprob or 0.0),
        lambda result: result.logprob_tokens if result.ok and result.logprob is not None else 0,
        higher_is_better=False,
        finish=np.exp,
    )


@lru_cache(maxsize=1)
def ref_perplexity(model: str) -> Metric:
    """Measures perplexity under another model, which does not see the dialogue, and loads it, onto a GPU if any.
    It scores replies one at a time in float32, so that padding changes nothing. The first token is not scored if the
    model has no start token. Replies longer than the context do not count.

    model: a folder or hub name. Raises ConfigError if the model cannot be loaded."""
    with loading_errors(model, "--ref-ppl"):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(model)
        lm: Any = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lm.to(device).eval()
    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    longest = int(getattr(lm.config, "max_position_embeddings", None) or 1024)

    @cache
    def measure(text: str) -> tuple[float, int]:
        """Returns Σ −ln p of the tokens of a text, and their number; (0.0, 0) if the text does not count."""
        ids = [*start, *tokenizer(text, add_special_tokens=False)["input_ids"]]
        scored = len(ids) - 1
        if scored < 1 or len(ids) > longest:
            return 0.0, 0
        with torch.inference_mode():
            logits = lm(torch.tensor([ids], device=lm.device)).logits[0, -scored - 1 : -1].float()
            targets = torch.tensor(ids[-scored:], device=logits.device)
            logprobs = torch.log_softmax(logits, -1).gather(-1, targets[:, None])
        return -float(logprobs.double().sum()), scored

    options = f"start:{'bos' if start else 'none'}|float32|context:none|weight:token|failed:skipped"
    packages = f"transformers-{version('transformers')}|torch-{torch.__version__}|device:{device}"
    return rate(
        "ref_ppl",
        f"lm:{Path(model).name}|weights:{hash_model(lm, tokenizer)}|{options}||{packages}",
        "a reply of a token or more that fits the model",
        lambda result: measure(result.response or "")[0],
        lambda result: measure(result.response or "")[1] if result.ok else 0,
        higher_is_better=False,
        finish=np.exp,
    )
