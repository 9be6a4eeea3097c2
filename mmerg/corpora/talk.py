"""A corpus without dialogues, for live conversations: it provides their labels, and they provide the turns.

dataset: {name: talk, reader: {_target_: mmerg.corpora.talk.Talk, labels: [joy, sadness]}}
"""

import hashlib
from collections.abc import Sequence

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, Turn, cut_sample


class Talk:
    """The reader of an empty corpus with the labels that a model may choose."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = tuple(labels)

    def load(self) -> Corpus:
        digest = hashlib.sha256("\0".join(self._labels).encode()).hexdigest()
        return Corpus("talk", "live", self._labels, (), digest)


def build_sample(id: str, turns: Sequence[Turn], respond_as: str, labels: tuple[str, ...]) -> Sample:
    """Builds a sample whose target is the unknown reply after the last turn. id: of the conversation."""
    return cut_sample(Dialogue(id, tuple(turns), respond_as=respond_as), len(turns), labels)
