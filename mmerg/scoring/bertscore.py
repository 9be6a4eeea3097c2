"""BERTScore of the replies against the data's own: precision, recall, F1. Needs `pip install 'mmerg[metrics]'`.

Raw roberta-large, layer 17, without idf and rescaling, as the field reports it (77 to 87), ×100, higher is better; the
mean over pairs of each (Zhang et al. 2020, arXiv 1904.09675).

The bert-score package pads the texts of a batch to one length, and padding shifts a score by up to 0.005, so that a
reply's score would depend on its neighbours. Here a batch is one text: a pair's score depends on the pair alone.

    p, r, f1 = bert_scores("roberta-large", 17)
    scored(f1, run.answers, DEFAULTS).value
    load("roberta-large", 17).scores([("Oh no.", "Oh dear.")])    # [(0.97, 0.96, 0.96)]
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mmerg.errors import ConfigError
from mmerg.runs.result import Result
from mmerg.scoring.extras import device, fingerprint, loading, quietly, readable, require
from mmerg.scoring.metric import Mask, Metric, Ratio, Value

PARTS = ("p", "r", "f1")
Three = tuple[float, float, float]
NOTHING: Three = (0.0, 0.0, 0.0)
UNBOUNDED = 1_000_000


def bert_scores(model: str = "roberta-large", layers: int | None = None) -> list[Metric]:
    """bert_p, bert_r, bert_f1: precision, recall, F1. A sample that did not fail and has a gold response that is not
    blank counts; a blank reply to it scores 0. Raises ConfigError where the model cannot be loaded."""
    scorer = load(model, layers)

    def counted(results: Sequence[Result]) -> Mask:
        return np.array([result.ok and bool((result.gold_response or "").strip()) for result in results], bool)

    def ready(part: int, results: Sequence[Result]) -> Value:
        pairs = [(result.response or "", result.gold_response or "") for result in results]
        return Ratio(np.array([100.0 * three[part] for three in scorer.scores(pairs)]), np.ones(len(pairs)))

    return [
        Metric(
            name=f"bert_{name}",
            signature=f"{scorer.signature}|blank:0|failed:left-out|scale:100||{scorer.recorded}",
            needs="a reply and a gold response",
            counted=counted,
            ready=partial(ready, part),
            higher_is_better=True,
        )
        for part, name in enumerate(PARTS)
    ]


class PairScorer:
    """A loaded scorer; keeps what it has scored."""

    def __init__(self, scorer: Any, signature: str, recorded: str = "") -> None:
        self.signature, self.recorded = signature, recorded
        self._scorer = scorer
        self._known: dict[tuple[str, str], Three] = {}

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[Three]:
        """(P, R, F1) of each (reply, reference), 0 to 1, 0 where one of them is blank (the package breaks on these)."""
        pairs = [(readable(reply), readable(gold)) for reply, gold in pairs]
        spoken = {pair for pair in pairs if pair[0].strip() and pair[1].strip()}
        if new := sorted(spoken - self._known.keys()):
            with quietly():
                found = self._scorer.score([reply for reply, _ in new], [gold for _, gold in new], batch_size=1)
            values = zip(*(part.tolist() for part in found), strict=True)
            self._known |= {pair: (p, r, f) for pair, (p, r, f) in zip(new, values, strict=True)}
        return [self._known.get(pair, NOTHING) for pair in pairs]


@lru_cache(maxsize=1)
def load(model: str, layers: int | None) -> PairScorer:
    """The scorer of a hub's name or a folder; `layers` None: the one that the package recommends for a name it knows.
    Raises ConfigError where it cannot be loaded."""
    require("torch", "transformers", "bert_score")
    import torch
    from bert_score import BERTScorer
    from bert_score.utils import model2layers

    if layers is None and model not in model2layers:
        what = "bert-score knows no layer for this model"
        raise ConfigError(what, where=f"--bert {model}", hint="name one with --bert-layers, 17 for roberta-large")
    with loading(model, "--bert"):
        scorer = BERTScorer(model_type=model, num_layers=layers, idf=False, device=device(), batch_size=1)
    parts: tuple[Any, Any] = scorer._model, scorer._tokenizer  # it offers no public way to them
    weights = fingerprint(*parts)
    _bound(*parts)
    name = Path(model).name
    how = f"L:{scorer.num_layers}|idf:no|rescale:no|batch:1"
    packages = f"bert-score-{version('bert-score')}|transformers-{version('transformers')}|torch-{torch.__version__}"
    return PairScorer(scorer, f"model:{name}|weights:{weights}|{how}", f"{packages}|device:{device()}")


def _bound(model: Any, tokenizer: Any) -> None:
    """Give a tokenizer that knows no longest text the model's: the package breaks on its stand-in for "any length"."""
    positions = int(model.config.max_position_embeddings) - 2  # RoBERTa's kind keep two for themselves
    if tokenizer.model_max_length > UNBOUNDED:
        tokenizer.model_max_length = positions
