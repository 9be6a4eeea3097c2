"""Plans are counted by emotion, and verdicts by pass."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mmerg.plots.blame import count_audits, count_blame, iterate_verdicts
from mmerg.plots.matrix import tabulate_plans
from mmerg.plots.run_data import RunData
from mmerg.runs.manifest import RunRef, read_manifest
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.runs.trace import SampleTrace
from tests.plots.audited_runs import LOST, PASSED, UNAUDITED, build, plan, planned
from tests.scoring.run_builder import build_run, make_manifest, result


def tabulate_blame(folder: Path, *ids: str) -> pd.DataFrame:
    verdicts = (verdict for id in ids for verdict in iterate_verdicts(SampleTrace(read_events(folder, id))))
    return count_blame(RunRef(folder, read_manifest(folder)), verdicts)


def test_plans_are_counted_by_emotion_in_the_order_of_labels_and_vocabulary(tmp_path: Path) -> None:
    results = [
        planned("a/1", "joy", plan=plan(tone="light")),
        planned("a/2", "joy", plan=plan(tone="gentle")),
        planned("a/3", "joy", plan=plan(tone="gentle")),
        planned("a/4", "fear", plan=plan(tone="blunt")),
        planned("a/5", "awe", plan=plan(tone="odd")),
        result("a/6", None),
        planned("a/7", "joy", plan="be gentle"),
        planned("a/8", "joy", plan={"goal": "comfort"}),
        result("a/9", "Oh.", None, plan=plan()),
        result("a/10", "Oh.", "joy", plan=None),
    ]

    def table(results: Sequence[Result], name: str) -> pd.DataFrame:
        system = make_manifest([]).settings["system"] | {"vocabulary": {"tone": ["gentle", "light", "firm"]}}
        run = build_run(tmp_path / name, results, labels=("fear", "anger", "joy"), config={"system": system})
        return tabulate_plans(RunData(RunRef(run, read_manifest(run))), "tone")

    found = table(results, "run")
    assert found.index.tolist() == ["fear", "anger", "joy", "awe"]
    assert found.columns.tolist() == ["gentle", "light", "firm", "blunt", "odd"]
    assert found.to_numpy().tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0, 0], [2, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert table([planned("a/1", plan="be kind"), result("a/2", None)], "without").empty


def test_each_pass_blames_its_earliest_fault(tmp_path: Path) -> None:
    folder = build(
        tmp_path / "run",
        [
            (planned("a/1"), [PASSED]),
            (planned("a/2", selected_pass=1, passes=2), ["caef", PASSED]),
            (planned("a/3"), ["caef", "sgrg", "sgrg"]),
            (planned("a/4"), ["psp", UNAUDITED]),
            (planned("a/5"), ["mpa", LOST]),
            (result("a/6", None), [UNAUDITED]),
            (result("a/7", None), ["mpa"]),  # the host failed in its second pass
        ],
    )
    blame = tabulate_blame(folder, *(f"a/{n}" for n in range(1, 8)))
    assert {verdict: row.tolist() for verdict, row in blame.iterrows()} == {
        "mpa": [2, 0, 0],
        "caef": [2, 0, 0],
        "psp": [1, 0, 0],
        "sgrg": [0, 1, 1],
        "passed all": [1, 1, 0],
        "unaudited": [1, 1, 0],
        "not finished": [0, 2, 0],
    }
    assert count_audits(blame) == [6, 2, 1]


def test_a_run_without_an_auditor_blames_nobody(tmp_path: Path) -> None:
    assert tabulate_blame(build_run(tmp_path / "run", [result("a/1", "Oh.", "joy")]), "a/1").empty
