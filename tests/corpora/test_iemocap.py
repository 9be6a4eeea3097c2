"""IEMOCAP: order, labels, sessions and damage, on a synthetic copy in the layout of the release."""

from pathlib import Path
from typing import Literal

import pytest

from mmerg.corpora.dialogue import Corpus, Dialogue
from mmerg.corpora.iemocap import LABEL_SETS, Iemocap
from mmerg.corpora.protocols import select
from mmerg.errors import ConfigError
from mmerg.experiment.build import load_corpus
from tests.configs import build_protocol, parse_settings

from .iemocap_builder import Builder, Recording, Utterance, improvised, played, session5

SIX = LABEL_SETS["six"]


def load(root: Path, *recordings: Recording, label_set: Literal["six", "four"] = "six") -> Corpus:
    """Session 5 without clips. Its dialogues are `recordings`, or else the two of `Builder`."""
    builder = Builder(recordings) if recordings else Builder()
    return Iemocap(builder.write(root), label_set=label_set, clips=False).load()


def only_dialogue(corpus: Corpus) -> Dialogue:
    [dialogue] = corpus.dialogues
    return dialogue


def test_the_published_layout(tmp_path: Path) -> None:
    corpus = load(tmp_path)
    assert (corpus.name, corpus.split, corpus.labels) == ("iemocap", "session5", SIX)
    improvisation, play = corpus.dialogues
    assert (improvisation.id, improvisation.conversation, improvisation.script) == (*["Ses05F_impro01"] * 2, None)
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


def test_both_label_sets(tmp_path: Path) -> None:
    codes = ["ang", "hap", "exc", "sad", "fru", "neu", "xxx", "sur", "fea", "oth", "dis", "abc", None]
    recording = Recording("Ses05F_impro01", [Utterance("F", n, n + 1, label=code) for n, code in enumerate(codes)])
    outside = {f"labels_{word}": 1 for word in ("xxx", "sur", "fea", "oth", "dis", "unknown", "missing")}
    six = load(tmp_path, recording)
    assert [turn.emotion for turn in only_dialogue(six).turns] == [*SIX, *[None] * 7]
    assert six.notes == outside
    four = load(tmp_path, recording, label_set="four")
    assert [t.emotion for t in only_dialogue(four).turns] == [
        "angry",
        "happy",
        "happy",
        "sad",
        None,
        "neutral",
        *[None] * 7,
    ]
    assert four.notes == outside | {"labels_fru": 1}
    assert four.labels == ("angry", "happy", "sad", "neutral")


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ("F: I was saying\n", "lines_skipped"),
        ("Ses05F_impro01_F009: no times\n", "lines_unreadable"),
        ("Ses05F_impro01_F009 [١٦.٠-١٧.٠]: other digits\n", "lines_unreadable"),
        ("Ses05F_impro02_F009 [016.0000-017.0000]: of another dialogue\n", "lines_unreadable"),
        ("Ses05F_impro01_F000 [016.0000-017.0000]: again\n", "turns_repeated"),
    ],
)
def test_an_unusable_line_is_skipped(tmp_path: Path, more: str, note: str) -> None:
    recording = improvised()
    plain = load(tmp_path / "plain", recording)
    after = "Ses05F_impro01_F010 [017.0000-018.0000]: Still here.\n"
    recording.more = more + "\n" + after
    corpus = load(tmp_path / "damaged", recording)
    assert only_dialogue(corpus).turns[:-1] == only_dialogue(plain).turns
    assert only_dialogue(corpus).turns[-1].text == "Still here."
    assert corpus.notes == {"labels_xxx": 1, "labels_missing": 1, note: 1}
    assert corpus.fingerprint != plain.fingerprint


def test_an_id_without_a_number_is_read(tmp_path: Path) -> None:
    unnumbered = Utterance("M", 1, 2, "Mhm.", None, "Ses05F_impro01_MXX0")
    corpus = load(tmp_path, Recording("Ses05F_impro01", [Utterance("F", 0, 1), unnumbered]))
    assert [turn.text for turn in only_dialogue(corpus).turns] == ["Excuse me.", "Mhm."]
    assert corpus.notes == {"labels_missing": 1}


@pytest.mark.parametrize(
    ("remarks", "note"),
    [
        ("\n[1.0 - 2.0]\tSes05F_impro01_F099\tneu\t[2.5, 2.5, 2.5]\n", "evaluations_without_turn"),
        ("\n[1.0 - 2.0]\tSes05F_impro01_F000\tang\t[2.5, 2.5, 2.5]\n", "evaluations_repeated"),
        ("\n[1.0 - 2.0]\n", "evaluations_unreadable"),
        ("\nC-E2:\tNeutral;\t([1.0] Ses05F_impro01_F000 ang)\nA remark.\n", ""),
    ],
)
def test_an_unusable_evaluation_is_counted(tmp_path: Path, remarks: str, note: str) -> None:
    recording = improvised()
    recording.remarks = remarks
    corpus = load(tmp_path, recording)
    assert only_dialogue(corpus).turns[0].emotion == "neutral"
    assert corpus.notes == {"labels_xxx": 1} | ({note: 1} if note else {})


def test_a_reversed_span_loses_its_end(tmp_path: Path) -> None:
    corpus = load(tmp_path, Recording("Ses05F_impro01", [Utterance("F", 3, 2), Utterance("M", 3, 3)]))
    assert [(turn.start, turn.end) for turn in only_dialogue(corpus).turns] == [(3, None), (3, None)]
    assert corpus.notes == {"spans_reversed": 2}


def test_several_sessions_are_read_in_order(tmp_path: Path) -> None:
    base = Builder([improvised(), played("Ses02M_script01_1"), improvised("Ses01F_impro04")]).write(tmp_path)
    corpus = Iemocap(base, sessions=(5, 2, 5)).load()
    assert corpus.split == "session2+5"
    assert [dialogue.id for dialogue in corpus.dialogues] == ["Ses02M_script01_1", "Ses05F_impro01"]
    assert corpus.dialogues[0].script == "script01"
    assert corpus == Iemocap(base, sessions=(2, 5)).load()
    assert len({Iemocap(base, sessions=(n,)).load().fingerprint for n in (1, 2, 5)}) == 3


def test_the_target_is_the_last_turn_with_a_label(tmp_path: Path) -> None:
    corpus = load(tmp_path, *session5(undecided=5))
    selection = select(corpus, build_protocol("labelled", max_per_dialogue=1))
    assert len(selection.samples) == len(corpus.dialogues) == 31
    assert corpus.notes == {"labels_xxx": 5}
    targets = [sample.target.text for sample in selection.samples if sample.target]
    assert (targets.count("Two."), targets.count("Three.")) == (5, 26)
    assert not any("Three." in repr(sample.scene) for sample in selection.samples)
    assert len({sample.dialogue_id for sample in selection.samples}) == 31


def test_an_unknown_session_is_refused(tmp_path: Path) -> None:
    settings = parse_settings("dataset=iemocap", f"dataset.root={tmp_path}", "dataset.sessions=[5,0]")
    with pytest.raises(ConfigError, match=r"dataset\.sessions\.1 is 0"):
        load_corpus(settings.dataset)
