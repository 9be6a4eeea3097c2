"""`mmerg train sem` and `system=hef` with what it makes: whole or refused, from the split to the prompt."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mmerg.errors import ConfigError, MmergError
from mmerg.experiment.training import PAGE
from mmerg.sem.artefact import CARD, WEIGHTS, causes_of, data_of, read, write
from mmerg.sem.fit import Labelled, fit, idf
from mmerg.sem.lexicon import Lexicon
from mmerg.train import check_line
from tests.processes import main_of
from tests.sem.talks import EKMAN, MOODS, train, write_talks


def test_it_prints_figures_with_n_and_ends_with_the_folder(
    talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(talks, tmp_path / "sem") == 0
    printed = capsys.readouterr().out
    share, ece = r"100\.00 \(\d\d\.\d\d to 100\.00\)", r"\d+\.\d\d \(\d+\.\d\d to \d+\.\d\d\)"
    assert re.search(rf"valid, n=36: top1 {share}, top3 {share}, ece {ece} \(percent, 95 % intervals\)", flat(printed))
    assert "cause words are off, as there is no lexicon" in printed
    assert printed.splitlines()[-1] == f"sem: {tmp_path}/sem"
    (tmp_path / "vad.txt").write_text("angryword\t0.1\t0.9\t0.5\nnirgends\t0.1\t0.9\t0.5\n", encoding="utf-8")
    assert train(talks, tmp_path / "other", f"lexicon={tmp_path}/vad.txt") == 0
    printed = flat(capsys.readouterr().out)
    assert re.search(r"\d+ words in S, 1 of them in the lexicon, \d high", printed)


def test_rows_whose_label_is_none_of_the_datasets_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_talks(tmp_path, list(MOODS.values())) / "train.csv"
    file.write_text(file.read_text(encoding="utf-8").replace(",angry,", ",glum,", 2), encoding="utf-8")
    assert train(tmp_path, tmp_path / "sem") == 0
    assert "labels_unknown 2" in flat(capsys.readouterr().out)


def flat(text: str) -> str:
    """A text as it is where no terminal breaks its lines."""
    return " ".join(text.split())


def test_the_artefact_says_what_it_was_made_from(sem: Path) -> None:
    made = read(sem)
    card = made.card
    assert set(card.labels) == set(EKMAN)
    assert (card.trained_on.split, card.trained_on.samples, card.validated_on.split) == ("train", 36, "valid")
    assert card.causes.words == tuple(sorted(f"{mood}word" for mood in MOODS.values()))
    assert card.causes.lexicon is not None
    assert {made.knows("hit:00_conv:00"), made.knows("hit:10_conv:10")} == {True}
    assert not made.knows("hit:20_conv:20")


def test_a_model_that_did_not_converge_is_none(sem: Path, tmp_path: Path) -> None:
    made = read(sem)
    for table, message in ((made.model.bias * np.nan, "hold what is no number"), (made.model.bias[1:], "other sizes")):
        with pytest.raises(ConfigError, match=message):
            write(tmp_path / "sem", made.card, replace(made.model, bias=table), None, made.dialogues, {})
        assert not list(tmp_path.iterdir())


def test_a_word_of_s_is_high_where_intensity_and_idf_are_over_the_means() -> None:
    """Four words: rare and intense, rare alone, intense alone, neither."""
    intense = {"furyword": 0.9, "rareword": 0.1, "loudword": 0.9, "plainword": 0.1}
    histories = [(word,) for word, times in zip(intense, (2, 2, 6, 6), strict=True) for _ in range(times)]
    labelled = [Labelled(one, "anger" if intense[one[0]] > 0.5 else "sadness") for one in histories]
    model = fit(labelled, ["anger", "sadness"])[0]
    causes = causes_of(model, histories, data_of("own", "train", histories), 1, Lexicon(intense, "0" * 64))
    assert causes.words == tuple(sorted(intense))
    assert causes.mean_idf == pytest.approx((idf(16, 2) + idf(16, 6)) / 2)
    assert causes.mean_intensity == pytest.approx(0.5)
    assert causes.high == ("furyword",)


def test_words_that_are_as_intense_and_as_rare_as_all_are_not_high(sem: Path) -> None:
    """The sum of equal numbers, over how many they are, may come out below each of them."""
    made = read(sem)
    assert made.card.causes.mean_idf == pytest.approx(made.model.idf[made.model.column["angryword"]])
    assert made.card.causes.high == ()
    assert made.cause_words(["the angryword", "a sadword, a SADWORD"]) == ([], ["angryword", "sadword"])


def test_the_same_data_give_the_same_bytes(talks: Path, sem: Path, tmp_path: Path) -> None:
    assert train(talks, tmp_path / "again", f"lexicon={talks}/vad.txt") == 0
    for name in (CARD, WEIGHTS):
        assert (tmp_path / "again" / name).read_bytes() == (sem / name).read_bytes()
    assert train(talks, tmp_path / "other", "l2=2.0") == 0
    assert read(tmp_path / "other").card.digest != read(sem).card.digest


def test_nothing_is_overwritten_and_nothing_is_left_half(
    talks: Path, sem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (sem / CARD).read_bytes()
    assert train(talks, sem) == 2
    assert (sem / CARD).read_bytes() == before
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert train(talks, tmp_path / "file" / "sem") == 2
    assert train(talks, tmp_path / "sem", "validation=train") == 2
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert train(talks, tmp_path / "link") == 2
    assert train(talks, tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    capsys.readouterr()
    assert train(talks, Path()) == 2  # before any work: nothing could take this folder's place
    printed = capsys.readouterr()
    assert "out is there already" in printed.err
    assert not printed.out


def test_the_page_shows_figures_and_what_is_taken_for_what(sem: Path) -> None:
    page = (sem / PAGE).read_text(encoding="utf-8")
    rows = re.findall(r"<tr><th scope=\"row\"><bdi>(\w+)</bdi></th>(.*?)</tr>", page, re.DOTALL)
    counts = {label: [int(count) for count in re.findall(r">(\d+)</td>", cells)] for label, cells in rows}
    assert list(counts) == list(read(sem).card.labels)
    assert list(counts.values()) == [[6 * (row == column) for column in range(6)] for row in range(6)]
    assert "42.02" in page  # the paper's own, beside ours
    assert re.search(r"top1.*?<b>100\.00</b>.*?90\.36 to 100\.00.*?>36<", page, re.DOTALL)
    wanted = re.findall(r"(?:src|href)=\"([^#\"]+)\"", page)
    assert wanted
    assert all((sem / file).is_file() for file in wanted)
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("labels", "message"), [(["sad"], "all 30 samples are sadness"), (["glum"], "are no emotions")]
)
def test_data_that_teach_nothing_are_told(
    labels: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_talks(tmp_path, labels, 30)
    assert train(tmp_path, tmp_path / "sem") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "sem").exists()


def test_what_is_trained_must_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        ([], "say what is to be trained"),
        (["sam"], "nothing to train called 'sam'"),
        (["sem", "dataset=meld", "dataset.split=dev"], r"dataset.split says nothing[^$]*split=… is what"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_line(words)
    for words in (["--help"], ["sem", "--help"]):
        assert main_of("mmerg.train", *words) == 0
        assert "lexicon: null" in capsys.readouterr().out


def test_a_corpus_without_splits_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["dataset=iemocap", f"dataset.root={tmp_path}", f"out={tmp_path}/sem"]
    assert main_of("mmerg.train", "sem", *line) == 2
    assert "has no splits" in capsys.readouterr().err


def changed_card(folder: Path, **changes: object) -> None:
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    (folder / CARD).write_text(json.dumps(card | changes), encoding="utf-8")


def other_weights(folder: Path) -> None:
    """The tables of a sound model that is another."""
    with np.load(folder / WEIGHTS) as file:
        tables = dict(file)
    np.savez(folder / WEIGHTS, **tables | {"weights": -tables["weights"]})


@pytest.mark.parametrize(
    "damage",
    [
        other_weights,
        lambda folder: (folder / WEIGHTS).unlink(),
        lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:900]),
        lambda folder: (folder / CARD).write_bytes(b"\xff{}"),
        lambda folder: changed_card(folder, labels=["a", "b"]),
        lambda folder: changed_card(folder, format=1),
        lambda folder: changed_card(folder, figures={"ece": None}),
    ],
)
def test_what_is_not_as_it_was_written_is_refused(damage: object, sem: Path, tmp_path: Path) -> None:
    shutil.copytree(sem, tmp_path / "sem")
    assert callable(damage)
    damage(tmp_path / "sem")
    with pytest.raises(MmergError, match=r"this model cannot be used: .+") as caught:
        read(tmp_path / "sem")
    assert "train again" in caught.value.hint
