"""A corpus is validated when it is read, and an error in its reader is reported with file and line."""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmerg.console.terminal import run_command
from mmerg.corpora.dialogue import Clip, Corpus, Crop, Dialogue, Turn
from mmerg.corpora.folder import Folder, demo_root
from mmerg.corpora.reading import check_corpus, clip_files, read_corpus
from mmerg.errors import CorpusError
from mmerg.experiment.build import load_corpus
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from mmerg.storage.files import Snapshot
from tests.configs import compose_config, parse_settings
from tests.corpora import readers
from tests.corpora.readers import TALK, Doubled, Exiting, Mislabelled, Raising, Sound

HERE = str(inspect.getsourcefile(readers))
ANA, BEN = TALK.turns


def refusal(faulty: object) -> str:
    with pytest.raises(CorpusError) as caught:
        check_corpus(faulty, Sound())
    assert caught.value.what.startswith("what tests.corpora.readers.Sound returned cannot be used\n")
    assert (caught.value.where, bool(caught.value.hint)) == (HERE, True)
    return caught.value.what.split("\n", 1)[1]


def talk(**changes: Any) -> Dialogue:
    return replace(TALK, **changes)


def ana(**changes: Any) -> Turn:
    return replace(ANA, **changes)


def corpus(**changes: Any) -> Corpus:
    changed: Corpus = replace(Sound().load(), **changes)
    return changed


def test_a_valid_corpus_is_returned_unchanged() -> None:
    assert read_corpus(Sound()) == Sound().load()
    assert read_corpus(Folder(demo_root())) == Folder(demo_root()).load()
    odd = corpus(name="caf\udce9", dialogues=(talk(conversation="/\udce9#tea", episode=None, situation=""),))
    assert check_corpus(odd, Sound()) is odd


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"dialogues": (TALK, TALK)}, "ids: 2 have the id 'tea': 0, 1"),
        ({"labels": ("joy", "anger", "joy")}, "labels: 2 have the label 'joy': 0, 2"),
        ({"labels": ("joy",)}, "dialogues.0.turns.0.emotion: 'anger' is none of the labels joy"),
        ({"labels": ()}, "labels: Tuple should have at least 1 item"),
        ({"dialogues": (talk(turns=()),)}, "dialogues.0.turns: Tuple should have at least 1 item"),
        ({"dialogues": (talk(id=7),)}, "dialogues.0.id: Input should be a valid string, and it is 7"),
        ({"dialogues": (talk(turns=(ana(), "Ben: Oh.")),)}, "dialogues.0.turns.1: Input should be"),
        ({"dialogues": (talk(turns=(ana(text=" "), BEN)),)}, "dialogues.0.turns.0.text: String"),
        ({"dialogues": (talk(turns=(ana(end=float("nan")), BEN)),)}, "dialogues.0.turns.0.end: "),
        (
            {"dialogues": (talk(turns=(ana(clip=Clip("a.mp4")), BEN)),)},  # type: ignore[arg-type]
            "dialogues.0.turns.0.clip.path: Input should be an instance of Path",
        ),
        ({"notes": {"rows": "3"}}, "notes.rows: Input should be a valid integer"),
    ],
)
def test_an_invalid_corpus_is_refused_with_the_place(changes: dict[str, Any], problem: str) -> None:
    assert refusal(corpus(**changes)).startswith(f"  {problem}")


def test_a_list_of_dialogues_is_not_a_corpus() -> None:
    assert refusal([TALK]).startswith("  corpus: Input should be")


def test_an_exception_in_a_reader_is_reported_with_file_and_line() -> None:
    with pytest.raises(CorpusError) as caught:
        read_corpus(Raising())
    source, first = inspect.getsourcelines(Raising)
    line = first + next(offset for offset, text in enumerate(source) if 'row["text"]' in text)
    assert caught.value.what == "tests.corpora.readers.Raising raised KeyError: 'text'"
    assert caught.value.where == f"{HERE}, line {line}"
    assert "docs/extend.md" in caught.value.hint


@pytest.mark.parametrize(
    ("command", "reader", "problem"),
    [
        ("run", Doubled, "ids: 2 have the id 'tea': 0, 2"),
        ("data", Mislabelled, "'boredom' is none of the labels joy, anger"),
        ("data", Raising, "raised KeyError: 'text'"),
        ("data", Exiting, "raised SystemExit: 0"),
    ],
)
def test_commands_refuse_a_faulty_reader(
    command: str, reader: type, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mmerg.checking.check import check_data

    settings = ("dataset=folder", "dataset.root=/x", f"dataset.reader._target_=tests.corpora.readers.{reader.__name__}")
    if command == "run":
        code = run_command(lambda: bool(load_corpus(parse_settings(*settings).dataset)))
    else:
        code = run_command(
            lambda: check_data(parse(compose_config(*settings, f"runs={tmp_path}", name="data"), RunSettings))
        )
    assert code == 2
    assert problem in (error := capsys.readouterr().err)
    assert HERE in error


def test_missing_and_changed_clips_are_detected(tmp_path: Path) -> None:
    names = ["a.mp4", "b.mp4", "c.mp4"]
    for name in names:
        (tmp_path / name).write_bytes(b"clip")
    clips = [*(Clip(tmp_path / name) for name in names), Clip(tmp_path / "a.mp4", 1.0, 2.0, Crop(0, 0, 0.5, 1))]
    filmed = corpus(dialogues=(talk(turns=tuple(ana(clip=clip) for clip in clips)),))
    before = Snapshot.take([*clip_files(filmed), tmp_path / "never.mp4", tmp_path / "nu\0ll.mp4", tmp_path])
    assert before.find_changed(before) == []
    (tmp_path / "a.mp4").unlink()
    (tmp_path / "c.mp4").write_bytes(b"longer than it was")
    (tmp_path / "never.mp4").write_bytes(b"new")
    assert before.find_changed(before) == [tmp_path / "a.mp4", tmp_path / "c.mp4"]
    assert before.find_changed([tmp_path / "b.mp4", tmp_path / "never.mp4"]) == []
    assert Snapshot.take(clip_files(filmed)).digest() != before.digest()
    (tmp_path / "a.mp4").write_bytes(b"back")
    (tmp_path / "c.mp4").write_bytes(b"clip")
    assert Snapshot.take(clip_files(filmed)).digest() == before.digest()
