"""A corpus of no dialogues: a talk that is under way brings its own turns, and has its labels from here.

dataset: {name: talk, reader: {_target_: mmerg.corpora.talk.Talk, labels: [joy, sadness]}}
"""

import hashlib
from collections.abc import Sequence

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample, Turn, cut


class Talk:
    """labels: the emotions that a model may choose from."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = tuple(labels)

    def load(self) -> Corpus:
        digest = hashlib.sha256("\0".join(self._labels).encode()).hexdigest()
        return Corpus("talk", "live", self._labels, (), digest)


def build_sample(talk: str, turns: Sequence[Turn], answers_as: str, labels: tuple[str, ...]) -> Sample:
    """The reply after the last of `turns`, as a sample whose target nobody knows."""
    return cut(Dialogue(talk, tuple(turns), respond_as=answers_as), len(turns), labels)
