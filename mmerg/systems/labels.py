"""A label that is read from its probability, and what a model's probabilities are held against."""

from collections.abc import Mapping
from math import log

from mmerg.storage.record import Record


class LabelPrior(Record):
    """What a model says of any scene, and how often each label is right: batch calibration (Zhou et al., 2023, arXiv
    2309.17249) with label frequencies. mean: of each label's log-probability, over `n` scenes of `corpus`, whose labels
    it does not use; counts: how often each label stands there."""

    corpus: str
    fingerprint: str
    n: int
    mean: dict[str, float]
    counts: dict[str, int]

    def calibrated(self, logprobs: Mapping[str, float]) -> dict[str, float]:
        """The score of each label: log p less its mean, plus the log of its frequency, of which each label has one
        more than was counted."""
        total = sum(self.counts.values()) + len(self.mean)
        return {
            label: value - self.mean[label] + log((self.counts.get(label, 0) + 1) / total)
            for label, value in logprobs.items()
        }
