"""`mmerg train sem` and `system=hef` with what it makes: whole or refused, from the split to the prompt."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from mmerg.errors import ConfigError, MmergError
from mmerg.experiment.launch import Task, launch
from mmerg.runs.events import Called, Supplied
from mmerg.runs.folder import read_results
from mmerg.sem.artefact import CARD, WEIGHTS, read
from mmerg.settings.command import composing
from mmerg.sources.sem import Sem
from mmerg.train import command, job
from tests.composed import settings_of
from tests.corpora.empathetic_builder import Builder, Line
from tests.run_folders import all_events
from tests.sem.talks import write_talks

EKMAN = ["anger", "disgust", "fear", "happiness", "sadness", "surprise"]
MOODS = {
    "anger": "angry",
    "disgust": "disgusted",
    "fear": "afraid",
    "happiness": "joyful",
    "sadness": "sad",
    "surprise": "surprised",
}
VAD = "".join(f"{mood}word\t{0.0 if mood == 'angry' else 0.5}\t0.9\t0.5\n" for mood in MOODS.values())


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_talks(tmp_path_factory.mktemp("talks"), list(MOODS.values()))
    (root / "vad.txt").write_text(VAD, encoding="utf-8")
    return root


def train(talks: Path, out: Path, *settings: str) -> int:
    line = ["dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", f"out={out}", *settings]
    return composing(job, "train", "", line)


@pytest.fixture(scope="module")
def sem(talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sem") / "sem"
    assert train(talks, out, f"lexicon={talks}/vad.txt") == 0
    return out


def test_it_prints_figures_with_n_and_ends_with_the_folder(
    talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(talks, tmp_path / "sem") == 0
    told = capsys.readouterr().out
    assert re.search(r"valid, n=36: acc@1 100\.00, acc@3 100\.00, ece \d+\.\d\d \(percent\)", told)
    assert "cause words are off, as there is no lexicon" in told
    assert told.splitlines()[-1] == f"sem: {tmp_path}/sem"


def test_the_artefact_says_what_it_was_made_from(sem: Path) -> None:
    made = read(sem)
    card = made.card
    assert set(card.labels) == set(EKMAN)
    assert (card.trained_on.split, card.trained_on.samples, card.validated_on.split) == ("train", 36, "valid")
    assert card.causes.words == tuple(sorted(f"{mood}word" for mood in MOODS.values()))
    assert card.causes.lexicon is not None
    assert {made.knows("train_hit:00_conv:00"), made.knows("valid_hit:10_conv:10")} == {True}
    assert not made.knows("test_hit:20_conv:20")


def test_a_word_of_s_is_high_where_intensity_and_idf_are_over_the_means(sem: Path) -> None:
    made = read(sem)
    idf = {word: made.model.idf[made.model.column[word]] for word in made.card.causes.words}
    assert made.card.causes.mean_idf == pytest.approx(np.mean(list(idf.values())))
    over = [word for word, value in idf.items() if value > made.card.causes.mean_idf]
    assert made.card.causes.high == tuple(word for word in over if word == "angryword")  # of the others, none is
    assert made.cause_words(["the angryword", "a sadword, a SADWORD"])[1][-1:] == ["sadword"]


def test_the_same_data_give_the_same_bytes(talks: Path, sem: Path, tmp_path: Path) -> None:
    assert train(talks, tmp_path / "again", f"lexicon={talks}/vad.txt") == 0
    for name in (CARD, WEIGHTS):
        assert (tmp_path / "again" / name).read_bytes() == (sem / name).read_bytes()
    assert train(talks, tmp_path / "other", "l2=2.0") == 0
    assert read(tmp_path / "other").card.digest != read(sem).card.digest


def test_nothing_is_overwritten_and_nothing_is_left_half(talks: Path, sem: Path, tmp_path: Path) -> None:
    before = (sem / CARD).read_bytes()
    assert train(talks, sem) == 2
    assert (sem / CARD).read_bytes() == before
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert train(talks, tmp_path / "file" / "sem") == 2
    assert train(talks, tmp_path / "sem", "validation=train") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def one_class(root: Path) -> None:
    write_talks(root, ["sad"], 30)


def ten_rows(root: Path) -> None:
    write_talks(root, list(MOODS.values()), 1)


def no_words(root: Path) -> None:
    for number, split in enumerate(("train", "valid")):
        names = [f"hit:{number}{n}_conv:{n}" for n in range(20)]
        lines = [Line(name, turn, "?!", "sad") for name in names for turn in (1, 2)]
        Builder(split, lines).write(root)


def no_emotion(root: Path) -> None:
    write_talks(root, ["glum"], 30)


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (one_class, "all 30 samples are sadness"),
        (ten_rows, "6 samples are too few: every label needs 5"),
        (no_words, "no sample has a label and words"),
        (no_emotion, "most contexts in train.csv are no emotions"),
    ],
)
def test_data_that_teach_nothing_are_told(
    write: object, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(write)
    write(tmp_path)
    assert train(tmp_path, tmp_path / "sem") == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "sem").exists()


def test_what_is_trained_must_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.argv[:]
    try:
        for words, told in (([], "what is to be trained is not said"), (["sam"], "nothing to train called 'sam'")):
            sys.argv[:] = ["mmerg train", *words]
            with pytest.raises(ConfigError, match=told):
                command()
        for words in (["--help"], ["sem", "--help"]):
            sys.argv[:] = ["mmerg train", *words]
            assert command() == 0
            assert "lexicon=null" in capsys.readouterr().out
    finally:
        sys.argv[:] = before


@pytest.mark.parametrize("dataset", ["demo", "folder", "iemocap"])
def test_a_corpus_without_splits_is_told(dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = [f"dataset={dataset}", f"dataset.root={tmp_path}", f"out={tmp_path}/sem"]
    try:
        assert composing(job, "train", "", line) == 2
        told = capsys.readouterr().err
    except ConfigError as error:
        told = str(error)
    assert "has no splits" in told or "which this command does not have" in told


# What a run makes of it


def hef(talks: Path, sem: Path, tmp_path: Path, *settings: str) -> Path:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", f"sem={sem}")
    run = settings_of(*base, "backend=dry", "limit=2", f"runs={tmp_path}/runs", *settings)
    [ended] = launch(run)
    return Path(ended.run)


def test_one_call_sees_the_probable_emotions_and_the_cause_words(talks: Path, sem: Path, tmp_path: Path) -> None:
    run = hef(talks, sem, tmp_path, "sources.W.k2=3")
    assert {result.status for result in read_results(run).values()} == {"ok"}
    assert all(result.calls == 1 and result.emotion and result.response for result in read_results(run).values())
    [supplied, other] = [event for event in all_events(run) if isinstance(event, Supplied)]
    [asked, _] = [event for event in all_events(run) if isinstance(event, Called)]
    [content] = supplied.content
    mood, word = "anger", "angryword"
    assert (content["emotions"][0]["label"], len(content["emotions"])) == (mood, 3)
    assert word in [*content["high"], *content["low"]]
    assert "disgustedword" in [*other.content[0]["high"], *other.content[0]["low"]]
    told = asked.messages[-1].text
    assert f"the most probable first: {', '.join(one['label'] for one in content['emotions'])}\n" in told
    assert all(f'"{label}"' in told for label in EKMAN)
    assert f"telling: {word}" in told


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        (("sources.W.k2=0",), "most probable"),
        (("sources.W.cause_words=false",), "telling"),
    ],
)
def test_a_part_that_is_off_leaves_no_word(
    settings: tuple[str, ...], gone: str, talks: Path, sem: Path, tmp_path: Path
) -> None:
    [asked, _] = [event for event in all_events(hef(talks, sem, tmp_path, *settings)) if isinstance(event, Called)]
    marks = {"most probable", "telling"}
    assert {mark for mark in marks if mark in asked.messages[-1].text} == marks - {gone}


def test_without_a_lexicon_the_run_says_what_is_off(
    talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(talks, tmp_path / "sem")
    run = hef(talks, tmp_path / "sem", tmp_path)
    assert "sources W: cause words are off" in " ".join(capsys.readouterr().out.split())
    assert not any("telling" in event.messages[-1].text for event in all_events(run) if isinstance(event, Called))


def test_the_ablation_without_the_model_asks_without_it(talks: Path, tmp_path: Path) -> None:
    base = ("dataset=empathetic", f"dataset.root={talks}", "+experiment=hef_ablations", "row=without_sem")
    [ended] = launch(settings_of(*base, "backend=dry", "limit=1", f"runs={tmp_path}/runs"))
    [asked] = [event for event in all_events(Path(ended.run)) if isinstance(event, Called)]
    assert "probable" not in asked.messages[-1].text


def test_another_model_is_another_run_and_its_place_is_not(talks: Path, sem: Path, tmp_path: Path) -> None:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", "backend=dry")
    moved, other = tmp_path / "a" / "sem", tmp_path / "b" / "sem"
    for folder, settings in ((moved, ()), (other, ("k1=2",))):
        folder.parent.mkdir()
        train(talks, folder, f"lexicon={talks}/vad.txt", *settings)
    names = [Task.of(settings_of(*base, f"sem={folder}")).path.name for folder in (sem, moved, other)]
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (("dataset.label_set=32",), "knows happiness, sadness, .* and the samples have afraid"),
        (("dataset.split=valid",), "was trained or validated on valid_hit:10_conv:10, which is evaluated"),
    ],
)
def test_a_run_that_does_not_fit_the_model_is_refused_before_the_first_call(
    settings: tuple[str, ...], told: str, talks: Path, sem: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        hef(talks, sem, tmp_path, *settings)
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/manifest.json"))


def test_a_run_without_a_model_is_refused(talks: Path, tmp_path: Path) -> None:
    base = ("dataset=empathetic", f"dataset.root={talks}", "system=hef", "backend=dry")
    with pytest.raises(ConfigError, match="no small empathetic model is named") as caught:
        Task.of(settings_of(*base))
    assert "mmerg train sem" in caught.value.hint
    with pytest.raises(ConfigError, match="there is no small empathetic model"):
        Task.of(settings_of(*base, f"sem={tmp_path}"))
    with pytest.raises(ConfigError, match="k2 is -1"):
        Sem(folder=str(tmp_path), k2=-1)


def changed_card(folder: Path, **changes: object) -> None:
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    (folder / CARD).write_text(json.dumps(card | changes), encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / WEIGHTS).unlink(),
        lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:900]),
        lambda folder: (folder / CARD).write_bytes((folder / CARD).read_bytes()[:300]),
        lambda folder: (folder / CARD).write_bytes(b"\xff{}"),
        lambda folder: changed_card(folder, labels=["a", "b"]),
        lambda folder: changed_card(folder, format=2),
        lambda folder: changed_card(folder, more=1),
        lambda folder: changed_card(folder, figures={"ece": None}),
    ],
)
def test_what_is_not_as_it_was_written_is_refused(damage: object, talks: Path, tmp_path: Path) -> None:
    train(talks, tmp_path / "sem")
    assert callable(damage)
    damage(tmp_path / "sem")
    with pytest.raises(MmergError, match=r"this model cannot be used: .+") as caught:
        read(tmp_path / "sem")
    assert "train again" in caught.value.hint
