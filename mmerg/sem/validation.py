"""How good a model is on samples that it was not fitted to: figures with n and interval, and what it takes for what."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmerg.scoring.metric import Indices, Value
from mmerg.scoring.score import Confusion, Score
from mmerg.sem.fit import Labelled

BINS = 10  # of the calibration error
TOPS = (1, 3, 10, 20)  # as the paper gives the model's accuracy
Chances = Sequence[Mapping[str, float]]  # of each sample the labels with their probabilities, the most probable first


def figures(chances: Chances, samples: Sequence[Labelled], dialogues: Sequence[str]) -> dict[str, Score]:
    """topk: the share of samples, in percent, whose label is among the k most probable. ece: the expected calibration
    error, in percent, over ten bins of the probability of the label that is predicted. dialogues: each sample's."""
    ranks = np.array([list(one).index(sample.label) for one, sample in zip(chances, samples, strict=True)])
    sure = np.array([next(iter(one.values())) for one in chances])
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    away = (ranks == 0) - sure

    def share(k: int) -> Value:
        return lambda indices: float(100 * (ranks[indices] < k).mean())

    def ece(indices: Indices) -> float:
        gaps = np.bincount(bins[indices], weights=away[indices], minlength=BINS)
        return float(100 * np.abs(gaps).sum() / len(indices))

    found = {}
    for k in (k for k in TOPS if k < len(chances[0])):
        about: Any = {"name": f"top{k}", "signature": f"label:target|among:{k}|scale:100", "higher_is_better": True}
        found[f"top{k}"] = Score.over(share(k), dialogues, "wilson", **about)
    about = {"name": "ece", "signature": f"bins:{BINS}|scale:100", "higher_is_better": False}
    return found | {"ece": Score.over(ece, dialogues, "bootstrap", **about)}


def confusion(chances: Chances, samples: Sequence[Labelled], labels: Sequence[str]) -> Confusion:
    """Counts by label and by the one that is predicted."""
    pairs = Counter((sample.label, next(iter(one))) for one, sample in zip(chances, samples, strict=True))
    counts = tuple(tuple(pairs[gold, predicted] for predicted in labels) for gold in labels)
    return Confusion(labels=tuple(labels), counts=counts, failed=(0,) * len(labels))
