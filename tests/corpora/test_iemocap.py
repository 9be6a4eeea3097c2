"""IEMOCAP: order, keys, labels, encodings and damage, on a synthetic copy in the release's layout."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.corpora.dialogue import Corpus, Dialogue
from mmerg.corpora.iemocap import LABEL_SETS, Iemocap, read_evaluation, read_transcription
from mmerg.corpora.protocols import select
from mmerg.errors import ConfigError
from mmerg.experiment.build import load_corpus
from tests.composed import plain_of, protocol, settings_of

from .iemocap_builder import (
    DIALOGUES,
    LABELS,
    Builder,
    Said,
    Talk,
    improvised,
    played,
    session5,
    write_official_size,
)

SIX = LABEL_SETS["six"]


def load(root: Path, *talks: Talk, label_set: str = "six", builder: Builder | None = None) -> Corpus:
    """Session 5 of a corpus of `talks` (none: the builder's own two), words alone."""
    builder = builder or Builder()
    builder.talks = talks or builder.talks
    return Iemocap(builder.write(root), label_set=label_set, clips=False).load()


def only(corpus: Corpus) -> Dialogue:
    [dialogue] = corpus.dialogues
    return dialogue


def test_the_plain_layout(tmp_path: Path) -> None:
    corpus = load(tmp_path)
    assert (corpus.name, corpus.split, corpus.labels) == ("iemocap", "session5", SIX)
    improvisation, play = corpus.dialogues
    assert (improvisation.id, improvisation.script) == ("Ses05F_impro01", None)
    assert (play.id, play.script) == ("Ses05M_script01_1b", "script01")
    assert [(turn.speaker, turn.text, turn.emotion) for turn in improvisation.turns] == [
        ("Woman", "Excuse me.", "neutral"),
        ("Man", "Do you have your forms?", "frustrated"),
        ("Woman", "Yeah: here. [LAUGHTER]", "happy"),
        ("Man", "Let me see them.", "excited"),
        ("Woman", "Is there a problem?", None),
    ]
    assert [(turn.start, turn.end) for turn in play.turns] == [(1.0, 3.5), (3.2, 5.0)]
    assert [(turn.speaker, turn.emotion) for turn in play.turns] == [("Man", "sad"), ("Woman", "angry")]
    assert all(turn.clip is None for dialogue in corpus.dialogues for turn in dialogue.turns)
    assert corpus.notes == {"labels_xxx": 1}


def test_turns_that_start_together_are_ordered_by_end_and_id(tmp_path: Path) -> None:
    said = [Said("M", 2, 4, "c"), Said("F", 2, 4, "b"), Said("M", 2, 3, "a"), Said("F", 0, 9, "first")]
    # Ids count an actor's turns in order of start, so that M000 is c.
    assert [turn.text for turn in only(load(tmp_path, Talk("Ses05M_impro02", said))).turns] == ["first", "a", "b", "c"]


def test_the_six_labels_and_the_four(tmp_path: Path) -> None:
    codes = ["ang", "hap", "exc", "sad", "fru", "neu", "xxx", "sur", "fea", "oth", "dis", "abc", None]
    talk = Talk("Ses05F_impro01", [Said("F", n, n + 1, label=code) for n, code in enumerate(codes)])
    outside = {f"labels_{word}": 1 for word in ("xxx", "sur", "fea", "oth", "dis", "unknown", "missing")}
    six = load(tmp_path, talk)
    assert [turn.emotion for turn in only(six).turns] == [*SIX, *[None] * 7]
    assert six.notes == outside
    four = load(tmp_path, talk, label_set="four")
    assert [t.emotion for t in only(four).turns] == ["angry", "happy", "happy", "sad", None, "neutral", *[None] * 7]
    assert four.notes == outside | {"labels_fru": 1}
    assert four.labels == ("angry", "happy", "sad", "neutral")


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ("F: I was saying\n", "lines_skipped"),
        ("M:\n", "lines_skipped"),
        ("(they leave)\n", "lines_skipped"),
        ("Ses05F_impro01_F009 [016.0000-017.0000]:\n", "lines_unreadable"),
        ("Ses05F_impro01_F009: no times\n", "lines_unreadable"),
        ("Ses05F_impro01_F009 [-001.0000--01.0000]: unplaced\n", "lines_unreadable"),
        ("Ses05F_impro01_F009 [١٦.٠-١٧.٠]: other digits\n", "lines_unreadable"),
        ("Ses05F_impro02_F009 [016.0000-017.0000]: of another dialogue\n", "lines_unreadable"),
        ("Ses05F_impro01_X009 [016.0000-017.0000]: of nobody\n", "lines_unreadable"),
        ("Ses\n", "lines_unreadable"),
        ("Ses05F_impro01_F000 [016.0000-017.0000]: again\n", "turns_repeated"),
    ],
)
def test_a_line_that_cannot_be_used_costs_that_line(tmp_path: Path, more: str, note: str) -> None:
    talk = improvised()
    plain = load(tmp_path / "plain", talk)
    after = "Ses05F_impro01_F010 [017.0000-018.0000]: Still here.\n"
    talk.more = more + "\n" + after
    corpus = load(tmp_path / "damaged", talk)
    assert only(corpus).turns[:-1] == only(plain).turns
    assert only(corpus).turns[-1].text == "Still here."
    assert corpus.notes == {"labels_xxx": 1, "labels_missing": 1, note: 1}
    assert corpus.fingerprint != plain.fingerprint


def test_colons_and_brackets_in_the_words_stay(tmp_path: Path) -> None:
    text = "[BREATHING] Well: it is [5-6] o'clock: go! [LIPSMACK] [GARBAGE]"
    assert only(load(tmp_path, Talk("Ses05F_impro01", [Said("F", 1, 2, text)]))).turns[0].text == text


def test_utterances_without_a_number_are_turns(tmp_path: Path) -> None:
    said = Said("M", 1, 2, "Mhm.", None, "Ses05F_impro01_MXX0")
    corpus = load(tmp_path, Talk("Ses05F_impro01", [Said("F", 0, 1), said]))
    assert [turn.text for turn in only(corpus).turns] == ["Excuse me.", "Mhm."]
    assert corpus.notes == {"labels_missing": 1}


@pytest.mark.parametrize(
    ("remarks", "note"),
    [
        ("\n[1.0 - 2.0]\tSes05F_impro01_F099\tneu\t[2.5, 2.5, 2.5]\n", "evaluations_without_turn"),
        ("\n[1.0 - 2.0]\tSes05F_impro01_F000\tang\t[2.5, 2.5, 2.5]\n", "evaluations_repeated"),
        ("\n[1.0 - 2.0]\n", "evaluations_unreadable"),
        ("\n[1.0 - 2.0]\tSes05F_impro01_F000\t\xe9\n", "evaluations_unreadable"),
        ("\nC-E2:\tNeutral;\t([1.0] Ses05F_impro01_F000 ang)\nA remark.\n", ""),
    ],
)
def test_an_evaluation_that_cannot_be_used_is_counted(tmp_path: Path, remarks: str, note: str) -> None:
    talk = improvised()
    talk.remarks = remarks
    corpus = load(tmp_path, talk)
    assert only(corpus).turns[0].emotion == "neutral"
    assert corpus.notes == {"labels_xxx": 1} | ({note: 1} if note else {})


def test_a_reversed_span_loses_its_end(tmp_path: Path) -> None:
    corpus = load(tmp_path, Talk("Ses05F_impro01", [Said("F", 3, 2), Said("M", 3, 3)]))
    assert [(turn.start, turn.end) for turn in only(corpus).turns] == [(3, None), (3, None)]
    assert corpus.notes == {"spans_reversed": 2}


@pytest.mark.parametrize(("encoding", "cp1252"), [("utf-8", {}), ("cp1252", {"lines_cp1252": 1})])
def test_both_encodings_give_the_same_words(tmp_path: Path, encoding: str, cp1252: dict[str, int]) -> None:
    talk = Talk("Ses05F_impro01", [Said("F", 0, 1, "Plain."), Said("M", 1, 2, "It’s a café…")])
    corpus = load(tmp_path, talk, builder=Builder(encoding=encoding))
    assert [turn.text for turn in only(corpus).turns] == ["Plain.", "It’s a café…"]
    assert corpus.notes == cp1252


def test_a_dialogue_without_a_turn_is_left_out(tmp_path: Path) -> None:
    corpus = load(tmp_path, improvised(), Talk("Ses05F_impro02", []))
    assert [dialogue.id for dialogue in corpus.dialogues] == ["Ses05F_impro01"]
    assert corpus.notes == {"labels_xxx": 1, "dialogues_without_turns": 1}


def test_several_sessions_are_read_in_order(tmp_path: Path) -> None:
    base = Builder([improvised(), played("Ses02M_script01_1"), improvised("Ses01F_impro04")]).write(tmp_path)
    corpus = Iemocap(base, sessions=(5, 2, 5)).load()
    assert corpus.split == "session2+5"
    assert [dialogue.id for dialogue in corpus.dialogues] == ["Ses02M_script01_1", "Ses05F_impro01"]
    assert corpus.dialogues[0].script == "script01"
    assert corpus == Iemocap(base, sessions=(2, 5)).load()
    assert len({Iemocap(base, sessions=(n,)).load().fingerprint for n in (1, 2, 5)}) == 3


@pytest.mark.parametrize("folder", ["transcriptions", "EmoEvaluation"])
def test_the_fingerprint_covers_every_file(tmp_path: Path, folder: str) -> None:
    base = Builder().write(tmp_path)
    before = Iemocap(base).load()
    path = base / f"Session5/dialog/{folder}/Ses05M_script01_1b.txt"
    path.write_bytes(path.read_bytes() + b"\n")
    after = Iemocap(base).load()
    assert before.dialogues == after.dialogues
    assert before.fingerprint != after.fingerprint


def test_the_target_is_the_last_turn_with_a_label(tmp_path: Path) -> None:
    corpus = load(tmp_path, *session5(undecided=5))
    selection = select(corpus, protocol("labelled", max_per_dialogue=1))
    assert len(selection.samples) == len(corpus.dialogues) == 31
    assert corpus.notes == {"labels_xxx": 5}
    targets = [sample.target.text for sample in selection.samples if sample.target]
    assert (targets.count("Two."), targets.count("Three.")) == (5, 26)
    assert not any("Three." in repr(sample.scene) for sample in selection.samples)
    assert len({sample.dialogue_id for sample in selection.samples}) == 31


TIMES = st.sampled_from(["[001.0000-002.0000]", "[0-1]", "[9-3]", "[-1--1]", "[]", "[1-2", ""])
IDS = st.sampled_from(
    ["Ses05F_impro01_F000", "Ses05F_impro01_M000", "Ses05F_impro01_MXX1", "Ses05F_impro02_F000", "F:"]
)
WORDS = st.sampled_from([": Hé.", ": a: b", ":", "", ": \x85\u2028", ": [LAUGHTER]"])
LINES = st.lists(st.builds("{} {}{}".format, IDS, TIMES, WORDS), max_size=6).map("\n".join).map(str.encode)
CODES = st.sampled_from(["neu", "xxx", "ang", "zzz", "", "neutral"])
JUDGED = st.lists(st.builds("{}\t{}\t{}\t[2, 2, 2]".format, TIMES, IDS, CODES), max_size=6)
EVALUATIONS = JUDGED.map("\n".join).map(str.encode)


@pytest.mark.parametrize("label_set", sorted(LABEL_SETS))
def test_the_configuration_passes_the_label_set_on(label_set: str) -> None:
    dataset = plain_of("dataset=iemocap", "dataset.root=/data", f"dataset.label_set={label_set}")["dataset"]
    assert dataset["reader"]["label_set"] == dataset["memory"]["reader"]["label_set"] == label_set


@given(data=st.data())
@settings(max_examples=50)
def test_lines_in_any_order_give_the_same_turns(data: st.DataObject) -> None:
    talk, notes = improvised(), Counter[str]()
    spoken = talk.transcription().splitlines(keepends=True)
    mixed = "".join(data.draw(st.permutations(spoken))).encode()
    turns = read_transcription(mixed, talk.name, notes)
    assert [turn.text for turn in turns] == [said.text for said in talk.said]
    assert read_evaluation(talk.evaluation().encode(), notes).keys() == {turn.id for turn in turns}
    assert not +notes


@pytest.mark.parametrize(
    ("reader", "complaint"),
    [
        (Iemocap("nowhere", label_set="seven"), "dataset.label_set is 'seven'"),
        (Iemocap("nowhere", speaker_side="top"), "dataset.reader.speaker_side is 'top'"),
        (Iemocap("nowhere", sessions=(5, 0)), "asked for: 0, 5"),
        (Iemocap("nowhere", sessions=None), "asked for: none"),
    ],
)
def test_a_wrong_setting_is_named_before_anything_is_read(reader: Iemocap, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        reader.load()
    assert "one of " in caught.value.hint or "[1,2,3,4]" in caught.value.hint


@pytest.mark.parametrize("wrong", ["dataset.sessions=[5.0]", "dataset.memory.sessions=[true]"])
def test_a_session_that_is_no_whole_number_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError):
        settings_of("dataset=iemocap", "dataset.root=/data", wrong)


@pytest.mark.parametrize("setting", ["dataset.labels=[joy]", "dataset.sessions=null"])
def test_settings_that_would_have_no_effect_are_refused(tmp_path: Path, setting: str) -> None:
    given = ("dataset=iemocap", f"dataset.root={Builder().write(tmp_path)}", "dataset.reader.clips=false")
    assert load_corpus(settings_of(*given).dataset).labels == SIX
    with pytest.raises(ConfigError) as caught:
        load_corpus(settings_of(*given, setting).dataset)
    assert caught.value.hint


def test_all_sessions_of_official_size(tmp_path: Path) -> None:
    corpus = Iemocap(write_official_size(tmp_path).parent, sessions=(1, 2, 3, 4, 5), clips=False).load()
    turns = [turn for dialogue in corpus.dialogues for turn in dialogue.turns]
    assert (len(corpus.dialogues), len(turns)) == (151, 10039)
    assert sum(turn.emotion is not None for turn in turns) == 7380
    assert corpus.notes == {f"labels_{code}": LABELS[code] for code in ("xxx", "sur", "fea", "oth", "dis")}
    sizes = Counter(f"session{dialogue.id[len('Ses0')]}" for dialogue in corpus.dialogues)
    assert sizes == {f"session{number}": dialogues for number, dialogues in DIALOGUES.items()}


@given(spoken=st.one_of(st.binary(max_size=200), LINES), judged=st.one_of(st.binary(max_size=200), EVALUATIONS))
@settings(max_examples=80)
def test_any_bytes_give_turns_and_labels(spoken: bytes, judged: bytes) -> None:
    turns = read_transcription(spoken, "Ses05F_impro01", Counter())
    assert all(turn.text.strip() and turn.actor in ("F", "M") for turn in turns)
    assert turns == sorted(turns)
    assert all(len(code) == 3 and code.islower() for code in read_evaluation(judged, Counter()).values())
