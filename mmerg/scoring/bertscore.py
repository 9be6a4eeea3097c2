"""BERTScore of the replies against the gold responses: precision, recall, F1. Needs `pip install 'mmerg[metrics]'`.

Raw roberta-large, layer 17, without idf and rescaling, as the field reports it (77 to 87), ×100, higher is better; the
mean over pairs of each (Zhang et al. 2020, arXiv 1904.09675).

The bert-score package pads the texts of a batch to one length, and padding shifts a score by up to 0.005, so that a
reply's score would depend on its neighbours. Here a batch is one text: a pair's score depends on the pair alone.

    p, r, f1 = bert_scores("roberta-large", 17)
    load("roberta-large", 17).score("Oh no.", "Oh dear.")    # (0.97, 0.96, 0.96)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mmerg.errors import ConfigError
from mmerg.runs.result import Result
from mmerg.scoring.extras import choose_device, hash_model, loading_errors, require_packages
from mmerg.scoring.metric import Metric, Value, mean
from mmerg.scoring.reference import has_reply_and_gold

UNBOUNDED = 1_000_000  # tokens
Three = tuple[float, float, float]


@dataclass(frozen=True)
class PairScorer:
    """A loaded model. score: precision, recall and F1 (0 to 1) of a reply and its reference."""

    score: Callable[[str, str], Three]
    signature: str


def bert_scores(model: str = "roberta-large", layers: int | None = None) -> list[Metric]:
    """bert_p, bert_r, bert_f1. A blank reply scores 0. Raises ConfigError if the model cannot be loaded."""
    scorer = load(model, layers)

    def prepare(part: int, results: Sequence[Result]) -> Value:
        return mean([100 * scorer.score(one.response or "", one.gold_response or "")[part] for one in results])

    needs = "a reply and a gold response"
    return [
        Metric(name, scorer.signature, needs, has_reply_and_gold, partial(prepare, part), higher_is_better=True)
        for part, name in enumerate(("bert_p", "bert_r", "bert_f1"))
    ]


@lru_cache(maxsize=1)
def load(model: str, layers: int | None) -> PairScorer:
    """The scorer of a model on the hub or in a folder. layers: None for the package's default. Raises ConfigError if
    the model cannot be loaded."""
    require_packages("torch", "transformers", "bert_score")
    import torch
    from bert_score import BERTScorer
    from bert_score.utils import model2layers

    if layers is None and model not in model2layers:
        what = "bert-score knows no layer for this model"
        raise ConfigError(what, where=f"--bert {model}", hint="set --bert-layers, 17 for roberta-large")
    with loading_errors(model, "--bert"):
        scorer = BERTScorer(model_type=model, num_layers=layers, idf=False, device=choose_device(), batch_size=1)
    lm: Any = scorer._model  # not public
    tokenizer: Any = scorer._tokenizer
    weights = hash_model(lm, tokenizer)
    if tokenizer.model_max_length > UNBOUNDED:  # the package fails on the value for unlimited
        tokenizer.model_max_length = int(lm.config.max_position_embeddings) - 2  # RoBERTa models reserve two

    @cache
    def score(reply: str, gold: str) -> Three:
        if not (reply.strip() and gold.strip()):  # the package fails on these
            return 0.0, 0.0, 0.0
        p, r, f1 = (float(part) for part in scorer.score([reply], [gold], batch_size=1))
        return p, r, f1

    packages = f"bert-score-{version('bert-score')}|transformers-{version('transformers')}|torch-{torch.__version__}"
    return PairScorer(
        score,
        f"model:{Path(model).name}|weights:{weights}|L:{scorer.num_layers}|idf:no|rescale:no|batch:1"
        f"|blank:0|failed:left-out|scale:100||{packages}|device:{choose_device()}",
    )
