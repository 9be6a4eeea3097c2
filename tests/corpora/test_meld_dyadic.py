"""MELD's dyadic variant, episodes, and files that are not what their names say."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Clip, Corpus
from mmerg.corpora.meld import Meld
from mmerg.corpora.protocols import select
from mmerg.errors import CorpusError
from tests.composed import protocol
from tests.corpora.readers import corpus_or_told

from .meld_builder import COLUMNS, CSV_NAMES, DYADIC_COLUMNS, Builder, Line, three_dialogues, two_dyads

REAL = Path(__file__).parents[2] / ".." / "shared" / "data" / "meld"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the real MELD csv files are not beside this checkout")


def dyads(root: Path, builder: Builder, *, clips: bool = False) -> Corpus:
    builder.write(root)
    return Meld(root, builder.split, variant="dyadic", clips=clips).load()


def dyadic(**more: object) -> Builder:
    return replace(Builder(variant="dyadic", lines=two_dyads()), **more)  # type: ignore[arg-type]


def refused(reader: Meld) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        reader.load()
    assert caught.value.where
    assert caught.value.hint
    return caught.value


def test_the_ids_before_the_cut_name_the_clips(tmp_path: Path) -> None:
    corpus = dyads(tmp_path, dyadic(), clips=True)
    folder = tmp_path / "MELD.Raw/test/output_repeated_splits_test"
    assert [[turn.clip for turn in dialogue.turns] for dialogue in corpus.dialogues] == [
        [Clip(folder / "dia0_utt0.mp4"), Clip(folder / "dia0_utt1.mp4")],
        [Clip(folder / "dia0_utt1.mp4"), Clip(folder / "dia0_utt3.mp4")],
    ]
    assert corpus.notes == {}


@pytest.mark.parametrize("old", [("", ""), ("0", "x"), ("-1", "0"), (0, 77)])
def test_a_turn_whose_old_ids_name_no_clip_goes_on_as_text(tmp_path: Path, old: tuple[int | str, int | str]) -> None:
    dyadic().write(tmp_path)
    lines = two_dyads()
    lines[3].old = old
    (tmp_path / "test_sent_emo_dya.csv").write_bytes(dyadic(lines=lines).csv_bytes())
    corpus = Meld(tmp_path, variant="dyadic").load()
    assert [turn.clip is None for turn in corpus.dialogues[1].turns] == [False, True]
    assert corpus.notes == {"clips_missing": 1}


def test_the_dyadic_file_under_the_other_name(tmp_path: Path) -> None:
    path = Builder(lines=two_dyads(), columns=DYADIC_COLUMNS).write(tmp_path)
    error = refused(Meld(tmp_path))
    assert "holds MELD's dyadic variant" in error.what
    assert str(path) in error.where
    assert "dataset.variant=dyadic" in error.hint


@pytest.mark.parametrize("variant", ["multi", "dyadic"])
def test_a_dialogue_names_its_episode(tmp_path: Path, variant: str) -> None:
    lines = two_dyads()
    for line in lines[2:]:
        line.season, line.episode = "10", "2"
    Builder(variant=variant, lines=lines).write(tmp_path)
    corpus = Meld(tmp_path, variant=variant, clips=False).load()  # type: ignore[arg-type]
    assert [dialogue.episode for dialogue in corpus.dialogues] == ["s03e19", "s10e02"]


@pytest.mark.parametrize(
    ("first", "second", "episode", "notes"),
    [
        (("3", "19"), ("", "19"), "s03e19", {}),
        (("3", "19"), ("3", "special"), "s03e19", {}),
        (("", ""), ("", ""), None, {}),
        (("3", "19"), ("3", "20"), None, {"episodes_differing": 1}),
        (("-3", "19"), ("III", "19"), None, {}),
    ],
)
def test_an_episode_that_is_missing_or_in_dispute(
    tmp_path: Path, first: tuple[str, str], second: tuple[str, str], episode: str | None, notes: dict[str, int]
) -> None:
    lines = two_dyads()[:2]
    (lines[0].season, lines[0].episode), (lines[1].season, lines[1].episode) = first, second
    Builder(lines=lines).write(tmp_path)
    corpus = Meld(tmp_path, clips=False).load()
    assert [dialogue.episode for dialogue in corpus.dialogues] == [episode]
    assert corpus.notes == notes


NUMBER = st.sampled_from(["0", "1", "2", "x", "", "-1", "99999999999"])
CELL = st.sampled_from(['"a, b"', "Hé", "", '"', "\x85", "\u2028", "Ross", "joy", "boredom", "0:00:01,5"])
ROW = st.tuples(
    *(CELL, st.sampled_from(["Ross", ""]), st.sampled_from(["joy", "anger", ""]), CELL),
    *(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, CELL, CELL),
).map(",".join)
HEADER = ",".join(DYADIC_COLUMNS).encode() + b"\n"
ANY_CSV = st.one_of(
    st.binary(max_size=300),
    st.binary(max_size=300).map(HEADER.__add__),
    st.lists(ROW, max_size=6).map("\n".join).map(str.encode).map(HEADER.__add__),
)


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
NAME = st.sampled_from(["Ross", "Rachel", "Mark Smith, Jr."])


@given(data=st.data(), variant=st.sampled_from(["multi", "dyadic"]))
def test_what_is_written_is_what_is_read(data: st.DataObject, variant: str) -> None:
    keys = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), min_size=1, max_size=8, unique=True))
    lines = [Line(data.draw(WORDS), data.draw(NAME), "joy", *key, old=(9, number)) for number, key in enumerate(keys)]
    with tempfile.TemporaryDirectory() as folder:
        Builder(variant=variant, lines=lines).write(Path(folder))
        corpus = Meld(folder, variant=variant, clips=False).load()  # type: ignore[arg-type]
    read = [(turn.text, turn.speaker) for dialogue in corpus.dialogues for turn in dialogue.turns]
    by_id = sorted(lines, key=lambda line: (line.dialogue, line.utterance))
    assert read == [(line.text.strip(), line.speaker) for line in by_id]
    assert len(corpus.dialogues) == len({key[0] for key in keys})
    assert corpus.notes == {}


def test_a_missing_csv_names_what_where_and_what_is_there(tmp_path: Path) -> None:
    Builder(split="dev").write(tmp_path)
    (tmp_path / "test_sent_emo.csv").mkdir()
    error = refused(Meld(tmp_path))
    assert error.what == "no test_sent_emo.csv for MELD's test split"
    assert str(tmp_path / "data" / "MELD") in error.where
    assert "MELD.Raw/, dev_sent_emo.csv, test_sent_emo.csv/" in error.where
    assert error.hint.startswith("set dataset.root")
    packed = tmp_path / "MELD.Raw/test.tar.gz"
    packed.write_bytes(b"packed")
    assert refused(Meld(tmp_path)).hint.startswith(f"unpack {packed}; set dataset.root")


def test_clips_that_are_still_packed_stop_a_run_that_would_show_none(tmp_path: Path) -> None:
    Builder(without_clips=frozenset((line.dialogue, line.utterance) for line in three_dialogues())).write(tmp_path)
    (tmp_path / "train.tar.gz").write_bytes(b"another split's")
    assert Meld(tmp_path).load().notes == {"clips_missing": 6}
    packed = tmp_path / "MELD.Raw.tar.gz"
    packed.write_bytes(b"packed")
    error = refused(Meld(tmp_path))
    assert error.what == "no clip of MELD's test split is unpacked"
    assert error.hint == f"unpack {packed}, or read only words: dataset.reader.clips=false"
    assert len(Meld(tmp_path, clips=False).load().dialogues) == 3


def test_columns_that_are_missing_or_there_twice(tmp_path: Path) -> None:
    dyadic(columns=COLUMNS[1:]).write(tmp_path)
    error = refused(Meld(tmp_path, variant="dyadic"))
    assert "needs these columns once each: Old_Dialogue_ID, Old_Utterance_ID" in error.what
    path = Builder().write(tmp_path)
    header, rows = path.read_bytes().split(b"\r\n", 1)
    path.write_bytes(header.replace(b"Sentiment", b"Emotion") + b"\r\n" + rows)
    assert refused(Meld(tmp_path, clips=False)).what == f"{path.name} needs these columns once each: Emotion"
    path.write_bytes(header.replace(b"Sr No.", b"Sentiment") + b"\r\n" + rows)  # none that is read
    assert len(Meld(tmp_path, clips=False).load().dialogues) == 3


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf\r\n"])
def test_a_file_that_is_empty(tmp_path: Path, data: bytes) -> None:
    Builder().write(tmp_path).write_bytes(data)
    assert refused(Meld(tmp_path, clips=False)).where.endswith("line 1; it has: nothing")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_a_file_in_utf_16_or_32(tmp_path: Path, encoding: str) -> None:
    Builder().write(tmp_path).write_bytes("Sr No.,Utterance\n".encode(encoding))
    assert "is in UTF-16 or UTF-32, not UTF-8" in refused(Meld(tmp_path, clips=False)).what


@pytest.mark.parametrize("variant", ["multi", "dyadic"])
def test_two_splits_of_the_same_bytes(tmp_path: Path, variant: Literal["multi", "dyadic"]) -> None:
    test = Builder(variant=variant, lines=two_dyads()).write(tmp_path)
    dev = Builder(split="dev", variant=variant, lines=two_dyads(), csv_folder="dev").write(tmp_path)
    error = refused(Meld(tmp_path, "test", variant=variant, clips=False))
    assert error.what.startswith(f"{test} and {dev} are the same file")
    assert "turns in" in error.hint
    assert "are the same file" in refused(Meld(tmp_path, "dev", variant=variant, clips=False)).what


@needs_real
def test_the_test_split_under_the_name_of_dev(tmp_path: Path) -> None:
    (tmp_path / "dev_sent_emo.csv").write_bytes((REAL / "test_sent_emo.csv").read_bytes())
    error = refused(Meld(tmp_path, "dev", clips=False))
    assert error.what == "dev_sent_emo.csv holds the test split: 2610 turns in 280 dialogues"
    assert "dev has 1109 turns in 114 dialogues" in error.hint


@pytest.mark.parametrize("variant", ["multi", "dyadic"])
@given(data=ANY_CSV)
def test_any_bytes_give_a_corpus_or_our_error(variant: Literal["multi", "dyadic"], data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / CSV_NAMES[variant].format("test")).write_bytes(data)
        corpus = corpus_or_told(Meld(folder, variant=variant))
    if corpus:
        assert len({dialogue.id for dialogue in corpus.dialogues}) == len(corpus.dialogues)
        assert all(turn.text and turn.speaker for dialogue in corpus.dialogues for turn in dialogue.turns)


def test_the_plain_layout(tmp_path: Path) -> None:
    corpus = dyads(tmp_path, dyadic())
    assert (corpus.name, corpus.split, corpus.notes) == ("meld-dyadic", "test", {})
    assert [dialogue.id for dialogue in corpus.dialogues] == ["test_dyad0", "test_dyad1"]
    assert [[turn.speaker for turn in dialogue.turns] for dialogue in corpus.dialogues] == [
        ["Mark", "Rachel"],
        ["Rachel", "Ross"],
    ]
    assert corpus.dialogues[1].turns[0].text == corpus.dialogues[0].turns[1].text
    assert [sample.id for sample in select(corpus, protocol()).samples] == ["test_dyad0/2", "test_dyad1/2"]
