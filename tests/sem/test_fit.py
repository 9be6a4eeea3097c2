"""The small empathetic model: what it learns from planted words, and what it takes for the causes."""

import numpy as np
import pytest

from mmerg.sem.artefact import Causes, Sem, SplitData
from mmerg.sem.fit import build_vectorizer, extract_weights, fit_causes, fit_classifier
from mmerg.sem.lexicon import Lexicon
from tests.sem.talks import Labelled, planted

LABELS = ["afraid", "joyful", "sad"]
DATA = SplitData(corpus="own", split="train", samples=1, digest="0" * 64)


def fitted(samples: list[Labelled], over: list[tuple[str, ...]] | None = None, lexicon: Lexicon | None = None) -> Sem:
    """The model of the samples, with its S over the histories of `over`."""
    words, histories = build_vectorizer(min_df=2), [sample.history for sample in samples]
    model = fit_classifier(words.fit_transform(histories), [sample.label for sample in samples], 1.0, 300)
    weights, bias = extract_weights(model)
    return Sem(
        labels=model.classes_.tolist(),
        trained_on=DATA,
        validated_on=DATA,
        causes=fit_causes(words, model, over or histories, DATA, 1, lexicon),
        conversations=(),
        words=words.get_feature_names_out().tolist(),
        idf=words.idf_.tolist(),
        weights=weights.tolist(),
        bias=bias.tolist(),
    )


@pytest.fixture(scope="module")
def model() -> Sem:
    return fitted(planted(LABELS, 40))


def share_right(model: Sem, samples: list[Labelled]) -> float:
    return float(np.mean([next(iter(model.predict(sample.history))) == sample.label for sample in samples]))


def test_planted_words_are_learnt_and_become_cause_words(model: Sem) -> None:
    assert share_right(model, planted(LABELS, 20, seed=1)) == 1
    assert model.causes.words == tuple(f"{label}word" for label in LABELS)


def test_probabilities_add_up_and_come_in_order(model: Sem) -> None:
    for history in (["a sadword"], ["none of these known"], []):
        chances = model.predict(history)
        assert sum(chances.values()) == pytest.approx(1)
        assert list(chances.values()) == sorted(chances.values(), reverse=True)
        assert set(chances) == set(LABELS)


@pytest.mark.parametrize("labels", [LABELS[:2], LABELS])
def test_probabilities_are_those_of_scikit_learn(labels: list[str]) -> None:
    """Without scikit-learn, from the file's numbers; two labels are a case of their own there."""
    samples = planted(labels, 30, sure=0.6)
    words, histories = build_vectorizer(min_df=2), [sample.history for sample in samples]
    model = fit_classifier(words.fit_transform(histories), [sample.label for sample in samples], 1.0, 300)
    for history in (*histories[:3], ("a sadword, an afraidword",), ("unknown",)):
        [expected] = model.predict_proba(words.transform([history]))
        chances = fitted(samples).predict(history)
        assert [chances[label] for label in model.classes_] == pytest.approx(expected.tolist(), abs=1e-4)


def idf(histories: int, having: int) -> float:
    return float(np.log((1 + histories) / (1 + having)) + 1)


def test_a_word_of_s_is_high_if_its_intensity_and_idf_are_above_the_means() -> None:
    """Four words: rare and intense, rare alone, intense alone, neither."""
    intense = {"furyword": 0.9, "rareword": 0.1, "loudword": 0.9, "plainword": 0.1}
    histories = [(word,) for word, times in zip(intense, (2, 2, 6, 6), strict=True) for _ in range(times)]
    labelled = [Labelled(history, "anger" if intense[history[0]] > 0.5 else "sadness") for history in histories]
    causes = fitted(labelled, lexicon=Lexicon(intense, "0" * 64)).causes
    assert causes.words == tuple(sorted(intense))
    assert causes.mean_idf == pytest.approx((idf(16, 2) + idf(16, 6)) / 2)
    assert causes.mean_intensity == pytest.approx(0.5)
    assert causes.high == ("furyword",)


def test_s_and_its_means_are_computed_over_the_given_histories() -> None:
    causes: Causes = fitted(planted(LABELS[:2], 20), [("joyfulword",), ("joyfulword",), ("afraidword",)]).causes
    assert causes.words == ("afraidword", "joyfulword")
    assert causes.mean_idf == pytest.approx((idf(3, 1) + idf(3, 2)) / 2)
    assert causes.high is None
