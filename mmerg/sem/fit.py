"""Fits the model to labelled histories, and tells how good it is. Nothing is drawn: the same data, the same model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmerg.errors import CorpusError
from mmerg.sem.model import Columns, Model, tfidf
from mmerg.sem.words import words_of

FEWEST = 5  # samples of a label
RARE = 2  # a word that fewer histories have tells nothing of others
BINS = 10  # of the calibration error
TOPS = (1, 3, 10, 20)  # as the paper gives the model's accuracy
Flat = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Labelled:
    """history: the texts of the turns before the reply."""

    history: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class Fitted:
    """converged: whether the steps were enough."""

    model: Model
    steps: int
    converged: bool


def refuse_unfit(samples: Sequence[Labelled], labels: Sequence[str], where: str) -> None:
    """Raises CorpusError where the samples have too few of a label, one that is none, or no words."""
    counts = Counter(sample.label for sample in samples)
    hint = "train on a whole split of a labelled corpus: mmerg data dataset=… counts its labels"
    if not samples:
        raise CorpusError("no sample has a label and words in its history", where=where, hint=hint)
    if outside := sorted(set(counts) - set(labels)):
        what = f"{', '.join(outside)} is no label: they are {', '.join(labels)}"
        raise CorpusError(what, where=where, hint="correct the reader's labels")
    if len(counts) == 1:
        raise CorpusError(f"all {len(samples)} samples are {samples[0].label}", where=where, hint=hint)
    if few := [f"{label} {counts[label]}" for label in labels if counts[label] < FEWEST]:
        shown = ", ".join(few[:5]) + ", …" * (len(few) > 5)
        what = f"{len(samples)} samples are too few: every label needs {FEWEST}, and there are {shown}"
        raise CorpusError(what, where=where, hint=hint)


def fit(
    samples: Sequence[Labelled],
    labels: Sequence[str],
    l2: float = 1.0,
    max_steps: int = 300,
    at: Callable[[int], None] = lambda _: None,
) -> Fitted:
    """The model with the least negative log likelihood + l2/2 · ‖weights‖², by L-BFGS. IDF is ln((1+N)/(1+df)) + 1
    over the N histories. at: is told of every step. Raises CorpusError where no two histories share a word."""
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    seen = Counter(word for sample in samples for word in {word for text in sample.history for word in words_of(text)})
    column = {word: number for number, word in enumerate(sorted(word for word in seen if seen[word] >= RARE))}
    if not column:
        raise CorpusError("no word stands in two histories", where=f"{len(samples)} samples", hint="train on more")
    idf = np.array([np.log((1 + len(samples)) / (1 + seen[word])) + 1 for word in column])
    vectors = [tfidf(sample.history, column, idf) for sample in samples]
    ends = np.cumsum([0, *(len(columns) for columns, _ in vectors)])
    columns, values = (np.concatenate(parts) for parts in zip(*vectors, strict=True))
    rows = csr_matrix((values, columns, ends), shape=(len(samples), len(column)))
    number = {label: index for index, label in enumerate(labels)}
    gold = np.array([number[sample.label] for sample in samples])
    steps = 0

    def step(intermediate_result: object) -> None:  # noqa: ARG001 - as scipy calls it
        nonlocal steps
        steps += 1
        at(steps)

    shape = (len(labels), len(column) + 1)
    best = minimize(
        objective(rows, gold, shape, l2),
        np.zeros(shape[0] * shape[1]),
        jac=True,
        method="L-BFGS-B",
        callback=step,
        options={"maxiter": max_steps, "maxfun": 2 * max_steps},
    )
    found = best.x.reshape(shape).astype(np.float32)
    model = Model(tuple(labels), column, idf, found[:, :-1], found[:, -1])
    return Fitted(model, steps, bool(best.success))


def objective(rows: Any, gold: Columns, shape: tuple[int, int], l2: float) -> Callable[[Flat], tuple[float, Flat]]:
    """What is made least, a sample: its value and gradient at weights and bias [labels, words + 1], laid out flat."""
    count, turned = len(gold), rows.T.tocsr()
    every = np.arange(count)

    def at(flat: Flat) -> tuple[float, Flat]:
        weights, bias = flat.reshape(shape)[:, :-1], flat.reshape(shape)[:, -1]
        scores = rows @ weights.T + bias
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        value = -scores[every, gold].sum() + l2 / 2 * (weights**2).sum()
        away = np.exp(scores)
        away[every, gold] -= 1
        gradient = np.hstack([(turned @ away).T + l2 * weights, away.sum(axis=0)[:, None]])
        return float(value / count), gradient.ravel() / count

    return at


def figures(model: Model, samples: Sequence[Labelled]) -> Mapping[str, float]:
    """acc@k: the share of samples, in percent, whose label is among the k most probable. ece: the expected calibration
    error, in percent, over ten bins of the probability of the label that is predicted."""
    found = [model.predict(sample.history) for sample in samples]
    ranks = np.array([list(chances).index(sample.label) for chances, sample in zip(found, samples, strict=True)])
    sure = np.array([max(chances.values()) for chances in found])
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs(((ranks == 0) - sure)[bins == one].sum()) for one in range(BINS)]
    shares = {f"acc@{k}": float((ranks < k).mean()) for k in TOPS if k < len(model.labels)}
    return {name: round(100 * float(value), 2) for name, value in (shares | {"ece": sum(gaps) / len(samples)}).items()}
