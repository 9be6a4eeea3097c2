"""`mmerg train`: what it prints and writes, and what it refuses."""

import json
import re
from pathlib import Path

import pytest

from mmerg.errors import RunError
from mmerg.sem.artefact import digest_ngrams, read_sem
from tests.processes import run_main
from tests.sem.talks import EKMAN, MOODS, planted, train, write_talks


def test_it_prints_scores_with_n_and_the_file_last(
    talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vad.txt").write_text("angryword\t0.1\t0.9\t0.5\nnirgends\t0.1\t0.9\t0.5\n", encoding="utf-8")
    assert train(talks, tmp_path / "sem.json", f"lexicon={tmp_path}/vad.txt") == 0
    printed = capsys.readouterr().out
    share, ece = r"100\.00 90\.36–100\.00 36", r"\d+\.\d\d \d+\.\d\d–\d+\.\d\d 36"
    assert re.search(rf"percent 95 % interval n .*top1 {share} top3 {share} ece {ece}", flat(printed))
    assert re.search(r"\d+ words in S, 1 of them in the lexicon, \d high", flat(printed))
    assert printed.splitlines()[-1] == f"sem: {tmp_path}/sem.json"


def flat(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())


def test_the_file_records_its_training_data(sem: Path) -> None:
    model = read_sem(sem)
    assert set(model.labels) == set(EKMAN)
    assert (model.trained_on.split, model.trained_on.samples, model.validated_on.split) == ("train", 36, "valid")
    assert model.causes.words == tuple(sorted(f"{mood}word" for mood in MOODS.values()))
    assert model.causes.lexicon is not None
    histories = [planted(list(MOODS.values()), 6, seed=seed)[0].history[:1] for seed in range(3)]
    assert [model.was_fitted_to(history) for history in histories] == [True, True, False]
    assert model.confusion == tuple(tuple(6 * (row == column) for column in range(6)) for row in range(6))


@pytest.mark.parametrize(
    ("turns", "recognised"),
    [
        (["오늘 회사에서 해고를 당했습니다", "정말 마음이 아프네요 괜찮으세요"], True),
        (["오늘 회사에서 승진을 했습니다", "정말 마음이 기쁘네요 축하드려요"], False),
        (["Tôi đã mất việc hôm nay.", "Ôi không."], True),  # with a short turn, but the whole of it
        (["Ive lost my job today", "Oh no thats hard"], True),
        (["Hi, how are you?", "Fine, thanks."], False),  # two people may say it by chance
        (["그렇습니다그렇습니다", "안녕히계세요감사합니다"], False),  # no three words
    ],
)
def test_a_copy_of_a_short_talk_is_recognised(turns: list[str], recognised: bool, sem: Path) -> None:
    fitted_to = [
        ["오늘 회사에서 해고를 당했습니다", "정말 마음이 아프네요 괜찮으세요"],
        ["Tôi đã mất việc hôm nay.", "Ôi không."],
        ["I've lost my job today.", "Oh no, that's hard."],
        ["Hi, how are you?", "Fine, thanks."],
    ]
    conversations = tuple("".join(digest_ngrams(talk)) for talk in fitted_to)
    model = read_sem(sem).model_copy(update={"conversations": conversations})
    assert model.was_fitted_to(turns) is recognised


def test_the_same_data_give_the_same_bytes(talks: Path, sem: Path, tmp_path: Path) -> None:
    assert train(talks, tmp_path / "again", f"lexicon={talks}/vad.txt") == 0
    assert (tmp_path / "again").read_bytes() == sem.read_bytes()


def test_no_file_is_overwritten_or_left_incomplete(
    talks: Path, sem: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sem.read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    capsys.readouterr()
    for out in (sem, tmp_path / "link"):
        assert train(talks, out) == 2
        printed = capsys.readouterr()
        assert "the output file already exists" in printed.err
        assert not printed.out  # refused before any work
    assert sem.read_bytes() == before
    assert train(talks, tmp_path / "sem", "validation=train") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


@pytest.mark.parametrize(("labels", "message"), [(["sad"], "5 of 6 labels have no sample")])
def test_a_corpus_without_samples_of_some_labels_is_refused(
    labels: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_talks(tmp_path, labels, 30)
    assert train(tmp_path, tmp_path / "sem") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "sem").exists()


def test_a_corpus_without_splits_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["dataset=iemocap", f"dataset.root={tmp_path}", f"out={tmp_path}/sem"]
    assert run_main("mmerg.train", *line) == 2
    assert "has no splits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bias": [float("nan")] * 6}, "bias.0: Input should be a finite number"),
        ({"version": 7}, "version: Input should be 8"),
        ({"code": "os.system"}, "code: Extra inputs are not permitted"),
    ],
)
def test_a_file_with_other_content_is_refused(
    changes: dict[str, object], message: str, sem: Path, tmp_path: Path
) -> None:
    file = tmp_path / "sem.json"
    file.write_text(json.dumps(json.loads(sem.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    with pytest.raises(RunError, match=f"sem.json cannot be read, or is of another version: .*{message}") as caught:
        read_sem(file)
    assert "train it again" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"\xff{}", b"\x80\x04K\x01."])
def test_a_file_that_is_not_json_is_refused(content: bytes, sem: Path, tmp_path: Path) -> None:
    (tmp_path / "sem.json").write_bytes(content)
    for path in (tmp_path / "sem.json", tmp_path):
        with pytest.raises(RunError, match="cannot be read, or is of another version"):
            read_sem(path)
