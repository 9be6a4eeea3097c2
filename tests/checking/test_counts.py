"""Counts against the published ones, and which clips of a release are bad in every copy."""

import io

import pytest
from rich.console import Console

from mmerg.checking.report import Count, Section, check_counts, count
from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.corpora.published import Expected


def corpus(*dialogues: Dialogue, labels: tuple[str, ...] = ("joy", "anger"), **notes: int) -> Corpus:
    return Corpus("mine", "all", labels, dialogues, "0", notes)


def text(part: Section) -> str:
    file = io.StringIO()
    for one in part.shown:
        Console(file=file, width=120).print(one)
    return file.getvalue()


TALK = Dialogue(
    "a", (Turn("Ana", "One.", "joy"), Turn("Ben", "Two.", "anger"), Turn("Ana", "Three."), Turn("Ben", "Four.", "joy"))
)


def test_counts_without_official_ones_have_no_verdict() -> None:
    found = check_counts(corpus(TALK))
    counts = [("dialogues", 1), ("turns", 4), ("turns of joy", 2), ("turns of anger", 1), ("turns without a label", 1)]
    assert found.facts["counts"] == [{"what": what, "found": n, "official": None} for what, n in counts]
    assert found.problems == []
    assert "there are no official counts" in text(found)


def test_what_differs_is_wrong_and_what_is_damaged() -> None:
    official = Expected(1, 5, {"joy": 2, "anger": 2}, "somebody")
    found = check_counts(corpus(TALK, rows_malformed=2, spans_reversed=1), official)
    assert found.problems == [
        "mine all: 4 turns (5 official), 1 turns of anger (2 official)",
        "mine all: rows_malformed 2: the files differ from the release",
    ]
    told = text(found)
    assert "official: somebody" in told
    assert "notes of the reader: rows_malformed 2, spans_reversed 1" in told
    rows = [line.split() for line in told.splitlines() if line.startswith(("dialogues", "turns"))]
    assert rows[:2] == [["dialogues", "1", "1", "✓"], ["turns", "4", "5", "✗", "differs"]]


def test_a_merged_label_set_is_not_compared_with_the_published_labels() -> None:
    found = count(corpus(TALK, labels=("joy",)), Expected(1, 4, {"joy": 1, "anger": 1, "xxx": 2}, "somebody"))
    assert not any(one.wrong for one in found)


@pytest.mark.parametrize(("responders", "replies"), [((), 3), (("Ben",), 2), (("Ana",), 1)])
def test_replies_are_those_of_the_responders(responders: tuple[str, ...], replies: int) -> None:
    talk = Dialogue("a", TALK.turns, responders=responders)
    assert Count("replies", replies, 2) in count(corpus(talk), Expected(1, 4, {}, "x", replies=2))
