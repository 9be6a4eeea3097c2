"""Coefficients against published worked examples, and against other programs on random ratings."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from mmerg.rating.agreement import Tally, confusion, icc, kappa

NAN = np.nan
# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), part C: four observers, twelve units.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
# The same, part A: two observers, two labels.
BINARY = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], float).T
# The same, part B: two observers, five labels (a to e).
LABELS = np.array([[0, 0, 1, 1, 3, 2, 2, 2, 4, 3, 3, 0], [1, 0, 1, 1, 1, 2, 2, 2, 4, 3, 3, 3]], float).T
# Shrout and Fleiss (Psychological Bulletin 1979, 86:420), table 2.
TARGETS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def everything(ratings: np.ndarray) -> np.ndarray:
    return np.arange(len(ratings))


@pytest.mark.parametrize(
    ("ratings", "points", "level", "alpha"),
    [
        (BINARY, (0, 1), "nominal", 0.095),
        (LABELS, (0, 1, 2, 3, 4), "nominal", 0.692),
        (OBSERVERS, (1, 2, 3, 4, 5), "nominal", 0.743),
        (OBSERVERS, (1, 2, 3, 4, 5), "ordinal", 0.815),
    ],
)
def test_alpha_is_krippendorffs_own(ratings, points, level, alpha) -> None:  # type: ignore[no-untyped-def]
    assert Tally(ratings, points).alpha(level)(everything(ratings)) == pytest.approx(alpha, abs=6e-4)


def test_ac1_is_gwets_own() -> None:
    # As his package irrCAC 0.4.4 gives them of these four observers; AC1 is also in his Handbook (2014).
    tally = Tally(OBSERVERS, (1, 2, 3, 4, 5))
    for level, value in (("nominal", 0.775444), ("ordinal", 0.89894)):
        assert tally.ac2(level)(everything(OBSERVERS)) == pytest.approx(value, abs=1e-6)  # type: ignore[arg-type]


def test_icc_is_shrouts_and_fleisss_own() -> None:
    single, average = icc(TARGETS)
    assert single == pytest.approx(0.29, abs=0.005)
    assert average == pytest.approx(0.62, abs=0.005)


def test_kappa_is_scikit_learns() -> None:
    a, b = np.random.default_rng(0).integers(1, 6, (2, 60)).astype(float)
    counts = confusion(a, b, (1, 2, 3, 4, 5))
    for level, weights in (("nominal", None), ("ordinal", "quadratic")):
        wanted = cohen_kappa_score(a, b, labels=[1, 2, 3, 4, 5], weights=weights)
        assert kappa(counts, level) == pytest.approx(wanted)  # type: ignore[arg-type]


def test_alpha_is_undefined_where_nothing_can_differ() -> None:
    same, alone = np.full((5, 3), 4.0), np.array([[1.0], [2.0]])
    assert np.isnan(Tally(same, (1, 2, 3, 4, 5)).alpha("ordinal")(everything(same)))
    assert np.isnan(Tally(alone, (1, 2)).alpha("nominal")(everything(alone)))
    assert np.isnan(icc(alone)[1])


def test_units_may_be_drawn_twice() -> None:
    drawn = np.array([0, 0, 3, 5, 5, 5])
    again = OBSERVERS[drawn]
    of_all, of_drawn = Tally(OBSERVERS, (1, 2, 3, 4, 5)), Tally(again, (1, 2, 3, 4, 5))
    assert of_all.alpha("ordinal")(drawn) == pytest.approx(of_drawn.alpha("ordinal")(everything(again)))
    assert of_all.ac2("ordinal")(drawn) == pytest.approx(of_drawn.ac2("ordinal")(everything(again)))
