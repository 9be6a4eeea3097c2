"""What of clips and samples is a problem, and how it is told."""

import json
from pathlib import Path

from mmerg.checking.clips import Flaw
from mmerg.checking.report import BadClip, Section, bad_clips, check_clips, check_targets
from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.protocols import select
from tests.checking.test_counts import text
from tests.composed import protocol

TALK = Dialogue("a", tuple(Turn("ab"[n % 2], "Oh.", ("joy", None)[n % 2], Clip(Path(f"/x/c{n}"))) for n in range(4)))
OWN = {Clip(Path("/x/c0")): ["a/1"]}


def corpus(**notes: int) -> Corpus:
    return Corpus("mine", "all", ("joy", "awe"), (TALK,), "0", notes)


def bad(name: str, reason: str = "unreadable", *, known: bool = False) -> BadClip:
    return BadClip(name, (f"{name}/1",), reason, "it is broken", known)


def clips(*bad: BadClip, missing: int = 0) -> Section:
    return check_clips(corpus(clips_missing=missing), OWN, bad, {})


def test_what_is_known_is_no_problem() -> None:
    assert clips().problems == []
    assert clips(bad("a", known=True)).problems == []
    assert "0 missing, 1 cannot be used; 1 of these" in text(clips(bad("a", known=True)))
    assert clips(bad("a", "missing", known=True), missing=1).problems == []
    assert "clips: 1 of 4 turns have one; 1 files opened" in text(clips())


def test_clips_are_told_by_reason_the_first_by_name() -> None:
    many = [bad(f"c{number}") for number in range(7)]
    assert clips(*many, bad("x", "missing"), missing=1).problems == [
        "clips missing: 1 (x)",
        "clips unreadable: 7 (c0, c1, c2, c3, c4 and 2 more)",
    ]
    assert clips(BadClip("", ("d/2",), "missing", "")).problems == ["clips missing: 1 (d/2)"]
    assert clips(missing=3).problems == ["clips missing: 3 without a known name"]


def test_foreign_names_steer_nothing_and_are_kept_as_they_are() -> None:
    part = clips(bad("\x1b[2J[red]x"), *(bad(f"caf\udce9 {number}") for number in range(9)))
    assert "\\u001b[2J[red]x" in part.problems[0]
    found = json.loads(json.dumps(part.facts))["bad"]
    assert [one["clip"] for one in found[1:]] == [f"caf\udce9 {number}" for number in range(9)]


def test_a_file_is_named_by_its_place_under_the_root() -> None:
    flaws = {Clip(Path("/x/c0")): Flaw("unreadable", "the file is empty")}
    assert [one.clip for one in bad_clips(corpus(), OWN, flaws, "/x")] == ["c0"]
    assert [one.clip for one in bad_clips(corpus(), OWN, flaws, "/")] == ["x/c0"]
    assert [one.clip for one in bad_clips(corpus(), OWN, flaws, None)] == ["c0"]


def test_targets_by_label_and_what_is_looked_at_in_vain() -> None:
    taken = protocol("all")
    selection = select(corpus(), taken)
    part = check_targets(taken, selection, corpus(), 1, {})
    assert "targets: joy 1 (33.3 %), no label 2 (66.7 %)" in text(part)
    assert "turns before the target: 3 of 3\n" in text(part)
    vain = check_targets(taken, selection, corpus(), 1, {Clip(Path("/x/c1")): Flaw("empty", "")})
    assert "2 of 3; without usable frames: empty 1" in " ".join(text(vain).split())
    assert vain.facts["in_vain"] == {"empty": 1}
    assert "without usable" not in text(check_targets(taken, selection, corpus(), 1, None))
