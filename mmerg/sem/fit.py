"""Fits scikit-learn's models to labelled histories. The same data give the same model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mmerg.sem.artefact import Causes, Data, Floats
from mmerg.sem.lexicon import Lexicon
from mmerg.sem.words import words_in

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

ROUNDING = 1e-9
DECIMALS = 6  # of a weight in the file
History = Sequence[str]  # the texts of the turns before the reply


def vectorizer(**settings: Any) -> "TfidfVectorizer":
    """Tf-idf over histories."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(analyzer=words_in, **settings)


def fit(features: Any, golds: Sequence[str], c: float, max_iter: int) -> "LogisticRegression":
    """Fit a logistic regression. features: [samples, columns], dense or sparse. golds: [samples]."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=c, max_iter=max_iter).fit(features, golds)


def extract_weights(model: "LogisticRegression") -> tuple[Floats, Floats]:
    """Weights [labels, columns] and bias [labels] of a softmax. For two labels scikit-learn fits a sigmoid."""
    weights, bias = model.coef_, model.intercept_
    if len(weights) == 1:
        weights, bias = np.vstack([-weights / 2, weights / 2]), np.hstack([-bias / 2, bias / 2])
    return weights.round(DECIMALS), bias.round(DECIMALS)


def fit_causes(
    words: "TfidfVectorizer",
    model: "LogisticRegression",
    histories: Sequence[History],
    over: Data,
    k1: int,
    lexicon: Lexicon | None,
) -> Causes:
    """The set S over the histories of `over`. The salience of a word is coefficient × tf-idf for the predicted label;
    words with a negative salience are never in S."""
    features, weights = words.transform(histories).tocsr(), extract_weights(model)[0]
    predicted = np.searchsorted(model.classes_, model.predict(features))
    top: set[int] = set()
    for start, end, label in zip(features.indptr, features.indptr[1:], predicted, strict=False):
        columns = features.indices[start:end]
        salience = weights[label, columns] * features.data[start:end]
        first = np.argsort(-salience, kind="stable")[:k1]
        top.update(columns[first[salience[first] > 0]].tolist())
    names = tuple(words.get_feature_names_out()[sorted(top)].tolist())
    idf = vectorizer(vocabulary=names).fit(histories).idf_
    if not lexicon:
        return Causes(over=over, k1=k1, words=names, mean_idf=idf.mean())
    intensity = np.array([lexicon.intensity.get(word, 0.0) for word in names])
    # The mean of equal values may be slightly less.
    above = [values - values.mean() > ROUNDING for values in (idf, intensity)]
    high = tuple(name for name, *both in zip(names, *above, strict=True) if all(both))
    means = {"mean_idf": idf.mean(), "mean_intensity": intensity.mean()}
    return Causes(over=over, k1=k1, words=names, high=high, lexicon=lexicon.digest, **means)
