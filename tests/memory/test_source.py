"""A memory is never made of what is evaluated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mmerg.dialogue import Corpus
from mmerg.errors import ConfigError
from mmerg.memory.source import refuse_evaluated
from tests.memory.parts import corpus, dialogue

TEST = corpus(dialogue("t1", "A: x", "B: y"), dialogue("t2", "A: x", "B: y"), split="test", fingerprint="t")
DEV = corpus(dialogue("d1", "A: x", "B: y"), split="dev", fingerprint="d")


def test_another_split_is_taken() -> None:
    refuse_evaluated(DEV, TEST)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (replace(DEV, split="test"), "made of what is evaluated: mine test"),
        (replace(DEV, fingerprint="t"), "mine dev has the same files as mine test"),
        (
            replace(DEV, dialogues=TEST.dialogues[1:]),
            "1 dialogues of the memory have the id of one that is evaluated: t2",
        ),
    ],
    ids=["split", "fingerprint", "ids"],
)
def test_the_evaluated_corpus_is_refused(source: Corpus, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        refuse_evaluated(source, TEST)
    assert "memory=none" in caught.value.hint
