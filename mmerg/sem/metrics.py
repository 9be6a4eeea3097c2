"""Accuracy among the k most probable labels, and calibration."""

from collections.abc import Mapping, Sequence

import numpy as np

from mmerg.scoring.metric import Indices, Value
from mmerg.scoring.score import Score

BINS = 10  # of the calibration error
TOPS = (1, 3, 10, 20)  # as in the paper


def evaluate(
    chances: Sequence[Mapping[str, float]], golds: Sequence[str], dialogues: Sequence[str]
) -> dict[str, Score]:
    """Compute accuracy and calibration.

    topk: percent of samples whose label is among the k most probable. ece: expected calibration error in percent, over
    ten bins of the probability of the predicted label (Guo et al., 2017). chances: for each sample, labels with their
    probabilities, the most probable first. dialogues: the dialogue of each sample.
    """
    ranks = np.array([list(labels).index(gold) for labels, gold in zip(chances, golds, strict=True)])
    sure = np.array([next(iter(labels.values())) for labels in chances])
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    away = (ranks == 0) - sure

    def share(k: int) -> Value:
        return lambda indices: float(100 * (ranks[indices] < k).mean())

    def ece(indices: Indices) -> float:
        gaps = np.bincount(bins[indices], weights=away[indices], minlength=BINS)
        return float(100 * np.abs(gaps).sum() / len(indices))

    scores = {}
    for k in (k for k in TOPS if k < len(chances[0])):
        signature = f"label:target|among:{k}|scale:100"
        top = Score(name=f"top{k}", value=None, n=0, higher_is_better=True, signature=signature)
        scores[top.name] = top.evaluate(share(k), dialogues, "wilson")
    error = Score(name="ece", value=None, n=0, higher_is_better=False, signature=f"bins:{BINS}|scale:100")
    return scores | {"ece": error.evaluate(ece, dialogues, "bootstrap")}
