"""EmpatheticDialogues' files: layouts, wrong roots, archives, splits mixed up, wrong columns, and any bytes at all."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.corpora.empathetic import LABEL_SETS, Empathetic
from mmerg.corpora.protocols import select
from mmerg.errors import ConfigError, CorpusError
from tests.composed import protocol
from tests.corpora.readers import corpus_or_told

from .empathetic_builder import COLUMNS, EMOTIONS, Builder, Line, of_size, two_conversations


def refused(root: Path, split: str = "test") -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        Empathetic(root, split).load()
    assert caught.value.where
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("folder", ["", "empatheticdialogues"])
def test_the_csv_is_found_in_both_layouts(tmp_path: Path, folder: str) -> None:
    Builder(folder=folder).write(tmp_path)
    assert len(Empathetic(tmp_path).load().dialogues) == 2


@pytest.mark.parametrize("split", ["dev", "validation", "Test", ""])
def test_an_unknown_split_is_a_setting(tmp_path: Path, split: str) -> None:
    with pytest.raises(ConfigError, match=r"dataset\.split is") as caught:
        Empathetic(tmp_path, split).load()
    assert "train, valid, test" in caught.value.hint


def test_a_file_of_a_header_alone(tmp_path: Path) -> None:
    Builder(lines=[]).write(tmp_path)
    error = refused(tmp_path)
    assert "no usable row" in error.what
    assert "no rows" in error.where


def test_a_file_of_unusable_rows_tells_why(tmp_path: Path) -> None:
    Builder(lines=[], extra="a,b\nc,1,guilty,p,0,words,5,\n").write(tmp_path)
    assert "1 rows_incomplete, 1 rows_malformed" in refused(tmp_path).where


def test_a_wholly_wrong_column_is_an_error(tmp_path: Path) -> None:
    lines = two_conversations()
    for line in lines:
        line.context, line.prompt = line.prompt, line.context
    path = Builder(lines=lines).write(tmp_path)
    error = refused(tmp_path)
    assert "most contexts in test.csv are no emotions" in error.what
    assert "'I forgot her birthday, again.'" in error.what
    assert error.where == str(path)
    assert "terrified" in error.hint


FIELD = st.sampled_from(["guilty", "joyful", "x", "", "a_comma_b", '"', "\x85", "\u2028", "Hé", "\0", "5|5"])
ROW = st.tuples(
    st.sampled_from(["hit:0_conv:1", "hit:1_conv:1", "hit:_conv:", "", "hit:١_conv:1"]),
    st.sampled_from(["1", "2", "3", "0", "-1", "x", "", "99999999999999999999", "٢"]),
    st.sampled_from(["guilty", "joyful", "guilty", "Guilty", ""]),
    FIELD,
    FIELD,
    FIELD,
    FIELD,
    FIELD,
).map(",".join)
HEADER = COLUMNS.encode() + b"\n"
ANY_CSV = st.one_of(
    st.binary(max_size=300),
    st.binary(max_size=300).map(HEADER.__add__),
    st.lists(st.one_of(ROW, st.text(max_size=40)), max_size=6).map("\n".join).map(str.encode).map(HEADER.__add__),
)


@given(data=ANY_CSV, label_set=st.sampled_from(["32", "ekman"]))
@settings(max_examples=60)
def test_any_bytes_give_a_corpus_or_our_error(data: bytes, label_set: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test.csv").write_bytes(data)
        corpus = corpus_or_told(Empathetic(folder, label_set=label_set))  # type: ignore[arg-type]
    if not corpus:
        return
    for dialogue in corpus.dialogues:
        assert dialogue.turns
        for turn in dialogue.turns:
            assert turn.text == turn.text.strip() != ""
            assert turn.speaker in {"Speaker", "Listener"}
            assert turn.emotion is None or turn.emotion in LABEL_SETS[label_set]
    assert len({dialogue.id for dialogue in corpus.dialogues}) == len(corpus.dialogues)


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="_"), min_size=1, max_size=30).filter(
    lambda text: text == text.strip()
)


@given(data=st.data())
@settings(max_examples=40)
def test_what_is_written_is_what_is_read(data: st.DataObject) -> None:
    talks = data.draw(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=4))
    lines = [
        Line(f"hit:{at}_conv:{at}", number, text, EMOTIONS[at], f"situation {at}")
        for at, talk in enumerate(talks)
        for number, text in enumerate(talk, start=1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        Builder(lines=data.draw(st.permutations(lines))).write(Path(folder))
        corpus = Empathetic(folder).load()
    read = {dialogue.id: [turn.text for turn in dialogue.turns] for dialogue in corpus.dialogues}
    assert read == {f"test_hit:{at}_conv:{at}": talk for at, talk in enumerate(talks)}
    assert {dialogue.situation for dialogue in corpus.dialogues} == {f"situation {at}" for at in range(len(talks))}
    replies = sum(len(talk) // 2 for talk in talks)
    assert len(select(corpus, protocol(targets="all")).samples) == replies
    assert corpus.notes == {}


def test_a_missing_csv_names_what_where_and_what_is_there(tmp_path: Path) -> None:
    Builder(split="train", folder="empatheticdialogues").write(tmp_path)
    (tmp_path / "empatheticdialogues.tar.gz").write_bytes(b"packed")
    error = refused(tmp_path)
    assert "no test.csv" in error.what
    assert f"looked in {tmp_path}, {tmp_path}/empatheticdialogues" in error.where
    assert "empatheticdialogues holds train.csv" in error.where
    assert error.hint.startswith(f"unpack {tmp_path}/empatheticdialogues.tar.gz; set dataset.root")


def test_columns_by_their_names(tmp_path: Path) -> None:
    Builder(header=COLUMNS.replace("prompt,", "")).write(tmp_path)
    error = refused(tmp_path)
    assert error.what == "test.csv needs, once each, the columns prompt"
    assert "line 1" in error.where
    Builder(header=f"{COLUMNS},cands").write(tmp_path)
    assert len(Empathetic(tmp_path).load().dialogues) == 2


def test_the_file_of_another_split_under_a_wrong_name(tmp_path: Path) -> None:
    test, train = Builder().write(tmp_path), Builder(split="train").write(tmp_path)
    assert f"{test} and {train} are the same file" in refused(tmp_path, "test").what
    assert "train has 84169 turns in 19533 dialogues" in refused(tmp_path, "train").hint


def test_the_size_of_another_split_under_a_wrong_name(tmp_path: Path) -> None:
    lines = list(of_size(2_547, 10_973, 5_259))
    Builder(split="train", lines=lines).write(tmp_path)
    error = refused(tmp_path, "train")
    assert error.what == "train.csv holds the test split: 10973 turns in 2547 dialogues"
    assert "test has 10973 turns" in error.hint
    Builder(split="test", lines=lines).write(tmp_path / "fine")
    corpus = Empathetic(tmp_path / "fine").load()
    assert (len(corpus.dialogues), corpus.notes) == (2_547, {})
    assert len(select(corpus, protocol(targets="all")).samples) == 5_259
