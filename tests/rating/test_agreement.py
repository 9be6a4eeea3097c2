"""Coefficients of agreement against published examples, and against another program on random ratings."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from mmerg.rating.agreement import gwet_ac2, icc, krippendorff_alpha, weighted_kappa

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


def all_items(ratings: np.ndarray) -> np.ndarray:
    return np.arange(len(ratings))


@pytest.mark.parametrize(
    ("ratings", "points", "level", "published"),
    [
        (BINARY, (0, 1), "nominal", 0.095),
        (LABELS, (0, 1, 2, 3, 4), "nominal", 0.692),
        (OBSERVERS, (1, 2, 3, 4, 5), "nominal", 0.743),
        (OBSERVERS, (1, 2, 3, 4, 5), "ordinal", 0.815),
    ],
)
def test_alpha_matches_krippendorffs_examples(ratings, points, level, published) -> None:  # type: ignore[no-untyped-def]
    assert krippendorff_alpha(ratings, points, level)(all_items(ratings)) == pytest.approx(published, abs=6e-4)


def test_ac2_matches_gwets_package() -> None:
    # The value of his package irrCAC 0.4.4 for these four observers.
    assert gwet_ac2(OBSERVERS, (1, 2, 3, 4, 5))(all_items(OBSERVERS)) == pytest.approx(0.89894, abs=1e-6)


def test_icc_matches_the_example_of_shrout_and_fleiss() -> None:
    assert icc(TARGETS) == pytest.approx(0.62, abs=0.005)


def test_kappa_matches_scikit_learn() -> None:
    a, b = np.random.default_rng(0).integers(1, 6, (2, 60)).astype(float)
    assert weighted_kappa(a, b) == pytest.approx(cohen_kappa_score(a, b, labels=[1, 2, 3, 4, 5], weights="quadratic"))


def test_agreement_is_undefined_without_variance_or_pairs() -> None:
    same, alone = np.full((5, 3), 4.0), np.array([[1.0], [2.0]])
    assert np.isnan(krippendorff_alpha(same, (1, 2, 3, 4, 5), "ordinal")(all_items(same)))
    assert np.isnan(krippendorff_alpha(alone, (1, 2), "nominal")(all_items(alone)))
    assert np.isnan(icc(alone))


def test_an_item_may_be_drawn_twice() -> None:
    drawn, points = np.array([0, 0, 3, 5, 5, 5]), (1, 2, 3, 4, 5)
    repeated = OBSERVERS[drawn]
    whole = all_items(repeated)
    assert krippendorff_alpha(OBSERVERS, points, "ordinal")(drawn) == pytest.approx(
        krippendorff_alpha(repeated, points, "ordinal")(whole)
    )
    assert gwet_ac2(OBSERVERS, points)(drawn) == pytest.approx(gwet_ac2(repeated, points)(whole))
