"""The accuracy among the k most probable labels, and the calibration error."""

from collections.abc import Mapping, Sequence

import numpy as np

from mmerg.scoring.metric import Indices, Value
from mmerg.scoring.score import Score

BINS = 10  # for the calibration error
TOP_KS = (1, 3, 10, 20)  # as in the paper


def evaluate(
    chances: Sequence[Mapping[str, float]], golds: Sequence[str], dialogues: Sequence[str]
) -> dict[str, Score]:
    """Computes accuracy and calibration. chances: the labels of each sample with their probabilities, most probable
    first.

    The score topk is the percentage of samples whose label is among the k most probable labels. ece is the expected
    calibration error in percent, over ten bins of the probability of the predicted label (Guo et al., 2017).
    """
    ranks = np.array([list(labels).index(gold) for labels, gold in zip(chances, golds, strict=True)])
    confidences = np.array([next(iter(labels.values())) for labels in chances])
    bins = np.minimum((confidences * BINS).astype(int), BINS - 1)
    errors = (ranks == 0) - confidences

    def share(k: int) -> Value:
        return lambda indices: float(100 * (ranks[indices] < k).mean())

    def ece(indices: Indices) -> float:
        gaps = np.bincount(bins[indices], weights=errors[indices], minlength=BINS)
        return float(100 * np.abs(gaps).sum() / len(indices))

    scores = {}
    for k in TOP_KS:
        if k >= len(chances[0]):
            break
        signature = f"label:target|among:{k}|scale:100"
        top = Score(name=f"top{k}", value=None, n=0, higher_is_better=True, signature=signature)
        scores[top.name] = top.evaluate(share(k), dialogues, "wilson")
    error = Score(name="ece", value=None, n=0, higher_is_better=False, signature=f"bins:{BINS}|scale:100")
    return scores | {"ece": error.evaluate(ece, dialogues, "bootstrap")}
