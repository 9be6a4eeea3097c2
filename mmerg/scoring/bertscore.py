"""BERTScore of the replies against the gold responses: precision, recall and F1 (Zhang et al. 2020, arXiv 1904.09675).

The metrics are means over pairs, ×100, and higher is better. By default the model is roberta-large, layer 17, without
idf weights and rescaling, as the field reports it (values from 77 to 87). Needs `pip install 'mmerg[metrics]'`.

The bert-score package pads the texts of a batch to one length, and padding shifts a score by up to 0.005, so a reply's
score would depend on its neighbours. Here a batch holds a single pair, and each score depends on that pair alone.

    p, r, f1 = bert_scores("roberta-large", 17)
    load_scorer("roberta-large", 17).score("Oh no.", "Oh dear.")    # (0.97, 0.96, 0.96)
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
PrecisionRecallF1 = tuple[float, float, float]


@dataclass(frozen=True)
class PairScorer:
    """A loaded BERTScore model."""

    score: Callable[[str, str], PrecisionRecallF1]  # precision, recall and F1 (0 to 1) of a reply and its reference
    signature: str


def bert_scores(model: str = "roberta-large", layers: int | None = None) -> list[Metric]:
    """Makes the metrics bert_p, bert_r and bert_f1. A blank reply scores 0. Raises ConfigError if loading fails."""
    scorer = load_scorer(model, layers)

    def prepare(part: int, results: Sequence[Result]) -> Value:
        scores = [scorer.score(result.response or "", result.gold_response or "") for result in results]
        return mean([100 * score[part] for score in scores])

    needs = "a reply and a gold response"
    return [
        Metric(name, scorer.signature, needs, has_reply_and_gold, partial(prepare, part), higher_is_better=True)
        for part, name in enumerate(("bert_p", "bert_r", "bert_f1"))
    ]


@lru_cache(maxsize=1)
def load_scorer(model: str, layers: int | None) -> PairScorer:
    """Loads a model from a folder or the hub. layers: None for its default. Raises ConfigError if this fails."""
    require_packages("torch", "transformers", "bert_score")
    import torch
    from bert_score import BERTScorer
    from bert_score.utils import model2layers

    if layers is None and model not in model2layers:
        what = "bert-score knows no layer for this model"
        raise ConfigError(what, where=f"--bert {model}", hint="set --bert-layers, 17 for roberta-large")
    with loading_errors(model, "--bert"):
        scorer = BERTScorer(model_type=model, num_layers=layers, idf=False, device=choose_device(), batch_size=1)
    lm: Any = scorer._model  # the package has no public attribute
    tokenizer: Any = scorer._tokenizer
    weights = hash_model(lm, tokenizer)
    if tokenizer.model_max_length > UNBOUNDED:  # the value for "unlimited", on which the package fails
        tokenizer.model_max_length = int(lm.config.max_position_embeddings) - 2  # RoBERTa models reserve two

    @cache
    def score(reply: str, gold: str) -> PrecisionRecallF1:
        if not (reply.strip() and gold.strip()):  # the package fails on blank texts
            return 0.0, 0.0, 0.0
        p, r, f1 = (float(part) for part in scorer.score([reply], [gold], batch_size=1))
        return p, r, f1

    packages = f"bert-score-{version('bert-score')}|transformers-{version('transformers')}|torch-{torch.__version__}"
    return PairScorer(
        score,
        f"model:{Path(model).name}|weights:{weights}|L:{scorer.num_layers}|idf:no|rescale:no|batch:1"
        f"|blank:0|failed:skipped|scale:100||{packages}|device:{choose_device()}",
    )
