"""EmpatheticDialogues: fields, roles, order, situations, labels, damage and wrong files, on a synthetic copy."""

import hashlib
from pathlib import Path

import pytest

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.empathetic import EKMAN, LABEL_SETS, Empathetic
from mmerg.corpora.protocols import select
from mmerg.errors import CorpusError
from tests.configs import build_protocol

from .empathetic_builder import Builder, Line, two_conversations


def load(root: Path, builder: Builder) -> Corpus:
    builder.write(root)
    return Empathetic(root, builder.split).load()


def texts(corpus: Corpus) -> list[list[str]]:
    return [[turn.text for turn in dialogue.turns] for dialogue in corpus.dialogues]


def expected_texts() -> list[list[str]]:
    lines = two_conversations()
    return [[line.text for line in lines[:4]], [line.text for line in lines[4:]]]


def test_the_published_layout(tmp_path: Path) -> None:
    builder = Builder()
    corpus = load(tmp_path, builder)
    assert texts(corpus) == expected_texts()
    assert [dialogue.id for dialogue in corpus.dialogues] == ["test_hit:0_conv:1", "test_hit:1_conv:3"]
    assert (corpus.name, corpus.split, corpus.notes) == ("empathetic", "test", {})
    assert corpus.fingerprint == hashlib.sha256(builder.csv_bytes()).hexdigest()
    first = corpus.dialogues[0]
    assert [turn.speaker for turn in first.turns] == ["Speaker", "Listener", "Speaker", "Listener"]
    assert (first.situation, first.conversation) == ("I forgot her birthday, again.", "hit:0_conv:1")
    assert (first.responders, first.respond_as, first.script, first.episode) == (("Listener",), None, None, None)
    assert all(turn.clip is None and turn.start is None for turn in first.turns)


def test_each_turn_has_the_emotion_of_the_conversation(tmp_path: Path) -> None:
    corpus = load(tmp_path, Builder())
    assert [{turn.emotion for turn in dialogue.turns} for dialogue in corpus.dialogues] == [{"guilty"}, {"afraid"}]
    merged = Empathetic(tmp_path, label_set="ekman").load()
    assert [{turn.emotion for turn in dialogue.turns} for dialogue in merged.dialogues] == [{"sadness"}, {"fear"}]
    assert merged.labels == LABEL_SETS["ekman"]
    assert merged.fingerprint == corpus.fingerprint


def test_only_turns_of_listeners_are_targets(tmp_path: Path) -> None:
    corpus = load(tmp_path, Builder())
    samples = select(corpus, build_protocol(targets="all")).samples
    assert [sample.id for sample in samples] == [
        "test_hit:0_conv:1/2",
        "test_hit:0_conv:1/4",
        "test_hit:1_conv:3/2",
    ]
    assert {sample.scene.responder for sample in samples} == {"Listener"}
    assert all(turn.emotion is None for sample in samples for turn in sample.scene.history)
    assert [sample.target and sample.target.emotion for sample in samples] == ["guilty", "guilty", "afraid"]
    assert "birthday, again" not in repr([(sample.scene, sample.target) for sample in samples])  # the situation


def test_turns_are_sorted_by_number_and_numbers_may_have_gaps(tmp_path: Path) -> None:
    lines = [Line("hit:0_conv:1", number, f"turn {number}") for number in (10, 2, 9, 1)]
    dialogue = load(tmp_path, Builder(lines=lines)).dialogues[0]
    assert [(turn.text, turn.speaker) for turn in dialogue.turns] == [
        ("turn 1", "Speaker"),
        ("turn 2", "Listener"),
        ("turn 9", "Speaker"),
        ("turn 10", "Listener"),
    ]


def test_quotes_are_literal_and_commas_are_written_as_words(tmp_path: Path) -> None:
    extra = 'hit:9_conv:9,1,guilty,"A quote_comma_ unclosed,3,He said "no_comma_ no",5|5,\n'
    dialogue = load(tmp_path, Builder(extra=extra)).dialogues[2]
    assert dialogue.turns[0].text == 'He said "no, no"'
    assert dialogue.situation == '"A quote, unclosed'


@pytest.mark.parametrize("tail", ["", ",<HYPERBOLE>", ",tags,cand one|cand two,more,"])
def test_fields_after_the_eighth_are_ignored_and_the_tags_may_be_missing(tmp_path: Path, tail: str) -> None:
    lines = [Line("hit:0_conv:1", number, f"turn {number}", tail=tail) for number in (1, 2)]
    corpus = load(tmp_path, Builder(lines=lines))
    assert texts(corpus) == [["turn 1", "turn 2"]]
    assert corpus.notes == {}


@pytest.mark.parametrize(
    ("extra", "note"),
    [
        ("hit:9_conv:9,1,guilty,A prompt,3,cut with", "rows_malformed"),
        ("hit:9_conv:9,1", "rows_malformed"),
        ("hit:9_conv:9,1,guilty,A prompt, with a comma,3,Words.,5,", "rows_malformed"),
        ("conv 9,1,guilty,A prompt,3,Bad id.,5,", "rows_incomplete"),
        ("hit:9_conv:9,0,guilty,A prompt,3,No such number.,5,", "rows_incomplete"),
        ("hit:9_conv:9,1,guilty,A prompt,3, ,5,", "rows_incomplete"),
        ("hit:0_conv:1,4,guilty,A prompt,3,Once more.,5,", "rows_repeated"),
    ],
)
def test_a_damaged_row_is_skipped(tmp_path: Path, extra: str, note: str) -> None:
    after = "\nhit:7_conv:7,1,proud,A prompt,3,Still here.,5,\n\n"
    corpus = load(tmp_path, Builder(extra=extra + after))
    assert texts(corpus) == [*expected_texts(), ["Still here."]]
    assert corpus.notes == {note: 1}


def test_one_wrong_context_does_not_change_the_emotion(tmp_path: Path) -> None:
    lines = two_conversations()
    lines[0].context, lines[6].context = "gulity", "joyful"
    corpus = load(tmp_path, Builder(lines=lines))
    assert texts(corpus) == expected_texts()
    assert [{turn.emotion for turn in dialogue.turns} for dialogue in corpus.dialogues] == [{"guilty"}, {"afraid"}]
    assert corpus.notes == {"labels_unknown": 1, "labels_differing": 1}


def test_a_situation_may_be_in_a_later_row_or_missing(tmp_path: Path) -> None:
    lines = [Line("hit:0_conv:1", 1, "Hi.", prompt=""), Line("hit:0_conv:1", 2, "Oh?", prompt="Said late.")]
    lines += [Line("hit:0_conv:2", 1, "Hi.", prompt="")]
    corpus = load(tmp_path, Builder(lines=lines))
    assert [dialogue.situation for dialogue in corpus.dialogues] == ["Said late.", None]


def test_the_label_sets_fit_each_other() -> None:
    assert len(LABEL_SETS["32"]) == len(EKMAN) == 32
    assert list(LABEL_SETS["32"]) == sorted(EKMAN)
    assert set(EKMAN.values()) == set(LABEL_SETS["ekman"])
    assert [EKMAN[emotion] for emotion in ("prepared", "sentimental", "nostalgic", "jealous", "anticipating")] == [
        "happiness",
        "happiness",
        "sadness",
        "anger",
        "surprise",
    ]


def refused(root: Path) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        Empathetic(root).load()
    assert caught.value.where
    assert caught.value.hint
    return caught.value


def test_a_missing_csv_lists_the_searched_folders_and_their_files(tmp_path: Path) -> None:
    Builder(split="train", folder="empatheticdialogues").write(tmp_path)
    (tmp_path / "empatheticdialogues.tar.gz").write_bytes(b"packed")
    assert len(Empathetic(tmp_path, "train").load().dialogues) == 2
    error = refused(tmp_path)
    assert "no test.csv" in error.what
    assert f"looked in {tmp_path}, {tmp_path}/empatheticdialogues" in error.where
    assert "empatheticdialogues holds train.csv" in error.where
    assert error.hint.startswith(f"unpack {tmp_path}/empatheticdialogues.tar.gz; set dataset.root")
