"""Emotions read from label probabilities, and their calibration."""

from collections.abc import Mapping
from math import log

from mmerg.storage.record import Record


class LabelPrior(Record):
    """Batch calibration (Zhou et al., 2023, arXiv 2309.17249) with label frequencies. mean: of each label's
    log-probability, over `n` scenes of `corpus`, without their labels; counts: how often each label is correct
    there."""

    corpus: str
    fingerprint: str
    n: int
    mean: dict[str, float]
    counts: dict[str, int]

    def calibrated(self, logprobs: Mapping[str, float]) -> dict[str, float]:
        """The score of each label: log p minus its mean, plus the log of its frequency (add-one smoothing)."""
        total = sum(self.counts.values()) + len(self.mean)
        return {
            label: value - self.mean[label] + log((self.counts.get(label, 0) + 1) / total)
            for label, value in logprobs.items()
        }
