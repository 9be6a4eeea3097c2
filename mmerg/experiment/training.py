"""Trains the small empathetic model, from settings to the artefact; `train.py` is its command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mmerg.console.progress import Bar
from mmerg.console.terminal import console, escape, shown
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.reading import read_corpus
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.wiring import make, protocol_of
from mmerg.sem.artefact import causes_of, data_of, id_digest, prepare, write
from mmerg.sem.fit import Labelled, figures, fit, refuse_unfit
from mmerg.sem.lexicon import read_lexicon
from mmerg.sem.words import words_of
from mmerg.settings.model import TrainSettings


def train(settings: TrainSettings) -> int:
    """Fits, validates, writes; 0. Raises MmergError, with nothing written, where one of these cannot be done."""
    out, folder = console(), Path(settings.out)
    if settings.split == settings.validation:
        what = f"split and validation are both {settings.split}"
        raise ConfigError(what, where="configuration", hint="validation=… another split (of MELD: dev)")
    prepare(folder)
    lexicon = read_lexicon(Path(settings.lexicon)) if settings.lexicon else None
    corpora = [_corpus(settings, split) for split in (settings.split, settings.validation)]
    (fitted_to, ids), (validated_on, other_ids) = (_samples(settings, corpus) for corpus in corpora)
    [data, other_data] = [
        data_of(corpus.name, corpus.split, samples)
        for corpus, samples in zip(corpora, (fitted_to, validated_on), strict=True)
    ]
    for corpus, samples in zip(corpora, (fitted_to, validated_on), strict=True):
        out.print(escape(f"{corpus.name} {corpus.split}: {len(samples)} samples of {len(corpus.labels)} labels"))
    where = f"dataset={corpora[0].name}, split={settings.split}"
    refuse_unfit(fitted_to, corpora[0].labels, where)
    if set(corpora[1].labels) != set(corpora[0].labels):
        what = f"the labels of {settings.validation} are others: {', '.join(corpora[1].labels)}"
        raise CorpusError(what, where=where, hint="a reader's `labels` are those of the whole corpus")
    if not validated_on:
        what = f"the split {settings.validation} has no sample with a label and words"
        raise ConfigError(what, where=f"dataset={corpora[1].name}", hint="validation=… another split")
    with Bar(out, "training: steps") as bar:
        fitted = fit(
            fitted_to, corpora[0].labels, settings.l2, settings.max_steps, lambda step: bar.at(step, settings.max_steps)
        )
    enough = "converged" if fitted.converged else "not converged: max_steps=… gives it more"
    out.print(f"{len(fitted.model.column)} words, {fitted.steps} steps, {enough}")
    causes = causes_of(fitted.model, fitted_to, settings.k1, lexicon)
    found = figures(fitted.model, validated_on)
    said = {"causes": causes, "trained_on": data, "validated_on": other_data, "figures": found}
    made = write(folder, fitted.model, ids | other_ids, said)
    told = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
    out.print(escape(f"{corpora[1].split}, n={len(validated_on)}: {told} (percent)"))
    high = "cause words are off, as there is no lexicon" if causes.high is None else f"{len(causes.high)} of them high"
    out.print(f"{len(causes.words)} words in S, {high}")
    out.print(f"digest {made.card.digest[:16]}")
    print(f"sem: {shown(str(folder))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 0


def _corpus(settings: TrainSettings, split: str) -> Corpus:
    reader, dataset = settings.dataset.reader, settings.dataset
    if "split" not in reader.plain():
        what = f"dataset={dataset.name} has no splits, and the model is fitted to one and validated on another"
        raise ConfigError(what, where="dataset.reader", hint="dataset=empathetic, dataset=meld, or a reader with split")
    return read_corpus(make(reader, split=split), dataset.labels)


def _samples(settings: TrainSettings, corpus: Corpus) -> tuple[list[Labelled], frozenset[int]]:
    """Samples with a label and a word in their history, and the digests of their dialogues' ids."""
    taken: Sequence[Sample] = protocol_of(settings.protocol).select(corpus).samples
    found, ids = [], set()
    for sample in taken:
        history = tuple(turn.text for turn in sample.scene.history)
        if sample.target and sample.target.emotion and any(map(words_of, history)):
            found.append(Labelled(history, sample.target.emotion))
            ids.add(id_digest(sample.dialogue_id))
    return found, frozenset(ids)
