"""The model over embeddings: what it learns, and which runs are refused."""

from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.launch import launch
from mmerg.runs.events import Called, Supplied
from mmerg.sem.artefact import read_sem
from mmerg.sem.fit import fit_classifier
from mmerg.sem.words import join_history
from tests.configs import parse_settings
from tests.run_folders import read_all_events
from tests.sem.talks import HASHED, MOODS, Hashed, planted, train

OWN = "sources.W.embedder._target_=tests.sem.talks.Hashed"


@pytest.fixture(scope="module")
def hashed(talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hashed") / "sem.json"
    assert train(talks, out, f"lexicon={talks}/vad.txt", *HASHED) == 0
    return out


def test_planted_words_are_learnt_from_embeddings() -> None:
    labels, embedder = ["afraid", "joyful", "sad"], Hashed()
    train_samples, test_samples = planted(labels, 60, seed=0), planted(labels, 30, seed=1)
    train_vectors, test_vectors = (
        embedder.embed([join_history(sample.history) for sample in samples])
        for samples in (train_samples, test_samples)
    )
    model = fit_classifier(train_vectors, [sample.label for sample in train_samples], c=1.0, max_iter=300)
    assert model.score(test_vectors, [sample.label for sample in test_samples]) > 0.9


def hef(talks: Path, sem: Path, tmp_path: Path, *settings: str) -> Path:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", f"sem={sem}")
    [ended] = launch(parse_settings(*base, "backend=dry", "limit=2", f"runs={tmp_path}/runs", *settings))
    return Path(ended.run)


def test_a_run_uses_the_embedding_of_the_history(talks: Path, hashed: Path, tmp_path: Path) -> None:
    run = hef(talks, hashed, tmp_path, OWN, "sources.W.k2=6")
    [supplied, _] = [event for event in read_all_events(run) if isinstance(event, Supplied)]
    [called, _] = [event for event in read_all_events(run) if isinstance(event, Called)]
    [history] = [sample.history for sample in planted(list(MOODS.values()), 6, seed=2)][:1]
    [vector] = Hashed().embed([join_history(history[:1])])
    chances = read_sem(hashed).predict(history[:1], vector)
    expected = [{"label": label, "p": round(p, 4)} for label, p in chances.items()]
    assert supplied.content[0]["emotions"] == expected
    assert f"in descending order: {', '.join(str(entry['label']) for entry in expected)}\n" in called.messages[-1].text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("+sources.W.embedder.salt=1",), r"on embeddings by {\"salt\": 0}, but the embedder is {\"salt\": 1}"),
        (("sources.W.embedder=null",), "on embeddings by .*, but there is no embedder"),
    ],
)
def test_a_run_with_another_embedder_or_none_is_refused(
    settings: tuple[str, ...], message: str, talks: Path, hashed: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"was trained .*{message}") as caught:
        hef(talks, hashed, tmp_path, OWN, *settings)
    assert caught.value.where == "sources.W, sources.W.embedder"
    assert "sources.W.embedder" in caught.value.hint
    assert not (tmp_path / "runs").exists()
