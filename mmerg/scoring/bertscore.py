"""BERTScore of the replies against the gold responses: precision, recall and F1 (Zhang et al. 2020, arXiv 1904.09675).

The metrics are means over pairs, ×100, and higher is better. By default the model is roberta-large, layer 17, without
idf weights and rescaling, as the field reports it (values from 77 to 87). Needs `pip install 'mmerg[metrics]'`.

The bert-score package pads the texts of a batch to one length, and padding shifts a score by up to 0.005, so a reply's
score would depend on its neighbours. Here a batch holds a single pair, and each score depends on that pair alone.

    p, r, f1 = bert_scores("roberta-large", 17)
"""

from collections.abc import Sequence
from functools import cache, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mmerg.errors import ConfigError
from mmerg.runs.result import Result
from mmerg.scoring.extras import hash_model, loading_errors
from mmerg.scoring.metric import Metric, Value, mean
from mmerg.scoring.reference import has_reply_and_gold

UNBOUNDED = 1_000_000  # tokens


@lru_cache(maxsize=1)
def bert_scores(model: str = "roberta-large", layers: int | None = None) -> list[Metric]:
    """Makes the metrics bert_p, bert_r and bert_f1, and loads their model from a folder or the hub. layers: None for
    the model's default. A blank reply scores 0. Raises ConfigError if loading fails."""
    with loading_errors(model, "--bert"):
        import torch
        from bert_score import BERTScorer
        from bert_score.utils import model2layers

        if layers is None and model not in model2layers:
            what = "bert-score knows no layer for this model"
            raise ConfigError(what, where=f"--bert {model}", hint="set --bert-layers, 17 for roberta-large")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        scorer = BERTScorer(model_type=model, num_layers=layers, idf=False, device=device, batch_size=1)
    lm: Any = scorer._model  # the package has no public attribute
    tokenizer: Any = scorer._tokenizer
    if tokenizer.model_max_length > UNBOUNDED:  # the value for "unlimited", on which the package fails
        tokenizer.model_max_length = int(lm.config.max_position_embeddings) - 2  # RoBERTa models reserve two

    @cache
    def score(reply: str, gold: str) -> tuple[float, ...]:
        if not (reply.strip() and gold.strip()):  # the package fails on blank texts
            return 0.0, 0.0, 0.0
        return tuple(float(part) for part in scorer.score([reply], [gold], batch_size=1))

    def prepare(part: int, results: Sequence[Result]) -> Value:
        scores = [score(result.response or "", result.gold_response or "") for result in results]
        return mean([100 * of_pair[part] for of_pair in scores])

    packages = f"bert-score-{version('bert-score')}|transformers-{version('transformers')}|torch-{torch.__version__}"
    signature = (
        f"model:{Path(model).name}|weights:{hash_model(lm, tokenizer)}|L:{scorer.num_layers}|idf:no|rescale:no|batch:1"
        f"|blank:0|failed:skipped|scale:100||{packages}|device:{device}"
    )
    needs = "a reply and a gold response"
    return [
        Metric(name, signature, needs, has_reply_and_gold, partial(prepare, part), higher_is_better=True)
        for part, name in enumerate(("bert_p", "bert_r", "bert_f1"))
    ]
