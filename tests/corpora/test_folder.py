"""The reader of a folder of dialogues, and its error, which lists all problems."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Clip
from mmerg.corpora.folder import EXAMPLE, Folder
from mmerg.errors import CorpusError
from tests.corpora.readers import load_or_refuse

ANA = {"speaker": "Ana", "text": "I failed again."}
BEN = {"speaker": "Ben", "text": "That must hurt.", "emotion": "sadness"}


def write(root: Path, *lines: Any, clips: tuple[str, ...] = ("a.mp4", "sub/b.mp4")) -> Path:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    (root / "dialogues.jsonl").write_bytes(text.encode("utf-8"))
    for clip in clips:
        (root / clip).parent.mkdir(parents=True, exist_ok=True)
        (root / clip).write_bytes(b"clip")
    return root


def refusal(root: Path, *lines: Any) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        Folder(write(root, *lines)).load()
    return caught.value


def test_dialogues_are_read_as_written(tmp_path: Path) -> None:
    first = {**ANA, "text": "I failed “again”…", "clip": "sub/b.mp4", "start": 1, "end": 2.5}
    write(tmp_path, {"id": "tea", "turns": [first, BEN]}, "", {"id": "x", "turns": [ANA], "respond_as": "Ben"})
    corpus = Folder(tmp_path).load()
    tea, alone = corpus.dialogues
    assert tea.turns[0].text == "I failed “again”…"
    assert tea.turns[0].clip == Clip((tmp_path / "sub" / "b.mp4").resolve(), 1.0, 2.5)
    assert (tea.turns[1].emotion, tea.turns[1].clip, tea.respond_as) == ("sadness", None, None)
    assert alone.respond_as == "Ben"
    assert corpus.notes == {}
    assert corpus.fingerprint == hashlib.sha256((tmp_path / "dialogues.jsonl").read_bytes()).hexdigest()


def test_a_turn_with_a_missing_clip_keeps_its_text(tmp_path: Path) -> None:
    clips = ["gone.mp4", "no\0name.mp4", "x" * 5000 + ".mp4", "sub"]
    write(tmp_path, {"id": "tea", "turns": [*({**ANA, "clip": clip} for clip in clips), BEN]})
    corpus = Folder(tmp_path).load()
    assert [turn.clip for turn in corpus.dialogues[0].turns] == [None] * 5
    assert corpus.notes == {"clips_missing": 4}


def test_the_name_of_a_conversation_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    names = []
    for folder, text in {"mine": EXAMPLE, "moved": EXAMPLE, "other": EXAMPLE.replace("failed", "won")}.items():
        (tmp_path / folder).mkdir()
        names.append(Folder(write(tmp_path / folder, text)).load().dialogues[0].conversation)
    assert names[0] == names[1] != names[2]


def test_two_names_of_a_clip_give_one_path(tmp_path: Path) -> None:
    write(tmp_path, {"id": "tea", "turns": [{**ANA, "clip": "./sub/../a.mp4"}, {**BEN, "clip": "link.mp4"}]})
    (tmp_path / "link.mp4").symlink_to(tmp_path / "a.mp4")
    first, second = Folder(tmp_path).load().dialogues[0].turns
    assert first.clip == second.clip == Clip((tmp_path / "a.mp4").resolve())


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        ({"speaker": "Ana"}, "turns.0.text: Field required"),
        ({**ANA, "speaker": " "}, "turns.0.speaker: String should have at least 1 character"),
        ({**ANA, "mood": "sad"}, "turns.0.mood: Extra inputs are not permitted"),
        ({**ANA, "clip": "a.mp4", "start": float("nan")}, "turns.0.start: Input should be a finite number"),
        ({**ANA, "clip": "a.mp4", "start": 2, "end": 2}, "turns.0: end (2 s) is not after start (2 s)"),
        ({**ANA, "end": 2}, "turns.0: start and end are seconds in the clip, and this turn has no clip"),
        ({**ANA, "clip": "../a.mp4"}, "turns.0.clip: '../a.mp4' leaves the dataset's folder"),
        ({**ANA, "clip": "/etc/a.mp4"}, "turns.0.clip: '/etc/a.mp4' leaves the dataset's folder"),
        ({**ANA, "emotion": "boredom"}, "turns.0.emotion: 'boredom' is not one of neutral, joy"),
    ],
)
def test_a_wrong_turn_is_refused(tmp_path: Path, turn: dict[str, Any], complaint: str) -> None:
    error = refusal(tmp_path, {"id": "tea", "turns": [BEN, BEN]}, {"id": "two", "turns": [turn, BEN]})
    assert f"line 2: {complaint}" in error.what
    assert error.where.endswith("dialogues.jsonl")
    assert EXAMPLE in error.hint


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("not json", "line 1: Invalid JSON"),
        ('{"id": "\\ud800", "turns": []}', "line 1: Invalid JSON"),
        ("[" * 100_000, "line 1: Invalid JSON"),
        ({"id": "tea", "turns": []}, "line 1: turns: Tuple should have at least 1 item"),
        ({"id": "", "turns": [ANA]}, "line 1: id: String should have at least 1 character"),
    ],
)
def test_a_wrong_line_is_refused(tmp_path: Path, line: Any, complaint: str) -> None:
    assert complaint in refusal(tmp_path, line).what


def test_the_error_of_an_unknown_label_says_how_to_set_labels(tmp_path: Path) -> None:
    line = {"id": "tea", "turns": [{**ANA, "emotion": "boredom"}, {**BEN, "emotion": None}]}
    assert "dataset.labels=[...]" in refusal(tmp_path, line).what
    assert Folder(tmp_path, labels=["boredom"]).load().labels == ("boredom",)


def test_the_error_of_a_repeated_id_names_its_first_line(tmp_path: Path) -> None:
    line = {"id": "tea", "turns": [ANA, BEN]}
    error = refusal(tmp_path, line, "", line, line)
    assert [f"line {n}: id: 'tea' is already the id of line 1" in error.what for n in (3, 4)] == [True, True]


def test_up_to_ten_problems_are_listed(tmp_path: Path) -> None:
    error = refusal(tmp_path, *["{}"] * 13)
    assert [f"line {n}:" in error.what for n in range(1, 14)] == [True] * 10 + [False] * 3
    assert "and 3 more" in error.what


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\n \n", "has no dialogue"),
        (EXAMPLE.replace("Ana", "安").encode("gbk"), "is not in UTF-8"),
        (EXAMPLE.encode("utf-16-le"), "is in UTF-16 or UTF-32"),
    ],
)
def test_an_empty_file_or_another_encoding_is_refused(tmp_path: Path, data: bytes, problem: str) -> None:
    (tmp_path / "dialogues.jsonl").write_bytes(data)
    with pytest.raises(CorpusError, match=problem):
        Folder(tmp_path).load()


def test_the_error_of_a_missing_file_lists_the_folder(tmp_path: Path) -> None:
    (tmp_path / "talks.jsonl").write_text(EXAMPLE)
    with pytest.raises(CorpusError, match=r"no dialogues\.jsonl") as caught:
        Folder(tmp_path).load()
    assert "holds talks.jsonl" in caught.value.where
    assert Folder(tmp_path, file="talks.jsonl").load().split == "talks"


@pytest.mark.parametrize("root", ["nowhere", "~nobody-of-this-name/x", "no\0where"])
def test_a_missing_folder_is_refused(tmp_path: Path, root: str) -> None:
    with pytest.raises(CorpusError, match="does not exist") as caught:
        Folder(root if root.startswith("~") else tmp_path / root).load()
    assert "dataset.root" in caught.value.hint


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.sampled_from(["../x", "/x", "joy"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "turns", "speaker", "text", "emotion", "clip", "start", "end", "respond_as"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)
NAMES = st.text(max_size=4) | st.sampled_from(["../a.mp4", "a.mp4", "/a.mp4", ".", "joy"])
TURN = st.fixed_dictionaries(
    {"speaker": NAMES, "text": NAMES},
    optional={"clip": NAMES, "start": st.floats(-1, 9), "end": st.floats(), "emotion": NAMES | JSON},
)
NEAR = st.fixed_dictionaries({"id": NAMES, "turns": st.lists(TURN, max_size=3)}).map(json.dumps).map(str.encode)


@given(data=st.one_of(st.binary(max_size=200), JSON.map(json.dumps).map(str.encode), NEAR))
@settings(max_examples=20)
def test_any_bytes_give_a_corpus_or_an_error_of_mmerg(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "dialogues.jsonl").write_bytes(data)
        load_or_refuse(Folder(folder))
