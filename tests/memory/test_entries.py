"""The turns that are entries of a memory, and the key texts by which they are found."""

import pytest

from mmerg.corpora.dialogue import Dialogue, Turn
from mmerg.errors import CorpusError
from mmerg.memory.entries import build_entries, build_key, build_origin
from mmerg.settings.sources import KeySettings as Key
from tests.memory.parts import corpus, dialogue

TEA = dialogue("tea", "Ana [sadness]: I failed again.", "Ben [sadness]: That must hurt.", "Ana: It does.", "Ben: Tea?")


def test_every_turn_with_a_history_is_an_entry() -> None:
    entries, skipped = build_entries(corpus(TEA, dialogue("one", "Ana: Hello.")), Key(turns=2))
    assert [entry.id for entry in entries] == ["tea/2", "tea/3", "tea/4"]
    assert skipped == {}
    last = entries[-1]
    assert last.history == (("Ben", "That must hurt."), ("Ana", "It does."))
    assert (last.reply, last.emotion, last.origin.dialogue) == ("Tea?", None, "tea")
    assert entries[0].emotion == "sadness"


def test_blank_replies_and_blank_histories_are_counted() -> None:
    blank = dialogue("d", "A:  ", "B: first", "A:  ", "B: last")
    entries, skipped = build_entries(corpus(blank), Key())
    assert [entry.reply for entry in entries] == ["last"]
    assert skipped == {"turns without a history": 1, "blank replies": 1}


def test_a_reply_is_one_line() -> None:
    [entry], _ = build_entries(corpus(dialogue("d", "A: x", "B: I am here.\n- And  I am not. ")), Key())
    assert entry.reply == "I am here. - And I am not."


def test_a_corpus_without_entries_is_refused() -> None:
    with pytest.raises(CorpusError, match="has no exemplars"):
        build_entries(corpus(dialogue("one", "Ana: Hello.")), Key())


def test_a_situation_gives_one_entry_per_dialogue() -> None:
    talk = dialogue("talk", "A: x", "B: y", "A: z", "B: w", situation="My cat ran away.")
    entries, skipped = build_entries(corpus(TEA, talk), Key(text="situation_or_history"))
    assert [entry.id for entry in entries] == ["talk/4", "tea/2", "tea/3", "tea/4"]
    assert [speaker for speaker, _ in entries[0].history] == ["A", "B", "A"]
    assert skipped == {}


HISTORY = (("Ana", "I  failed\nagain."), ("Ben", "Oh."), ("Ana", "Really."))


@pytest.mark.parametrize(
    ("key", "situation", "text"),
    [
        (Key(), " My cat ran away. ", "I failed again.\nOh.\nReally."),
        (Key(turns=1), None, "Really."),
        (Key(text="situation_or_history"), " My cat ran away. ", "My cat ran away."),
        (Key(text="situation_or_history", turns=1), " ", "Really."),
    ],
)
def test_the_key_text(key: Key, situation: str | None, text: str) -> None:
    assert build_key(key, HISTORY, situation) == text


def test_the_origin_of_a_dialogue() -> None:
    turns = (Turn("A", "x", start=3.0, end=4.0), Turn("B", "y", end=6.5), Turn("A", "z", start=5.0))
    origin = build_origin(Dialogue("d", turns, script="play", episode="s01e02", conversation="c1"))
    assert (origin.script, origin.episode, origin.start, origin.end) == ("play", "s01e02", 3.0, 6.5)
    assert origin.conversation == "c1"
    assert origin.words == build_origin(dialogue("other", "Q: X!", "Q: y", "Q:  z ")).words != ""
    assert build_origin(dialogue("short", "A: x", "B: y")).words == ""
    assert build_origin(dialogue("untimed", "A: x")).start is None
