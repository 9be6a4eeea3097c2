"""MELD: order, ids, times, encodings and damage, on a synthetic copy; and counts of the real csv files."""

import hashlib
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.meld import Meld, Split
from mmerg.corpora.protocols import select
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.build import load_corpus
from tests.configs import build_protocol, parse_settings
from tests.corpora.readers import load_or_refuse

from .meld_builder import COLUMNS, Builder, Line, three_dialogues

REAL = Path(__file__).parents[2] / ".." / "shared" / "data" / "meld"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the real MELD csv files are not beside this checkout")


def load(root: Path, builder: Builder, *, clips: bool = False) -> Corpus:
    builder.write(root)
    return Meld(root, builder.split, clips=clips).load()


def texts(corpus: Corpus) -> list[list[str]]:
    return [[turn.text for turn in dialogue.turns] for dialogue in corpus.dialogues]


def expected_texts() -> list[list[str]]:
    lines = three_dialogues()
    return [[line.text for line in lines if line.dialogue == number] for number in (0, 2, 3)]


def test_the_published_layout(tmp_path: Path) -> None:
    builder = Builder()
    corpus = load(tmp_path, builder)
    assert texts(corpus) == expected_texts()
    assert [dialogue.id for dialogue in corpus.dialogues] == ["test_dia0", "test_dia2", "test_dia3"]
    first = corpus.dialogues[0].turns[0]
    assert (first.speaker, first.emotion, first.clip) == ("Mark", "surprise", None)
    assert first.text == "Where’s number 27?!"
    assert (first.start, first.end) == (878.127, 880.378)
    assert corpus.notes == {}
    assert (corpus.name, corpus.split) == ("meld", "test")
    assert corpus.fingerprint == hashlib.sha256(builder.csv_bytes()).hexdigest()


def test_utterances_are_ordered_by_id_across_gaps(tmp_path: Path) -> None:
    lines = [Line(f"turn {n}", "Ross", "joy", 7, n) for n in (10, 2, 9)]
    assert texts(load(tmp_path, Builder(lines=lines))) == [["turn 2", "turn 9", "turn 10"]]


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("01:00:01,250", 3601.25),
        ("0:14:56,000", 896.0),
        ("00:05:11,82", 311.82),
        ("00:05:11.820", 311.82),
    ],
)
def test_both_time_formats_and_short_fractions(tmp_path: Path, cell: str, seconds: float) -> None:
    line = Line("Hi.", "Ross", "joy", 0, 0, start=cell, end="2:00:00,000")
    corpus = load(tmp_path, Builder(lines=[line]))
    assert corpus.dialogues[0].turns[0].start == pytest.approx(seconds)
    assert corpus.notes == {}


@pytest.mark.parametrize("cell", ["", "00:61:00,000", "١:٠٠:٠٠,٠٠٠", "14:56"])
def test_an_unreadable_time_is_skipped(tmp_path: Path, cell: str) -> None:
    line = Line("Hi.", "Ross", "joy", 0, 0, start=cell)
    corpus = load(tmp_path, Builder(lines=[line]))
    assert corpus.dialogues[0].turns[0].start is None
    assert corpus.dialogues[0].turns[0].end == 62.5
    assert corpus.notes == {"times_unreadable": 1}


@pytest.mark.parametrize(("newline", "prefix"), [("\r\n", b"\xef\xbb\xbf"), ("\n", b""), ("\r", b"")])
def test_line_endings_and_byte_order_mark(tmp_path: Path, newline: str, prefix: bytes) -> None:
    builder = Builder(newline=newline, prefix=prefix, columns=COLUMNS[1:])  # the mark is before Utterance
    corpus = load(tmp_path, builder)
    assert texts(corpus) == expected_texts()
    assert corpus.notes == {}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("That’s you—yeah", "gbk"),
        ("残念です", "shift_jis"),
        ("I’m fine…", "mac_roman"),
        ("אני מצטער", "cp1255"),
        ("Мне жаль", "cp1251"),
        ("Przykro mi, że jesteś", "cp1250"),
    ],
)
def test_another_encoding_is_refused(tmp_path: Path, text: str, encoding: str) -> None:
    builder = Builder()
    path = builder.write(tmp_path)
    path.write_bytes(builder.csv_bytes().replace("sorry…".encode(), text.encode(encoding)))
    with pytest.raises(CorpusError, match=r"1 lines of .* are neither UTF-8 nor cp1252"):
        Meld(tmp_path, clips=False).load()
    path.write_bytes(builder.csv_bytes().replace("sorry…".encode(), "I’m".encode().decode("cp1252").encode()))
    with pytest.raises(CorpusError, match="read in a wrong encoding and saved again"):
        Meld(tmp_path, clips=False).load()
    path.write_bytes("Sr No.,Utterance\n".encode("utf-16-le"))
    with pytest.raises(CorpusError, match="is in UTF-16 or UTF-32, not UTF-8"):
        Meld(tmp_path, clips=False).load()


def test_c1_controls_are_repaired(tmp_path: Path) -> None:
    corpus = load(tmp_path, Builder(c1_controls=True))
    assert texts(corpus) == expected_texts()
    assert corpus.notes == {"characters_repaired": 3}


def test_a_wrong_byte_changes_its_line_only(tmp_path: Path) -> None:
    builder = Builder()
    path = builder.write(tmp_path)
    path.write_bytes(builder.csv_bytes().replace("sorry…".encode(), b"sorry\x85"))
    corpus = Meld(tmp_path, clips=False).load()
    assert texts(corpus) == expected_texts()
    assert corpus.notes == {"lines_cp1252": 1}


def test_quoted_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    lines = [Line('He said, "hi",\nthen left.', "Ross", "joy", 0, 0), Line("And?", "Carol", "joy", 0, 1)]
    corpus = load(tmp_path, Builder(lines=lines, newline="\n"))
    assert texts(corpus) == [['He said, "hi", then left.', "And?"]]
    assert corpus.notes == {}


@pytest.mark.parametrize(
    ("extra", "note"),
    [
        ("7,Cut off,Ross,joy\r\n", "rows_malformed"),
        ("7,One, comma too many,Ross,joy,positive,9,0,3,19,x,y\r\n", "rows_malformed"),
        ('7,No id,Ross,joy,positive,,0,3,19,"00:01:00,000","00:01:01,000"\r\n', "rows_incomplete"),
        ('7,Bad id,Ross,joy,positive,9,two,3,19,"00:01:00,000","00:01:01,000"\r\n', "rows_incomplete"),
        ('7,Again.,Ross,joy,positive,3,1,3,19,"00:01:00,000","00:01:01,000"\r\n', "rows_repeated"),
        ('7,No speaker,,joy,positive,9,0,3,19,"00:01:00,000","00:01:01,000"\r\n', "rows_incomplete"),
    ],
)
def test_a_damaged_row_is_skipped(tmp_path: Path, extra: str, note: str) -> None:
    after = '8,Still here.,Ross,joy,positive,10,0,3,19,"00:01:00,000","00:01:01,000"\r\n'
    corpus = load(tmp_path, Builder(extra=extra + after))
    assert texts(corpus) == [*expected_texts(), ["Still here."]]
    assert corpus.notes == {note: 1}


def test_an_unknown_split_is_refused(tmp_path: Path) -> None:
    settings = parse_settings("dataset=meld", f"dataset.root={tmp_path}", "dataset.split=valid")
    with pytest.raises(ConfigError, match=r"dataset\.split is 'valid'"):
        load_corpus(settings.dataset)


@pytest.mark.parametrize("folder", ["MELD.Raw", "data/MELD", "test", "MELD.Raw/test"])
def test_the_csv_is_found_in_every_layout(tmp_path: Path, folder: str) -> None:
    assert texts(load(tmp_path, Builder(csv_folder=folder))) == expected_texts()


EPISODES = [
    (("3", "19"), ("", "19"), "s03e19", {}),
    (("3", "19"), ("3", "special"), "s03e19", {}),
    (("", ""), ("", ""), None, {}),
    (("3", "19"), ("3", "20"), None, {"episodes_differing": 1}),
]


@pytest.mark.parametrize(("first", "second", "episode", "notes"), EPISODES)
def test_a_dialogue_names_its_episode_and_conversation(
    tmp_path: Path, first: tuple[str, str], second: tuple[str, str], episode: str | None, notes: dict[str, int]
) -> None:
    lines = three_dialogues()[:2]
    (lines[0].season, lines[0].episode), (lines[1].season, lines[1].episode) = first, second
    corpus = load(tmp_path, Builder(lines=lines))
    [dialogue] = corpus.dialogues
    assert (dialogue.episode, dialogue.conversation, corpus.notes) == (episode, "meld/test/dia0", notes)


def test_a_lost_quote_is_refused_with_its_line(tmp_path: Path) -> None:
    lost = '7,"A lost quote,Ross,joy,positive,9,0,3,19,"00:01:00,000","00:01:01,000"\r\n'
    with pytest.raises(CorpusError, match=r"test_sent_emo\.csv is damaged: ',' expected after '\"'") as caught:
        load(tmp_path, Builder(extra=lost))
    assert caught.value.where.endswith("test_sent_emo.csv, line 8")


def refused(reader: Meld) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        reader.load()
    assert caught.value.where
    assert caught.value.hint
    return caught.value


def test_the_error_of_a_missing_csv_lists_the_folders(tmp_path: Path) -> None:
    Builder(split="dev").write(tmp_path)
    (tmp_path / "test_sent_emo.csv").mkdir()
    error = refused(Meld(tmp_path))
    assert error.what == "no test_sent_emo.csv for MELD's test split"
    assert str(tmp_path / "data" / "MELD") in error.where
    assert "MELD.Raw/, dev_sent_emo.csv, test_sent_emo.csv/" in error.where
    packed = tmp_path / "MELD.Raw/test.tar.gz"
    packed.write_bytes(b"packed")
    assert refused(Meld(tmp_path)).hint.startswith(f"unpack {packed}; set dataset.root")


def test_clips_that_are_still_packed_are_refused(tmp_path: Path) -> None:
    """Otherwise a run would not show a single frame."""
    Builder(without_clips=frozenset((line.dialogue, line.utterance) for line in three_dialogues())).write(tmp_path)
    (tmp_path / "train.tar.gz").write_bytes(b"of another split")
    assert Meld(tmp_path).load().notes == {"clips_missing": 6}
    packed = tmp_path / "MELD.Raw.tar.gz"
    packed.write_bytes(b"packed")
    error = refused(Meld(tmp_path))
    assert error.hint == f"unpack {packed}, or set dataset.reader.clips=false to read the texts only"
    assert len(Meld(tmp_path, clips=False).load().dialogues) == 3


def test_columns_must_occur_once(tmp_path: Path) -> None:
    path = Builder().write(tmp_path)
    header, rows = path.read_bytes().split(b"\r\n", 1)
    path.write_bytes(header.replace(b"Sentiment", b"Emotion") + b"\r\n" + rows)
    assert refused(Meld(tmp_path, clips=False)).what == f"{path.name} needs these columns once each: Emotion"
    path.write_bytes(header.replace(b"Sr No.", b"Sentiment") + b"\r\n" + rows)  # not a column that is read
    assert len(Meld(tmp_path, clips=False).load().dialogues) == 3
    path.write_bytes(b"\xef\xbb\xbf\r\n")
    assert refused(Meld(tmp_path, clips=False)).where.endswith("line 1; it has: nothing")


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
NAME = st.sampled_from(["Ross", "Rachel", "Mark Smith, Jr."])


@given(data=st.data())
@settings(max_examples=20)
def test_any_rows_are_read_as_written(data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), min_size=1, max_size=8, unique=True))
    lines = [Line(data.draw(WORDS), data.draw(NAME), "joy", *key) for key in keys]
    with tempfile.TemporaryDirectory() as folder:
        Builder(lines=lines).write(Path(folder))
        corpus = Meld(folder, clips=False).load()
    read = [(turn.text, turn.speaker) for dialogue in corpus.dialogues for turn in dialogue.turns]
    by_id = sorted(lines, key=lambda line: (line.dialogue, line.utterance))
    assert read == [(line.text.strip(), line.speaker) for line in by_id]
    assert len(corpus.dialogues) == len({key[0] for key in keys})
    assert corpus.notes == {}


NUMBER = st.sampled_from(["0", "1", "x", "", "-1", "99999999999"])
CELL = st.sampled_from(['"a, b"', "Hé", "", '"', "\x85", "\u2028", "Ross", "joy", "boredom", "0:00:01,5"])
ROW = st.tuples(
    *(NUMBER, CELL, st.sampled_from(["Ross", ""]), st.sampled_from(["joy", "anger", ""]), CELL),
    *(NUMBER, NUMBER, NUMBER, NUMBER, CELL, CELL),
).map(",".join)
HEADER = ",".join(COLUMNS).encode() + b"\n"
ANY_CSV = st.one_of(
    st.binary(max_size=300).map(HEADER.__add__),
    st.lists(ROW, max_size=6).map("\n".join).map(str.encode).map(HEADER.__add__),
)


@given(data=ANY_CSV)
@settings(max_examples=40)
def test_any_bytes_give_a_corpus_or_an_error_of_mmerg(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_sent_emo.csv").write_bytes(data)
        corpus = load_or_refuse(Meld(folder))
    if corpus:
        assert len({dialogue.id for dialogue in corpus.dialogues}) == len(corpus.dialogues)
        assert all(turn.text and turn.speaker for dialogue in corpus.dialogues for turn in dialogue.turns)


@needs_real
@pytest.mark.parametrize(
    ("split", "rows", "dialogues", "with_history"), [("dev", 1109, 114, 108), ("test", 2610, 280, 268)]
)
def test_the_real_csv(split: Split, rows: int, dialogues: int, with_history: int) -> None:
    corpus = Meld(REAL, split).load()
    assert len(corpus.dialogues) == dialogues
    assert sum(len(dialogue.turns) for dialogue in corpus.dialogues) == rows
    selection = select(corpus, build_protocol())
    assert len(selection.samples) == with_history
    assert selection.skipped == {"dialogues without a history": dialogues - with_history}
    assert corpus.notes["clips_missing"] == rows
    assert all(turn.start is not None for dialogue in corpus.dialogues for turn in dialogue.turns)
    assert all(dialogue.episode for dialogue in corpus.dialogues)
    assert len({dialogue.episode for dialogue in corpus.dialogues}) > 50


@needs_real
def test_the_real_test_split_in_detail() -> None:
    corpus = Meld(REAL, "test", clips=False).load()
    labels = Counter(turn.emotion for dialogue in corpus.dialogues for turn in dialogue.turns)
    assert labels == {
        "neutral": 1256,
        "surprise": 281,
        "fear": 50,
        "sadness": 208,
        "joy": 402,
        "disgust": 68,
        "anger": 345,
    }
    assert corpus.notes == {"spans_reversed": 1}  # dialogue 155, utterance 3 ends when it starts
    ends = {dialogue.id: [turn.end for turn in dialogue.turns] for dialogue in corpus.dialogues}
    assert ends["test_dia187"][2] == 311.82
    last = [(sample.target, sample.scene.history[-1]) for sample in select(corpus, build_protocol()).samples]
    assert sum(target is not None and target.speaker != before.speaker for target, before in last) == 218
