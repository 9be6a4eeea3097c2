"""What is counted: plans by emotion, and verdicts by pass, of each sample's last finished try."""

from pathlib import Path

import pytest

from mmerg.errors import RunError
from mmerg.plots import blame
from mmerg.plots.matrix import of_plans
from mmerg.runs.samples import events_file
from tests.plots.audited_runs import LOST, PASSED, UNAUDITED, build, planned
from tests.plots.audited_runs import plan as made
from tests.scoring.run_builder import build_run, result


def test_plans_are_counted_by_emotion_in_the_order_of_labels_and_vocabulary() -> None:
    results = [
        planned("a/1", "joy", plan=made(tone="light")),
        planned("a/2", "joy", plan=made(tone="gentle")),
        planned("a/3", "joy", plan=made(tone="gentle")),
        planned("a/4", "fear", plan=made(tone="blunt")),
        planned("a/5", "awe", plan=made(tone="odd")),
        result("a/6", None),
        planned("a/7", "joy", plan="be gentle"),
        planned("a/8", "joy", plan={"goal": "comfort"}),
        result("a/9", "Oh.", None, plan=made()),
        result("a/10", "Oh.", "joy", plan=None),
    ]
    table = of_plans(results, "tone", ("fear", "anger", "joy"), ("gentle", "light", "firm"))
    assert table.rows == ("fear", "anger", "joy", "awe")
    assert table.columns == ("gentle", "light", "firm", "blunt", "odd")
    assert table.counts.tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0, 0], [2, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert table.shares[2].tolist() == pytest.approx([200 / 3, 100 / 3, 0, 0, 0])


def test_without_plans_there_is_no_map() -> None:
    assert of_plans([planned("a/1", plan="be kind"), result("a/2", None)], "tone", ("joy",)).rows == ()
    assert of_plans([], "tone").rows == ()


def test_the_earliest_fault_of_each_pass_is_blamed(tmp_path: Path) -> None:
    folder = build(
        tmp_path / "run",
        [
            (planned("a/1"), [PASSED]),
            (planned("a/2", selected_pass=1, passes=2), ["caef", PASSED]),
            (planned("a/3"), ["caef", "sgrg", "sgrg"]),
            (planned("a/4"), ["psp", UNAUDITED]),
            (planned("a/5"), ["mpa", LOST]),
            (result("a/6", None), [UNAUDITED]),
            (result("a/7", None), ["mpa"]),  # its second pass fell with the host
        ],
    )
    found = blame.read(folder, [f"a/{n}" for n in range(1, 8)])
    assert found.verdicts == ("mpa", "caef", "psp", "sgrg", "passed all", "unaudited", "not finished")
    none = dict.fromkeys(found.verdicts, 0)
    assert found.passes == (
        none | {"passed all": 1, "caef": 2, "psp": 1, "mpa": 2, "unaudited": 1},
        none | {"passed all": 1, "sgrg": 1, "unaudited": 1, "not finished": 2},
        none | {"sgrg": 1},
    )
    assert [(found.n(t), found.audited(t)) for t in range(3)] == [(7, 6), (5, 2), (1, 1)]


def test_the_last_finished_try_counts(tmp_path: Path) -> None:
    folder = build(tmp_path / "run", [(planned("a/1"), ["mpa", "mpa"]), (planned("a/1"), ["sgrg"])])
    part = folder / "samples" / "a%2F1.x1234567.part"  # a third try that was broken off
    part.write_bytes(b'{"sample":"a/1","at":"2026')
    found = blame.read(folder, ["a/1"])
    assert [{name: count for name, count in counts.items() if count} for counts in found.passes] == [{"sgrg": 1}]


def test_samples_without_a_result_are_not_counted(tmp_path: Path) -> None:
    folder = build(tmp_path / "run", [(planned("a/1"), ["mpa"]), (planned("a/2"), [PASSED])])
    assert blame.read(folder, ["a/2"]).n(0) == 1


def test_a_run_without_an_auditor_blames_nobody(tmp_path: Path) -> None:
    folder = build_run(tmp_path / "run", [result("a/1", "Oh.", "joy")])
    assert blame.read(folder, ["a/1"], ("sgrg",)).passes == ()


@pytest.mark.parametrize("line", ["{}", "[" * 9999, '{"sample":"\\q","at":"","kind":"audited"}', "\x00"])
def test_a_broken_line_is_named(line: str, tmp_path: Path) -> None:
    folder = build(tmp_path / "run", [(planned("a/1"), ["mpa"])])
    told = events_file(folder, "a/1")
    with told.open("a") as file:
        file.write(line + "\n")
    lines = len(told.read_bytes().splitlines())
    with pytest.raises(RunError, match=f"line {lines} is no event of this sample"):
        blame.read(folder, ["a/1"])
