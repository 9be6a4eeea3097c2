"""A corpus without dialogues, for live conversations: they bring their own turns and take the labels from here.

dataset: {name: talk, reader: {_target_: mmerg.corpora.talk.Talk, labels: [joy, sadness]}}
"""

import hashlib
from collections.abc import Sequence

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, Turn, cut


class Talk:
    """labels: the emotions that a model may choose."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = tuple(labels)

    def load(self) -> Corpus:
        digest = hashlib.sha256("\0".join(self._labels).encode()).hexdigest()
        return Corpus("talk", "live", self._labels, (), digest)


def build_sample(talk: str, turns: Sequence[Turn], answers_as: str, labels: tuple[str, ...]) -> Sample:
    """A sample whose target is the unknown reply after the last turn."""
    return cut(Dialogue(talk, tuple(turns), respond_as=answers_as), len(turns), labels)
