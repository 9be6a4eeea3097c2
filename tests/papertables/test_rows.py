"""Which row of a paper a run is, and where its figures are held against the paper's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.paper.published import Name, published
from mmerg.papertables.ours import read_ours, settings_of
from mmerg.records.run import MANIFEST
from tests.papertables.maker import MELD, SIX, Maker, beside, ours
from tests.scoring.run_builder import ROOT, manifest_of


@pytest.mark.parametrize(
    ("table", "row", "changes"),
    [
        ("main", "MERG", {}),
        ("ablations", "cascaded (MERG)", {}),
        ("ablations", "without MPA", {"without": ["mpa"]}),
        ("ablations", "without CAEF", {"without": ["caef"]}),
        ("ablations", "without PSP", {"without": ["psp"]}),
        ("ablations", "without GRA", {"without": ["gra"]}),
        ("ablations", "independent", {"organization": "independent"}),
        *(("iterations", str(number), {"max_iterations": number}) for number in range(1, 7)),
        ("iterations", "without final selection", {"final_selection": "last"}),
        ("topk", "none", {"top_k": 0}),
        *(("topk", str(number), {"top_k": number}) for number in range(1, 6)),
        ("backbones", "Qwen3.5:27B", {}),
        ("backbones", "Qwen3.5:9B", {"backbone": {"name": "qwen3.5-9b"}}),
        ("backbones", "Qwen3-VL:32B", {"backbone": {"name": "qwen3-vl-32b"}}),
        ("backbones", "Qwen2.5-VL:7B", {"backbone": {"name": "qwen2.5vl-7b"}}),
        ("backbones", "Gemma3:12B", {"backbone": {"name": "gemma3-12b"}}),
        ("backbones", "LLaVA:13B", {"backbone": {"name": "llava-13b"}}),
    ],
)
def test_a_run_stands_below_its_row(table: Name, row: str, changes: dict[str, Any], make: Maker) -> None:
    drawn = beside(table, make("run", **changes))
    [line] = ours(drawn)
    assert (line.row, line.run, line.note) == (row, "run", "")
    assert drawn.lines[drawn.lines.index(line) - 1].name == row


def test_backbones_of_the_paper_are_those_of_conf() -> None:
    names = {yaml.safe_load(file.read_text(encoding="utf-8"))["name"] for file in (ROOT / "conf/backbone").iterdir()}
    paper = published("backbones")[0]
    assert {str((paper.settings(row) or {})["backbone"]) for row in paper.rows} <= names


def test_a_run_of_meld_stands_in_its_table(make: Maker) -> None:
    assert ours(beside("main", make("run", dataset=MELD), number=1))[0].row == "MERG"
    [line] = ours(beside("main", make("dev", dataset=MELD | {"split": "dev"}), number=1))
    assert (line.row, line.fits, line.note) == ("MERG", False, "set as its row, but split dev (the paper's: test)")


SAME: dict[Name, str] = {"main": "MERG", "ablations": "cascaded (MERG)", "iterations": "2", "topk": "1"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"backbone": {"name": "tiny"}}, "backbone tiny (the paper's: qwen3.5-27b)"),
        ({"dataset": {"sessions": [1, 5]}}, "sessions 1+5 (the paper's: 5)"),
        ({"dataset": {"labels": SIX[:4]}}, "labels 4 (the paper's: 6)"),
        ({"samples": 1591}, "samples 1591 (the paper's: 31)"),
        ({"dataset": {"name": "meld"}}, "dataset meld (the paper's: iemocap)"),
    ],
)
def test_a_rows_system_on_other_data_or_another_model_stands_with_it_without_marks(
    changes: dict[str, Any], told: str, make: Maker
) -> None:
    run = make("run", **changes)
    for table, row in SAME.items():
        drawn = beside(table, run)
        [line] = ours(drawn)
        assert (line.row, line.tail, line.note) == (row, " (differs)", f"set as its row, but {told}")
        assert drawn.lines[drawn.lines.index(line) - 1].name == row
        assert all(cell.inside is None for cell in line.cells)


def test_an_ablation_on_other_data_stands_with_the_papers(make: Maker) -> None:
    changes: dict[str, dict[str, Any]] = {
        "without MPA": {"without": ["mpa"]},
        "without CAEF": {"without": ["caef"]},
        "without PSP": {"without": ["psp"]},
        "without GRA": {"without": ["gra"]},
        "independent": {"organization": "independent"},
        "cascaded (MERG)": {},
    }
    runs = [make(row, dataset={"name": "meld"}, **change) for row, change in changes.items()]
    drawn = beside("ablations", *runs)
    assert [(line.row, line.run) for line in ours(drawn)] == [(row, row) for row in changes]
    [told] = [note for note in drawn.told if "set as its row" in note]
    assert told.startswith("run 1, run 2, run 3, run 4, run 5, run 6: ")


def test_a_model_that_is_no_row_is_no_row_of_the_backbones(make: Maker) -> None:
    [line] = ours(beside("backbones", make("run", backbone={"name": "tiny"})))
    assert (line.row, line.tail) == ("", " (no row)")
    [line] = ours(beside("backbones", make("other", backbone={"name": "llava-13b"}, dataset={"name": "meld"})))
    assert (line.row, line.tail) == ("LLaVA:13B", " (differs)")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"top_k": 3}, "top_k 3 (the paper's: 1)"),
        ({"without": ["psp", "mpa"]}, "without mpa+psp (the paper's: none)"),
        ({"max_iterations": 0, "final_selection": "last"}, "max_iterations 0 (the paper's: 2), final_selection last"),
    ],
)
def test_a_run_that_is_no_row_is_listed_with_what_differs(changes: dict[str, Any], told: str, make: Maker) -> None:
    drawn = beside("main", make("run", **changes))
    assert drawn.lines[-1].run == "run"
    assert drawn.lines[-1].row == ""
    assert f"nearest is MERG, but {told}" in drawn.lines[-1].note
    assert all(cell.inside is None for cell in drawn.lines[-1].cells)


def test_what_older_manifests_lack_is_off() -> None:
    manifest = manifest_of([])
    for name in ("without", "organization", "final_selection"):
        manifest["config"]["system"].pop(name, None)
    found = settings_of(manifest)
    expected = {"without": "none", "organization": "cascaded", "final_selection": "lexicographic", "top_k": 0}
    assert {name: found[name] for name in expected} == expected


def test_figures_intervals_n_and_marks(make: Maker) -> None:
    run = make("run", right=24)
    drawn = beside("main", run)
    cells = dict(zip(drawn.columns, ours(drawn)[0].cells, strict=True))
    kept = read_ours(run).scores.scores
    acc = cells["acc"]
    assert (acc.value, (acc.low, acc.high), acc.n) == (kept["acc"].value, kept["acc"].interval, 31)
    assert acc.inside is True  # 83.87 within 24 of 31: 60 to 89
    assert cells["self_ppl"].value == kept["self_ppl"].value
    assert cells["self_ppl"].inside is False
    assert (cells["bert_p"].value, cells["bert_p"].inside) == (None, None)


def test_the_papers_accuracy_has_wilsons_interval_where_n_is_known(make: Maker) -> None:
    drawn = beside("main")
    by_name = {line.name: line.cells[drawn.columns.index("acc")] for line in drawn.lines}
    assert (round(by_name["MERG"].low or 0), round(by_name["MERG"].high or 0), by_name["MERG"].n) == (67, 93, 31)
    assert (by_name["CEM"].low, by_name["CEM"].n) == (None, None)
    assert all(cell.low is None for line in beside("main", number=1).lines for cell in line.cells)


def test_no_mark_where_figures_do_not_compare(make: Maker) -> None:
    def marks(name: Name, run: Path, number: int = 0) -> dict[str, bool | None]:
        drawn = beside(name, run, number=number)
        return {column: cell.inside for column, cell in zip(drawn.columns, ours(drawn)[0].cells, strict=True)}

    assert marks("main", make("run"))["dist1"] is not None
    assert set(marks("iterations", make("unsure", max_iterations=3)).values()) == {None}
    assert set(marks("main", make("cut", n=20, right=9, samples=31)).values()) == {None}
    meld = make("meld", dataset=MELD)
    found = marks("main", meld, 1)
    assert (found["dist1"], found["acc"] is None) == (None, False)
    manifest = json.loads((meld / MANIFEST).read_text(encoding="utf-8"))
    manifest["protocol"]["targets"] = "labelled"
    (meld / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    assert "targets labelled (the paper's: last)" in ours(beside("main", meld, number=1))[0].note


def test_what_is_unfinished_is_told(make: Maker) -> None:
    drawn = beside("main", make("run", n=20, right=15, samples=31))
    assert any("20 samples scored, 0 of them failed; 11 have no result yet" in note for note in drawn.notes)
