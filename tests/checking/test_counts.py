"""Counts against the published ones, and which clips of a release are bad in every copy."""

import pytest

from mmerg.checking.report import Count, part
from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.corpora.published import Expected, known_bad


def corpus(*dialogues: Dialogue, labels: tuple[str, ...] = ("joy", "anger")) -> Corpus:
    return Corpus("mine", "all", labels, dialogues, "0")


TALK = Dialogue(
    "a", (Turn("Ana", "One.", "joy"), Turn("Ben", "Two.", "anger"), Turn("Ana", "Three."), Turn("Ben", "Four.", "joy"))
)


def test_counts_without_official_ones_have_no_verdict() -> None:
    assert part(corpus(TALK)).counts == [
        Count("dialogues", 1),
        Count("turns", 4),
        Count("turns of joy", 2),
        Count("turns of anger", 1),
        Count("turns without a label", 1),
    ]
    assert not any(count.wrong for count in part(corpus(TALK)).counts)


def test_what_differs_is_wrong() -> None:
    rows = part(corpus(TALK), Expected(1, 5, {"joy": 2, "anger": 2}, "somebody")).counts
    assert {row.what: row.wrong for row in rows if row.official is not None} == {
        "dialogues": False,
        "turns": True,
        "turns of joy": False,
        "turns of anger": True,
    }


def test_a_merged_label_set_is_not_held_against_the_published_labels() -> None:
    rows = part(corpus(TALK, labels=("joy",)), Expected(1, 4, {"joy": 1, "anger": 1, "xxx": 2}, "somebody")).counts
    assert [row.what for row in rows if row.wrong] == []


@pytest.mark.parametrize(("responders", "replies"), [((), 3), (("Ben",), 2), (("Ana",), 1)])
def test_replies_are_those_of_the_responders(responders: tuple[str, ...], replies: int) -> None:
    talk = Dialogue("a", TALK.turns, responders=responders)
    [row] = [row for row in part(corpus(talk), Expected(1, 4, {}, "x", replies=2)).counts if row.what == "replies"]
    assert (row.found, row.wrong) == (replies, replies != 2)


def test_known_bad_clips() -> None:
    assert known_bad("meld", "test") == {"dia38_utt4": "too_long", "dia220_utt0": "too_long"}
    assert known_bad("meld", "dev") == {"dia110_utt7": "missing"} == known_bad("meld-dyadic", "dev")
    assert known_bad("meld", "train") == {"dia125_utt3": "unreadable", "dia309_utt0": "too_long"}
    assert known_bad("my_dialogues", "all") == {}
    assert known_bad("meld", "everything") == {}
