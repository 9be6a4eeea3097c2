"""The splits of a corpus on which the small empathetic model is trained and validated."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.protocols import select
from mmerg.errors import ConfigError, CorpusError
from mmerg.sem.artefact import Data, run_digests
from mmerg.sem.words import words_in
from mmerg.settings.commands import TrainSettings
from mmerg.settings.model import ProtocolSettings


@dataclass(frozen=True)
class Split:
    """A split with labelled samples.

    histories, golds, dialogues: for each sample the texts of the turns before the reply, the label, and the name of the
    conversation. runs: for each conversation the joined `run_digests` of its samples with replies. unlabelled: all
    histories with words. left_out: the number of targets without a label or words.
    """

    corpus: Corpus
    histories: tuple[tuple[str, ...], ...]
    golds: tuple[str, ...]
    dialogues: tuple[str, ...]
    runs: tuple[str, ...]
    unlabelled: tuple[tuple[str, ...], ...]
    left_out: int

    def __str__(self) -> str:
        read = f"{self.corpus.name} {self.corpus.split}: {len(self.golds)} samples of {len(self.corpus.labels)} labels"
        left_out = f", {self.left_out} without a label or words skipped" if self.left_out else ""
        return f"{read}{left_out}{self.corpus.notes_text}"

    @property
    def samples(self) -> Data:
        """The data of the samples."""
        return build_data(self.corpus, list(zip(self.histories, self.golds, strict=True)))


def build_split(corpus: Corpus, protocol: ProtocolSettings) -> Split:
    """The samples of a split of a corpus."""
    targets = select(corpus, protocol).samples
    worded = [(tuple(turn.text for turn in target.scene.history), target) for target in targets]
    worded = [(history, target) for history, target in worded if words_in(history)]
    samples = [
        (history, target.target.emotion, target.conversation, target.target.text)
        for history, target in worded
        if target.target and target.target.emotion
    ]
    histories, golds, dialogues, replies = zip(*samples, strict=True) if samples else ((), (), (), ())
    runs: dict[str, dict[str, None]] = {}
    for history, name, reply in zip(histories, dialogues, replies, strict=True):
        runs.setdefault(name, {}).update(dict.fromkeys(run_digests((*history, reply))))
    of_each = tuple(map("".join, runs.values()))
    unlabelled = tuple(history for history, _ in worded)
    return Split(corpus, histories, golds, dialogues, of_each, unlabelled, len(targets) - len(samples))


def build_data(corpus: Corpus, used: Sequence[object]) -> Data:
    """Describe the used part of a split with a digest."""
    digest = hashlib.sha256(json.dumps(used).encode()).hexdigest()
    return Data(corpus=corpus.name, split=corpus.split, samples=len(used), digest=digest)


def refuse_unfit(settings: TrainSettings, fitted_to: Split, validated_on: Split) -> None:
    """Raise CorpusError or ConfigError if a label or the validation split has no sample."""
    where, labels = f"dataset={fitted_to.corpus.name}, split={settings.split}", fitted_to.corpus.labels
    if missing := [label for label in labels if label not in fitted_to.golds]:
        what = f"{len(missing)} of {len(labels)} labels have no sample: {', '.join(missing)}"
        hint = "train on a whole split of a labelled corpus: mmerg data dataset=… counts its labels"
        raise CorpusError(what, where=where, hint=hint)
    if not validated_on.golds:
        what = f"the split {settings.validation} has no sample with a label and words"
        raise ConfigError(what, where=where, hint="set validation=… to another split")
