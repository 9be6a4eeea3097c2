"""Trains the small empathetic model, from settings to the artefact; `train.py` is its command."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from rich.console import Console

from mmerg.console.progress import Bar
from mmerg.console.tables import figure
from mmerg.console.terminal import console, escape, printable
from mmerg.errors import ConfigError
from mmerg.experiment.labelled import Split, read_split, refuse
from mmerg.experiment.wiring import make
from mmerg.memory.vectors import Embedder, Vectors, embed_all
from mmerg.paper.published import published
from mmerg.reporting.render import ASSETS, asset, render
from mmerg.scoring.score import Score
from mmerg.sem.artefact import Card, causes_of, data_of, id_digest, prepare, write
from mmerg.sem.fit import Chances, confusion, figures, fit, fit_dense
from mmerg.sem.lexicon import read_lexicon
from mmerg.sem.model import Dense, text_of
from mmerg.settings.model import TrainSettings

PAGE = "validation.html"
Fitted = TypeVar("Fitted")


def train(settings: TrainSettings) -> int:
    """Fits, validates, writes; 0. Raises MmergError, with nothing written, where one of these cannot be done."""
    out, folder = console(), Path(settings.out)
    if settings.split == settings.validation:
        what = f"split and validation are both {settings.split}"
        raise ConfigError(what, where="configuration", hint="validation=… another split (of MELD: dev)")
    prepare(folder)
    lexicon = read_lexicon(Path(settings.lexicon)) if settings.lexicon else None
    embedder = cast(Embedder, make(settings.features.embedder)) if settings.features.embedder else None
    identity = embedder.identity() if embedder else None  # before any work, as it may lack a file
    wanted = (settings.split, settings.validation, settings.causes_split or settings.split)
    splits = {name: read_split(settings, name) for name in dict.fromkeys(wanted)}
    for split in splits.values():
        out.print(escape(split.summary))
    fitted_to, validated_on, over = (splits[name] for name in wanted)
    refuse(settings, fitted_to, validated_on, over)

    model, steps = _fitted(out, settings, fitted_to, "words", fit)  # cause words come from it in any case
    dense: Dense | None = None
    out.print(f"{len(model.column)} words, {steps}")
    if embedder:
        vectors = _embedded(out, embedder, fitted_to)
        by_embedding, steps = _fitted(out, settings, fitted_to, "embeddings", partial(fit_dense, vectors))
        dense = by_embedding
        out.print(f"{vectors.shape[1]} dimensions, {steps}")
        chances: Chances = [by_embedding.predict(vector) for vector in _embedded(out, embedder, validated_on)]
    else:
        chances = [model.predict(sample.history) for sample in validated_on.samples]
    scores = figures(chances, validated_on.samples, validated_on.dialogues)
    taken = data_of(over.corpus.name, over.corpus.split, over.histories)
    causes = causes_of(model, over.histories, taken, settings.k1, lexicon)
    card = Card(
        labels=model.labels,
        words=tuple(model.column),
        embedder=identity,
        causes=causes,
        trained_on=fitted_to.data,
        validated_on=validated_on.data,
        figures=scores,
    )
    names = frozenset(map(id_digest, (*fitted_to.dialogues, *validated_on.dialogues)))
    page = _page(settings, fitted_to, validated_on, chances, scores)
    made = write(folder, card, model, dense, names, page)
    accuracies = ", ".join(f"{name} {_with_interval(score)}" for name, score in scores.items())
    out.print(escape(f"{validated_on.corpus.split}, n={len(chances)}: {accuracies} (percent, 95 % intervals)"))
    high = "cause words are off, as there is no lexicon"
    if lexicon and causes.high is not None:
        known = sum(word in lexicon.intensity for word in causes.words)
        high = f"{known} of them in the lexicon, {len(causes.high)} high"
    transductive = f" of {taken.corpus} {taken.split} (transductive)" if made.transductive else ""
    out.print(escape(f"{len(causes.words)} words in S{transductive}, {high}"))
    out.print(escape(f"which label is taken for which: {folder / PAGE}"))
    out.print(f"digest {made.card.digest[:16]}")
    print(f"sem: {printable(str(folder))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 0


def _fitted(
    out: Console, settings: TrainSettings, split: Split, what: str, by: Callable[..., tuple[Fitted, str]]
) -> tuple[Fitted, str]:
    most = settings.max_steps
    with Bar(out, f"fitting to {what}: steps") as bar:
        return by(split.samples, split.corpus.labels, settings.l2, most, lambda step: bar.at(step, most))


def _embedded(out: Console, embedder: Embedder, split: Split) -> Vectors:
    """The histories of the samples: [samples, dimensions]."""
    texts = [text_of(sample.history) for sample in split.samples]
    with Bar(out, f"embedding {split.corpus.split}: histories") as bar:
        return embed_all(embedder, texts, split.dialogues, bar.at)


def _page(
    settings: TrainSettings, fitted_to: Split, validated_on: Split, chances: Chances, scores: Mapping[str, Score]
) -> dict[str, str | bytes]:
    """The page of the validation, and what it needs beside it, by name."""
    [paper] = [table for table in published("hef") if set(table.columns) & set(scores)]
    page = render(
        "sem.j2",
        top="",
        faces="keep",
        fitted_to=fitted_to.summary,
        validated_on=validated_on.summary,
        features=settings.features.name,
        figures=scores,
        paper=paper,
        confusion=confusion(chances, validated_on.samples, fitted_to.corpus.labels),
    )
    return {PAGE: page, **{f"assets/{name}": asset(name) for name in ASSETS}}


def _with_interval(score: Score) -> str:
    return figure(score.value) + (f" ({' to '.join(map(figure, score.interval))})" if score.interval else "")
