"""The sections of a check of a corpus: counts, targets and clips."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from mmerg.checking.report import Count, Section, check_clips, check_counts, check_targets, count_parts
from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.protocols import select
from mmerg.corpora.published import PublishedCounts
from mmerg.errors import ClipError
from tests.configs import build_protocol


def text(section: Section) -> str:
    file = io.StringIO()
    for part in section.shown:
        Console(file=file, width=120).print(part)
    return file.getvalue()


CLIPS = [Clip(Path(f"/x/c{number}")) for number in range(4)]
LABELS = ("joy", "anger", None, "joy")
TALK = Dialogue("a", tuple(Turn("ab"[n % 2], "Oh.", LABELS[n], CLIPS[n]) for n in range(4)))


def corpus(*dialogues: Dialogue, labels: tuple[str, ...] = ("joy", "anger"), absent: str = "") -> Corpus:
    missing = {f"a/{turn}": turn for turn in absent.split()}
    return Corpus("mine", "all", labels, dialogues or (TALK,), "0", absent=missing)


def error(reason: str) -> ClipError:
    return ClipError(reason, "it is broken")


def test_counts_without_published_counts_have_no_verdict() -> None:
    counts = [("dialogues", 1), ("turns", 4), ("turns of joy", 2), ("turns of anger", 1), ("turns without a label", 1)]
    assert count_parts(corpus(), PublishedCounts(None, None)) == [Count(*pair) for pair in counts]
    section = check_counts(corpus())
    assert section.problems == []
    assert "there are no official counts" in text(section)


def test_a_merged_label_set_is_not_compared_with_the_published_labels() -> None:
    published = PublishedCounts(1, 5, {"joy": 2, "anger": 2}, "somebody")
    assert [part.what for part in count_parts(corpus(), published) if part.differs] == ["turns", "turns of anger"]
    assert [part.what for part in count_parts(corpus(labels=("joy",)), published) if part.differs] == ["turns"]


@pytest.mark.parametrize(("responders", "replies"), [((), 3), (("b",), 2), (("a",), 1)])
def test_replies_are_turns_of_responders(responders: tuple[str, ...], replies: int) -> None:
    talk = Dialogue("a", TALK.turns, responders=responders)
    assert Count("replies", replies, 2) in count_parts(corpus(talk), PublishedCounts(1, 4, {}, "x", replies=2))


def test_bad_clips_are_listed_by_reason_with_their_path_under_the_root() -> None:
    bad = {clip: error("unreadable") for clip in CLIPS[:2]} | {Clip(Path("/x/\x1b[2J")): error("too_long")}
    assert check_clips(corpus(absent="gone"), bad, {}, "/x").problems == [
        "clips missing: 1 (gone)",
        "clips too_long: 1 (\\u001b[2J)",
        "clips unreadable: 2 (c0, c1)",
    ]
    assert "clips: 4 of 4 turns have one; 1 are missing" in text(check_clips(corpus(absent="gone"), {}, {}, None))


def test_targets_are_counted_by_label_and_by_usable_clips() -> None:
    protocol = build_protocol("all")
    selection = select(corpus(), protocol)
    section = check_targets(protocol, selection, corpus(), 1, {})
    assert "targets: joy 1 (33.3 %), anger 1 (33.3 %), no label 1 (33.3 %)" in text(section)
    assert "turns before the target: 3 of 3\n" in text(section)
    section = check_targets(protocol, selection, corpus(), 1, {CLIPS[1]: error("empty")})
    assert "2 of 3; without usable frames: empty 1" in " ".join(text(section).split())
