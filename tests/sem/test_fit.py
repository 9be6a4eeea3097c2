"""The small empathetic model: what it learns from planted words, and that nothing in it is left to chance."""

import random

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_matrix

from mmerg.errors import CorpusError
from mmerg.sem.fit import Flat, Labelled, fit, objective, refuse_unfit
from mmerg.sem.model import Model, tfidf
from tests.sem.talks import planted

LABELS = ["afraid", "joyful", "sad"]


@pytest.fixture(scope="module")
def model() -> Model:
    return fit(planted(LABELS, 40), LABELS)[0]


def share_right(model: Model, samples: list[Labelled]) -> float:
    return float(np.mean([next(iter(model.predict(sample.history))) == sample.label for sample in samples]))


def test_known_words_are_learnt_and_weigh_most(model: Model) -> None:
    assert share_right(model, planted(LABELS, 20, seed=1)) == 1
    history = ["And then it was", "in the end a sadword for me, sadword", "really"]
    turn, word, weight = model.salience(history)[0]
    assert (turn, word) == (2, "sadword")
    assert weight > 2 * model.salience(history)[1][2]
    assert [word for _, word, _ in model.salience(history)].count("sadword") == 1


def test_probabilities_add_up_and_come_in_order(model: Model) -> None:
    for history in (["a sadword"], ["none of these known"], []):
        chances = model.predict(history)
        assert sum(chances.values()) == pytest.approx(1)
        assert list(chances.values()) == sorted(chances.values(), reverse=True)
        assert set(chances) == set(LABELS)


def test_a_word_is_known_however_it_is_written(model: Model) -> None:
    assert model.predict(["SADWORD!"]) == model.predict(["“sadword”"])


def test_with_shuffled_labels_it_is_at_chance() -> None:
    def shuffled(seed: int) -> list[Labelled]:
        samples = planted(LABELS, 200, seed)
        labels = [sample.label for sample in samples]
        random.Random(seed).shuffle(labels)
        return [Labelled(sample.history, label) for sample, label in zip(samples, labels, strict=True)]

    share = share_right(fit(shuffled(0), LABELS)[0], shuffled(1))
    assert 1 / 3 - 0.08 < share < 1 / 3 + 0.08  # three standard errors of 600 are 0.058


def test_the_gradient_is_that_of_the_value() -> None:
    draw = np.random.default_rng(0)
    rows, gold = csr_matrix(draw.random((12, 5)) * (draw.random((12, 5)) > 0.5)), np.arange(12) % 3
    at = objective(rows, gold, (3, 6), l2=0.7)
    point = draw.normal(size=18)

    def value(flat: Flat) -> float:
        return at(flat)[0]

    def gradient(flat: Flat) -> Flat:
        return at(flat)[1]

    assert check_grad(value, gradient, point) < 1e-6
    assert np.linalg.norm(at(point)[1]) > 0.1


def test_the_least_is_found_where_the_gradient_is_none() -> None:
    """Its scale is that of a constant model: cross-entropy's gradient by the scores, of which none is over 1."""
    samples, l2 = planted(LABELS, 30, sure=0.6), 0.5
    model = fit(samples, LABELS, l2=l2)[0]
    rows = np.zeros((len(samples), len(model.column)))
    for row, sample in zip(rows, samples, strict=True):
        columns, values = tfidf(sample.history, model.column, model.idf)
        row[columns] = values
    gold = np.array([LABELS.index(sample.label) for sample in samples])
    at = objective(rows, gold, (3, len(model.column) + 1), l2)
    least = np.hstack([model.weights, model.bias[:, None]]).astype(np.float64).ravel()
    value, gradient = at(least)
    assert np.abs(gradient).max() < 1e-4
    assert np.abs(at(np.zeros_like(least))[1]).max() > 1e-2
    assert value < at(np.zeros_like(least))[0]


def test_tables_of_numbers_and_sparse_ones_are_fitted_alike() -> None:
    draw = np.random.default_rng(0)
    rows, gold, point = draw.random((12, 5)), np.arange(12) % 3, draw.normal(size=18)
    (value, gradient), (other, like) = (
        at(point) for at in (objective(rows, gold, (3, 6), 0.7), objective(csr_matrix(rows), gold, (3, 6), 0.7))
    )
    assert value == pytest.approx(other)
    assert gradient == pytest.approx(like)


def test_idf_is_over_histories_and_rare_words_are_left_out() -> None:
    samples = [Labelled(("common common",), "a"), Labelled(("common two",), "b"), Labelled(("two", "one"), "a")]
    model = fit(samples, ["a", "b"])[0]
    assert list(model.column) == ["common", "two"]
    assert model.idf == pytest.approx([np.log(4 / 3) + 1] * 2)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "no sample has a label and words"),
        (planted(["sad"], 30), "all 30 samples are sad"),
        (planted(["glad", "sad"], 30), "glad is no label"),
        (planted(LABELS, 4)[:10], "10 samples are too few"),
    ],
)
def test_data_that_teach_nothing_are_refused(samples: list[Labelled], message: str) -> None:
    with pytest.raises(CorpusError, match=message) as caught:
        refuse_unfit(samples, LABELS, "dataset=mine")
    assert caught.value.hint
    assert caught.value.where == "dataset=mine"


def test_histories_without_a_word_in_common_are_refused() -> None:
    with pytest.raises(CorpusError, match="no word stands in two histories"):
        fit([Labelled((f"word{n}",), LABELS[n % 3]) for n in range(15)], LABELS)
