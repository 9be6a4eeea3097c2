"""What a report looks like on a terminal."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from mmerg.checking.report import BadClip, Clips, Count, Report
from mmerg.checking.tables import tables
from tests.checking.test_report import CLIPS, GOOD, REPORT, TAKEN, bad


def text(report: Report) -> str:
    file = StringIO()
    for table in tables(report):
        Console(file=file, width=120).print(table)
    return file.getvalue()


def test_a_row_for_each_count_with_its_verdict() -> None:
    told = text(REPORT)
    rows = [line.split() for line in told.splitlines() if line.startswith(("dialogues", "turns"))]
    assert rows == [["dialogues", "280", "280", "✓"], ["turns", "of", "joy", "402", "–", "–"]]
    assert "official: somebody" in told
    assert "clips: 3 of 4 turns have one; 3 files opened" in told
    unknown = replace(REPORT, corpus=replace(GOOD, source=None))
    assert "no official counts are known for it" in text(unknown)


def test_what_is_wrong_comes_before_what_is_known_and_what_is_harmless() -> None:
    flaws = (bad("fine", "long", harmless=True), bad("known", known=True), bad("wrong"))
    told = text(Report(GOOD, replace(CLIPS, bad=flaws), TAKEN))
    places = [told.index(f"{name}/1") for name in ("wrong", "known", "fine")]
    assert places == sorted(places)
    assert "known in the published release" in told
    assert "frames are taken all the same" in told
    assert "0 missing, 2 cannot be used; 1 of these" in told


def test_the_first_of_many_are_named_and_turns_counted() -> None:
    shared = BadClip("film.avi", ("d/1", "d/2", "d/3"), "outside", "too late")
    told = text(Report(GOOD, replace(CLIPS, bad=(shared, *(bad(f"c{n}") for n in range(8)))), TAKEN))
    assert "d/1 +2" in told
    assert "and 3 more" in told
    assert "c4" in told
    assert "c5" not in told


def test_foreign_names_steer_nothing() -> None:
    clips = Clips("open", 1, 1, 1, 0, (bad("\x1b[2J[red]x"),))
    told = text(replace(REPORT, clips=clips))
    assert "\x1b[2J" not in told
    assert "\\u001b[2J[red]x" in told


def test_labels_that_nobody_found_or_published_take_no_room() -> None:
    rows = (Count("dialogues", 1), Count("turns of joy", 2), Count("turns of awe", 0), Count("turns of fear", 0, 50))
    taken = replace(TAKEN, samples=4, labels={"joy": 1, "awe": 0, "": 3})
    told = text(replace(REPORT, corpus=replace(GOOD, counts=rows), targets=taken))
    assert "awe" not in told
    assert [line.split()[2] for line in told.splitlines() if line.startswith("turns of")] == ["joy", "fear"]
    assert "targets: joy 1 (25.0 %), no label 3 (75.0 %)" in told


def test_what_is_looked_at_in_vain_is_told() -> None:
    assert "in vain" not in text(REPORT)
    vain = replace(TAKEN, in_vain={"could_show_target": 2, "empty": 1})
    told = " ".join(text(replace(REPORT, targets=vain)).split())
    assert "200 of 268; looked at in vain: could_show_target 2, empty 1" in told
