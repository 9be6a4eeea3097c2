"""Fits the models to labelled histories, and validates them. Nothing is drawn: the same data, the same models."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from mmerg.errors import CorpusError
from mmerg.scoring.metric import Indices, Value
from mmerg.scoring.score import Confusion, Score
from mmerg.sem.model import Columns, Dense, Model, tfidf, words_of

FEWEST = 5  # samples of a label
RARE = 2  # histories that must have a word: a rarer one says nothing of other histories
Flat = np.ndarray[tuple[int], np.dtype[np.float64]]
At = Callable[[int], None]
BINS = 10  # of the calibration error
TOPS = (1, 3, 10, 20)  # as the paper gives the model's accuracy
Chances = Sequence[Mapping[str, float]]  # of each sample the labels with their probabilities, the most probable first


@dataclass(frozen=True)
class Labelled:
    """history: the texts of the turns before the reply."""

    history: tuple[str, ...]
    label: str


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
        hint += "; of EmpatheticDialogues dataset.label_set=ekman has few labels"
        raise CorpusError(what, where=where, hint=hint)


def document_counts(histories: Sequence[Sequence[str]]) -> Counter[str]:
    """In how many of the histories each word is."""
    return Counter(word for history in histories for word in {word for text in history for word in words_of(text)})


def idf(histories: int, having: int) -> float:
    """ln((1+N)/(1+df)) + 1 of a word that `having` (df) of `histories` (N) have."""
    return float(np.log((1 + histories) / (1 + having)) + 1)


def fit(
    samples: Sequence[Labelled], labels: Sequence[str], l2: float = 1.0, max_steps: int = 300, at: At = lambda _: None
) -> tuple[Model, str]:
    """The model over tf-idf with the least negative log likelihood + l2/2 · ‖weights‖², by L-BFGS, and how many steps
    that took. at: is called with every step. Raises CorpusError where no two histories share a word."""
    from scipy.sparse import csr_matrix

    counts = document_counts([sample.history for sample in samples])
    column = {word: number for number, word in enumerate(sorted(word for word in counts if counts[word] >= RARE))}
    if not column:
        raise CorpusError("no word stands in two histories", where=f"{len(samples)} samples", hint="train on more")
    table = np.array([idf(len(samples), counts[word]) for word in column])
    vectors = [tfidf(sample.history, column, table) for sample in samples]
    ends = np.cumsum([0, *(len(columns) for columns, _ in vectors)])
    columns, values = (np.concatenate(parts) for parts in zip(*vectors, strict=True))
    rows = csr_matrix((values, columns, ends), shape=(len(samples), len(column)))
    dense, steps = fit_dense(rows, samples, labels, l2, max_steps, at)
    return Model(dense.labels, column, table, dense.weights, dense.bias), steps


def fit_dense(
    rows: Any,
    samples: Sequence[Labelled],
    labels: Sequence[str],
    l2: float = 1.0,
    max_steps: int = 300,
    at: At = lambda _: None,
) -> tuple[Dense, str]:
    """The same over vectors of the samples. rows: [samples, dimensions], a matrix of numpy's or a sparse one."""
    from scipy.optimize import minimize

    rows = rows.astype(np.float64)
    number = {label: index for index, label in enumerate(labels)}
    gold = np.array([number[sample.label] for sample in samples])
    steps = count(1)
    shape = (len(labels), rows.shape[1] + 1)
    best = minimize(
        objective(rows, gold, shape, l2),
        np.zeros(shape[0] * shape[1]),
        jac=True,
        method="L-BFGS-B",
        callback=lambda _: at(next(steps)),
        options={"maxiter": max_steps, "maxfun": 2 * max_steps},
    )
    parameters = best.x.reshape(shape).astype(np.float32)
    enough = "converged" if best.success else "not converged: max_steps=… gives it more"
    return Dense(tuple(labels), parameters[:, :-1], parameters[:, -1]), f"{best.nit} steps, {enough}"


def objective(rows: Any, gold: Columns, shape: tuple[int, int], l2: float) -> Callable[[Flat], tuple[float, Flat]]:
    """The loss that is minimised, divided by the number of samples: its value and its gradient at weights and bias
    [labels, columns + 1], laid out flat."""
    samples, turned = len(gold), rows.T if isinstance(rows, np.ndarray) else rows.T.tocsr()
    every = np.arange(samples)

    def at(flat: Flat) -> tuple[float, Flat]:
        weights, bias = flat.reshape(shape)[:, :-1], flat.reshape(shape)[:, -1]
        scores = rows @ weights.T + bias
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        value = -scores[every, gold].sum() + l2 / 2 * (weights**2).sum()
        away = np.exp(scores)
        away[every, gold] -= 1
        gradient = np.hstack([(turned @ away).T + l2 * weights, away.sum(axis=0)[:, None]])
        return float(value / samples), gradient.ravel() / samples

    return at


def figures(chances: Chances, samples: Sequence[Labelled], dialogues: Sequence[str]) -> dict[str, Score]:
    """topk: the share of samples, in percent, whose label is among the k most probable. ece: the expected calibration
    error, in percent, over ten bins of the probability of the label that is predicted. dialogues: each sample's."""
    ranks = np.array([list(one).index(sample.label) for one, sample in zip(chances, samples, strict=True)])
    sure = np.array([next(iter(one.values())) for one in chances])
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    away = (ranks == 0) - sure

    def share(k: int) -> Value:
        return lambda indices: float(100 * (ranks[indices] < k).mean())

    def ece(indices: Indices) -> float:
        gaps = np.bincount(bins[indices], weights=away[indices], minlength=BINS)
        return float(100 * np.abs(gaps).sum() / len(indices))

    scores = {}
    for k in (k for k in TOPS if k < len(chances[0])):
        signature = f"label:target|among:{k}|scale:100"
        top = Score(name=f"top{k}", value=None, n=0, higher_is_better=True, signature=signature)
        scores[top.name] = top.over(share(k), dialogues, "wilson")
    error = Score(name="ece", value=None, n=0, higher_is_better=False, signature=f"bins:{BINS}|scale:100")
    return scores | {"ece": error.over(ece, dialogues, "bootstrap")}


def confusion(chances: Chances, samples: Sequence[Labelled], labels: Sequence[str]) -> Confusion:
    """Counts by label and by the one that is predicted."""
    pairs = Counter((sample.label, next(iter(one))) for one, sample in zip(chances, samples, strict=True))
    counts = tuple(tuple(pairs[gold, predicted] for predicted in labels) for gold in labels)
    return Confusion(labels=tuple(labels), counts=counts, failed=(0,) * len(labels))
