"""The splits of a corpus that the small empathetic model is fitted to and validated on: read, and checked."""

from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.protocols import select
from mmerg.corpora.reading import read_corpus
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.wiring import make
from mmerg.sem.artefact import Data, data_of
from mmerg.sem.fit import Labelled, refuse_unfit
from mmerg.sem.model import words_of
from mmerg.settings.model import TrainSettings


@dataclass(frozen=True)
class Split:
    """samples: those with a label and words in their history. dialogues: of each its conversation's name. histories:
    all with words, labelled or not. left_out: how many targets are no samples."""

    corpus: Corpus
    samples: tuple[Labelled, ...]
    dialogues: tuple[str, ...]
    histories: tuple[tuple[str, ...], ...]
    left_out: int

    @property
    def data(self) -> Data:
        return data_of(self.corpus.name, self.corpus.split, self.samples)

    @property
    def summary(self) -> str:
        """The split with its numbers, in a sentence."""
        left_out = f", {self.left_out} without a label or words left out" if self.left_out else ""
        labels = len(self.corpus.labels)
        read = f"{self.corpus.name} {self.corpus.split}: {len(self.samples)} samples of {labels} labels"
        return f"{read}{left_out}{self.corpus.noted}"


def read_split(settings: TrainSettings, name: str) -> Split:
    """A split by its name. Raises ConfigError where the corpus has none, CorpusError where it cannot be read."""
    reader, dataset = settings.dataset.reader, settings.dataset
    if "split" not in reader.plain():
        what = f"dataset={dataset.name} has no splits, and the model is fitted to one and validated on another"
        raise ConfigError(what, where="dataset.reader", hint="dataset=empathetic, dataset=meld, or a reader with split")
    corpus = read_corpus(make(reader, split=name), dataset.labels)
    targets = select(corpus, settings.protocol).samples
    samples, dialogues, histories = [], [], []
    for target in targets:
        history = tuple(turn.text for turn in target.scene.history)
        if not any(map(words_of, history)):
            continue
        histories.append(history)
        if target.target and target.target.emotion:
            samples.append(Labelled(history, target.target.emotion))
            dialogues.append(target.conversation)
    return Split(corpus, tuple(samples), tuple(dialogues), tuple(histories), len(targets) - len(samples))


def refuse(settings: TrainSettings, fitted_to: Split, validated_on: Split, over: Split) -> None:
    """Raises CorpusError or ConfigError where the splits teach nothing, do not belong together, or are empty."""
    corpus, other = fitted_to.corpus, validated_on.corpus
    where = f"dataset={corpus.name}, split={settings.split}"
    refuse_unfit(fitted_to.samples, corpus.labels, where)
    if set(other.labels) != set(corpus.labels):
        what = f"the labels of {settings.validation} are others: {', '.join(other.labels)}"
        raise CorpusError(what, where=where, hint="a reader's `labels` are those of the whole corpus")
    if not validated_on.samples:
        what = f"the split {settings.validation} has no sample with a label and words"
        raise ConfigError(what, where=f"dataset={other.name}", hint="validation=… another split")
    if not over.histories:
        what = f"the split {settings.causes_split} has no history with words"
        raise ConfigError(what, where=f"dataset={corpus.name}", hint="causes_split=… another split, or null")
