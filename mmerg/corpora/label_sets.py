"""Refuse labels that a configuration names for a corpus with label sets of its own: they would do nothing.

refuse_other_labels(["angry"], ("angry", "happy", "sad", "neutral"), "four")    # ConfigError
"""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.errors import ConfigError


def refuse_other_labels(told: Sequence[str] | None, labels: Sequence[str], label_set: str) -> None:
    """Raises ConfigError where `told` (None: nothing was) are not the labels of the set, in its order."""
    if told is not None and list(told) != list(labels):
        raise ConfigError(
            f"dataset.labels is [{', '.join(map(str, told))}], and label set {label_set} is [{', '.join(labels)}]",
            where="dataset.labels, dataset.label_sets",
            hint="leave both as they are and choose a set with dataset.label_set; protocol.emotions picks targets",
        )
