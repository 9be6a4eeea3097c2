"""A memory is never built from the evaluated data."""

from dataclasses import replace

import pytest

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import ConfigError
from mmerg.memory.guards import refuse_evaluated
from tests.memory.parts import corpus, dialogue

TEST = corpus(dialogue("t1", "A: x", "B: y"), dialogue("t2", "A: x", "B: y"), split="test", fingerprint="t")
DEV = corpus(dialogue("d1", "A: x", "B: y"), split="dev", fingerprint="d")


def with_conversations(corpus: Corpus, *conversations: str | None) -> Corpus:
    """The corpus with a conversation for each dialogue."""
    pairs = zip(corpus.dialogues, conversations, strict=True)
    return replace(corpus, dialogues=tuple(replace(dialogue, conversation=name) for dialogue, name in pairs))


def test_another_split_is_accepted() -> None:
    refuse_evaluated(DEV, TEST)
    refuse_evaluated(with_conversations(DEV, "c3"), with_conversations(TEST, "c1", "c2"))
    refuse_evaluated(with_conversations(DEV, None), with_conversations(TEST, None, None))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (replace(DEV, fingerprint="t"), "mine dev has the same files as mine test"),
        (
            replace(DEV, dialogues=TEST.dialogues[1:]),
            "1 dialogues of the memory have the id of an evaluated dialogue: t2",
        ),
    ],
    ids=["fingerprint", "ids"],
)
def test_the_evaluated_corpus_is_refused(source: Corpus, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        refuse_evaluated(source, TEST)
    assert "dataset.memory.split=" in caught.value.hint


def test_a_shared_conversation_is_refused() -> None:
    names = [f"c{number}" for number in range(5)]
    parts = [dialogue(f"part{number}", "A: x", "B: y") for number in range(5)]
    evaluated = with_conversations(TEST, "c0", None)
    with pytest.raises(ConfigError, match=r"1 conversations are in both the memory and the evaluated data: c0\n"):
        refuse_evaluated(with_conversations(corpus(*parts, name="other", fingerprint="o"), *names), evaluated)
    whole = with_conversations(corpus(*(replace(part, id=f"whole{part.id}") for part in parts), split="test"), *names)
    with pytest.raises(
        ConfigError, match=r"5 conversations are in both the memory and the evaluated data: c0, c1, c2 and 2 more\n"
    ):
        refuse_evaluated(with_conversations(corpus(*parts, fingerprint="o"), *names), whole)
