"""A memory is never made of what is evaluated."""

from dataclasses import replace

import pytest

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import ConfigError
from mmerg.memory.guards import refuse_evaluated
from tests.memory.parts import corpus, dialogue

TEST = corpus(dialogue("t1", "A: x", "B: y"), dialogue("t2", "A: x", "B: y"), split="test", fingerprint="t")
DEV = corpus(dialogue("d1", "A: x", "B: y"), split="dev", fingerprint="d")


def named(corpus: Corpus, *conversations: str | None) -> Corpus:
    """The corpus with a conversation for each dialogue."""
    pairs = zip(corpus.dialogues, conversations, strict=True)
    return replace(corpus, dialogues=tuple(replace(one, conversation=name) for one, name in pairs))


def test_another_split_is_taken() -> None:
    refuse_evaluated(DEV, TEST)
    refuse_evaluated(named(DEV, "c3"), named(TEST, "c1", "c2"))
    refuse_evaluated(named(DEV, None), named(TEST, None, None))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (replace(DEV, fingerprint="t"), "mine dev has the same files as mine test"),
        (
            replace(DEV, dialogues=TEST.dialogues[1:]),
            "1 dialogues of the memory have the id of an evaluated dialogue: t2",
        ),
    ],
    ids=["fingerprint", "ids"],
)
def test_the_evaluated_corpus_is_refused(source: Corpus, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        refuse_evaluated(source, TEST)
    assert "selects another part of the data" in caught.value.hint


def test_a_shared_conversation_is_refused() -> None:
    names = [f"c{number}" for number in range(5)]
    parts = [dialogue(f"part{number}", "A: x", "B: y") for number in range(5)]
    evaluated = named(TEST, "c0", None)
    with pytest.raises(ConfigError, match=r"1 conversations are in both the memory and the evaluated data: c0\n"):
        refuse_evaluated(named(corpus(*parts, name="other", fingerprint="o"), *names), evaluated)
    whole = named(corpus(*(replace(one, id=f"whole{one.id}") for one in parts), split="test"), *names)
    with pytest.raises(
        ConfigError, match=r"5 conversations are in both the memory and the evaluated data: c0, c1, c2 and 2 more\n"
    ):
        refuse_evaluated(named(corpus(*parts, fingerprint="o"), *names), whole)
