"""The splits of a corpus on which a small empathetic model is trained and validated."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.protocols import select
from mmerg.errors import ConfigError, CorpusError
from mmerg.sem.artefact import SplitData, digest_ngrams, split_history
from mmerg.settings.commands import TrainSettings
from mmerg.settings.model import ProtocolSettings


@dataclass(frozen=True)
class Split:
    """A split with labelled samples."""

    corpus: Corpus
    histories: tuple[tuple[str, ...], ...]  # the texts of the turns before the reply of each sample
    golds: tuple[str, ...]  # their labels
    dialogues: tuple[str, ...]  # the names of their conversations
    ngrams: tuple[str, ...]  # by conversation, the joined `digest_ngrams` of its samples with their replies
    skipped: int  # targets without a label or words

    def __str__(self) -> str:
        corpus = self.corpus
        samples = f"{corpus.name} {corpus.split}: {len(self.golds)} samples of {len(corpus.labels)} labels"
        skipped = f", {self.skipped} without a label or words skipped" if self.skipped else ""
        return f"{samples}{skipped}{corpus.notes_text}"

    @property
    def samples(self) -> SplitData:
        """The identity of the samples."""
        return build_data(self.corpus, list(zip(self.histories, self.golds, strict=True)))


def build_split(corpus: Corpus, protocol: ProtocolSettings) -> Split:
    """Selects the samples of a split of a corpus."""
    targets = select(corpus, protocol).samples
    samples = []
    for target in targets:
        history = tuple(turn.text for turn in target.scene.history)
        if target.target and target.target.emotion and split_history(history):
            samples.append((history, target.target.emotion, target.conversation, target.target.text))
    histories, golds, dialogues, replies = zip(*samples, strict=True) if samples else ((), (), (), ())
    ngrams: dict[str, dict[str, None]] = {}  # ordered sets, by conversation
    for history, name, reply in zip(histories, dialogues, replies, strict=True):
        ngrams.setdefault(name, {}).update(dict.fromkeys(digest_ngrams((*history, reply))))
    joined = tuple(map("".join, ngrams.values()))
    return Split(corpus, histories, golds, dialogues, joined, skipped=len(targets) - len(samples))


def build_data(corpus: Corpus, used: Sequence[object]) -> SplitData:
    """Identifies the part of a split that is `used`, with a digest."""
    digest = hashlib.sha256(json.dumps(used).encode()).hexdigest()
    return SplitData(corpus=corpus.name, split=corpus.split, samples=len(used), digest=digest)


def check_splits(settings: TrainSettings, fitted_to: Split, validated_on: Split) -> None:
    """Raises CorpusError if a label has no sample, and ConfigError if the validation split has none."""
    where, labels = f"dataset={fitted_to.corpus.name}, split={settings.split}", fitted_to.corpus.labels
    if missing := [label for label in labels if label not in fitted_to.golds]:
        what = f"{len(missing)} of {len(labels)} labels have no sample: {', '.join(missing)}"
        hint = "train on a whole split of a labelled corpus: mmerg data dataset=… counts its labels"
        raise CorpusError(what, where=where, hint=hint)
    if not validated_on.golds:
        what = f"the split {settings.validation} has no sample with a label and words"
        raise ConfigError(what, where=where, hint="set validation=… to another split")
