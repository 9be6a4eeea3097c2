"""What of a report is a problem, and its bytes."""

import json
from dataclasses import replace

import pytest

from mmerg.checking.report import BadClip, Clips, Count, Part, Report, Targets

GOOD = Part("meld", "test", "0", (Count("dialogues", 280, 280), Count("turns of joy", 402)), "somebody", {})
TAKEN = Targets("targets=last, n=268", 268, {}, {"joy": 268}, 200, {}, 2)
CLIPS = Clips("open", 3, 3, 4, 0, ())
REPORT = Report(GOOD, CLIPS, TAKEN)


def bad(name: str, reason: str = "unreadable", *, known: bool = False, harmless: bool = False) -> BadClip:
    return BadClip(name, (f"{name}/1",), reason, "it is broken", known, harmless)


def problems(*clips: BadClip, missing: int = 0) -> list[str]:
    return replace(REPORT, clips=replace(CLIPS, bad=clips, missing=missing)).problems()


def test_sound() -> None:
    assert REPORT.problems() == []
    assert replace(REPORT, clips=None).problems() == []
    assert problems(bad("a", known=True), bad("b", "long", harmless=True)) == []
    assert problems(bad("a", "missing", known=True), missing=1) == []


def test_clips_are_told_by_reason_the_first_by_name() -> None:
    many = [bad(f"c{number}") for number in range(7)]
    assert problems(*many, bad("x", "missing"), missing=1) == [
        "clips missing: 1 (x)",
        "clips unreadable: 7 (c0, c1, c2, c3, c4 and 2 more)",
    ]
    assert problems(BadClip("", ("d/2",), "missing", "")) == ["clips missing: 1 (d/2)"]
    assert problems(bad("\x1b[2J")) == ["clips unreadable: 1 (\\u001b[2J)"]


def test_a_file_with_several_bad_spans_is_told_once() -> None:
    spans = [BadClip("film.avi", (f"d/{n}",), "outside", f"starts at {n} s, after the end") for n in range(3)]
    assert problems(*spans, bad("other.avi", "outside")) == ["clips outside: 2 (film.avi, other.avi)"]
    assert problems(*(BadClip("", (f"d/{n}",), "missing", "") for n in range(2))) == ["clips missing: 2 (d/0, d/1)"]


def test_missing_clips_without_a_name_count() -> None:
    assert problems(missing=3) == ["clips missing: 3 that cannot be named"]


def test_counts_damage_samples_and_memory() -> None:
    wrong = replace(GOOD, counts=(Count("dialogues", 279, 280),), notes={"rows_malformed": 2, "spans_reversed": 1})
    assert replace(REPORT, corpus=wrong).problems() == [
        "meld test: 279 dialogues (280 official)",
        "meld test: rows_malformed 2: the files are not as published",
    ]
    assert replace(REPORT, memory=replace(wrong, notes={})).problems() == [
        "memory: meld test: 279 dialogues (280 official)"
    ]
    assert replace(REPORT, refused="no such folder").problems() == ["memory: no such folder"]
    empty = replace(TAKEN, samples=0, told="targets=last, n=0")
    assert replace(REPORT, targets=empty).problems() == ["the protocol leaves no sample: targets=last, n=0"]
    assert replace(REPORT, targets=replace(TAKEN, official=268)).problems() == []
    fewer = replace(TAKEN, official=269)
    assert replace(REPORT, targets=fewer).problems() == ["268 samples (269 official): targets=last, n=268"]


@pytest.mark.parametrize(
    "note",
    [
        *("evaluations_unreadable", "evaluations_without_turn", "labels_missing", "labels_unknown"),
        *("lines_unreadable", "dialogues_without_turns", "rows_incomplete"),
    ],
)
def test_notes_of_damage_are_problems(note: str) -> None:
    damaged = replace(REPORT, corpus=replace(GOOD, notes={note: 3, "labels_xxx": 9}))
    assert damaged.problems() == [f"meld test: {note} 3: the files are not as published"]


def test_json_holds_all_and_any_name() -> None:
    clips = replace(CLIPS, bad=tuple(bad(f"caf\udce9 {number}") for number in range(9)))
    report = replace(REPORT, clips=clips)
    content = json.loads(report.to_json())
    assert [one["clip"] for one in content["clips"]["bad"]] == [f"caf\udce9 {number}" for number in range(9)]
    assert content["problems"] == report.problems()
    assert content["corpus"]["counts"][0] == {"what": "dialogues", "found": 280, "official": 280}
