"""The published counts are consistent, summed over sessions, and None if unknown."""

from dataclasses import replace
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from mmerg.corpora import published
from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.corpora.published import PublishedCounts, find_counts, refuse_mixed_up
from mmerg.errors import CorpusError

NUMBERS = OmegaConf.to_container(OmegaConf.load(Path(published.__file__).with_name("published.yaml")))
assert isinstance(NUMBERS, dict)
SPLITS = [(str(name), str(split)) for name, corpus in NUMBERS.items() for split in corpus["splits"]]


def require_counts(name: str, split: str) -> PublishedCounts:
    counts = find_counts(name, split)
    assert counts is not None
    return counts


@pytest.mark.parametrize(("name", "split"), SPLITS)
def test_the_counts_of_every_split_are_consistent(name: str, split: str) -> None:
    counts = require_counts(name, split)
    assert counts.dialogues is not None
    assert counts.turns is not None
    assert 0 < counts.dialogues <= counts.turns
    assert not counts.labels or sum(counts.labels.values()) == counts.turns
    assert counts.replies is None or 2 * counts.replies <= counts.turns  # a listener answers a speaker
    assert counts.source


@pytest.mark.parametrize("sessions", [[5], [5, 2], [3, 1, 2, 5, 4]])
def test_sessions_are_summed_in_any_order(sessions: list[int]) -> None:
    counts = require_counts("iemocap", f"session{'+'.join(map(str, sessions))}")
    parts = [require_counts("iemocap", f"session{session}") for session in sessions]
    assert counts.dialogues == sum(part.dialogues or 0 for part in parts)
    assert counts.turns == sum(part.turns or 0 for part in parts)
    assert bool(counts.labels) == (len(sessions) == 5)


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("my_dialogues", "all"),
        ("meld", "valid"),
        ("iemocap", "session6"),
        ("iemocap", "session2+2"),
    ],
)
def test_unknown_counts_are_none(name: str, split: str) -> None:
    assert find_counts(name, split) is None


def test_a_file_with_the_counts_of_another_split_is_refused() -> None:
    turns = (Turn("Ana", "Hi.", "joy"),)
    dialogues = (Dialogue("first", turns * (2610 - 279)), *(Dialogue(f"{n}", turns) for n in range(279)))
    corpus = Corpus("meld", "dev", ("joy",), dialogues, "digest")
    with pytest.raises(CorpusError, match=r"dev\.csv holds the test split: 2610 turns in 280 dialogues") as caught:
        refuse_mixed_up(corpus, Path("dev.csv"))
    assert "dev has 1109 turns in 114 dialogues" in caught.value.hint
    refuse_mixed_up(replace(corpus, split="test"), Path("test.csv"))
