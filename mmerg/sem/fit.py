"""scikit-learn's models, fitted to labelled histories. The same data always give the same model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mmerg.sem.artefact import Causes, Floats, SplitData, split_history
from mmerg.sem.lexicon import Lexicon

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

ROUNDING = 1e-9
DECIMALS = 6  # of the weights in the file
History = Sequence[str]  # the texts of the turns before the reply


def build_vectorizer(**settings: Any) -> "TfidfVectorizer":
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(analyzer=split_history, **settings)


def fit_classifier(features: Any, golds: Sequence[str], c: float, max_iter: int) -> "LogisticRegression":
    """Fits a logistic regression. features: [samples, columns], dense or sparse. golds: the labels, [samples]."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=c, max_iter=max_iter).fit(features, golds)


def extract_weights(model: "LogisticRegression") -> tuple[Floats, Floats]:
    """Returns the weights [labels, columns] and bias [labels] of a softmax, even for two labels, for which scikit-learn
    fits a sigmoid."""
    weights, bias = model.coef_, model.intercept_
    if len(weights) == 1:
        weights, bias = np.vstack([-weights / 2, weights / 2]), np.hstack([-bias / 2, bias / 2])
    return weights.round(DECIMALS), bias.round(DECIMALS)


def fit_causes(
    words: "TfidfVectorizer",
    model: "LogisticRegression",
    histories: Sequence[History],
    over: SplitData,
    k1: int,
    lexicon: Lexicon | None,
) -> Causes:
    """Computes the set S over the histories of the split `over`. The salience of a word is its coefficient × tf-idf for
    the predicted label. Words with a negative salience are never in S."""
    features, weights = words.transform(histories).tocsr(), extract_weights(model)[0]
    predicted = np.searchsorted(model.classes_, model.predict(features))
    top: set[int] = set()
    for start, end, label in zip(features.indptr, features.indptr[1:], predicted, strict=False):
        columns = features.indices[start:end]
        salience = weights[label, columns] * features.data[start:end]
        first = np.argsort(-salience, kind="stable")[:k1]
        top.update(columns[first[salience[first] > 0]].tolist())
    names = tuple(words.get_feature_names_out()[sorted(top)].tolist())
    idf = build_vectorizer(vocabulary=names).fit(histories).idf_
    if not lexicon:
        return Causes(over=over, k1=k1, words=names, mean_idf=idf.mean())
    intensity = np.array([lexicon.intensity.get(word, 0.0) for word in names])
    # ROUNDING, because the computed mean of equal values may be slightly less than the values.
    is_high = (idf - idf.mean() > ROUNDING) & (intensity - intensity.mean() > ROUNDING)
    high = tuple(name for name, above_means in zip(names, is_high, strict=True) if above_means)
    means = {"mean_idf": idf.mean(), "mean_intensity": intensity.mean()}
    return Causes(over=over, k1=k1, words=names, high=high, lexicon=lexicon.digest, **means)
