"""Which row of a paper a run is, and where its figures are held against the paper's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.paper.published import Name, published
from mmerg.papertables.ours import read_ours, settings_of
from mmerg.runs.events import Form, FramesTaken, TurnFrames
from mmerg.runs.manifest import MANIFEST
from tests.papertables.maker import MELD, SIX, Maker, beside, ours, saw
from tests.scoring.run_builder import AT, ROOT, manifest_of

MISSED = TurnFrames(turn=2, problem="unreadable")
TEXT = FramesTaken(sample="d1/4", at=AT, form="none", turns=())
TEXT_ONLY = (TEXT, TEXT)


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
        ({"samples": 1591}, "the protocol's samples 1591 (the paper's: 31)"),
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


@pytest.mark.parametrize(
    ("looked", "told"),
    [
        ((saw("none", MISSED),), "no clip could be used: text only"),
        (TEXT_ONLY, "no clip was found: text only"),
        ((TEXT, saw("none", MISSED)), "no clip could be used: text only"),
        ((saw("none", MISSED), TEXT), "no clip could be used: text only"),
        ((saw("descriptions"),), "descriptions measured from keyframes"),
    ],
)
def test_a_run_that_saw_no_keyframes_is_not_set_as_its_row(
    looked: Sequence[FramesTaken], told: str, make: Maker
) -> None:
    run = make("run", looked=looked)
    for table, row in SAME.items():
        [line] = ours(beside(table, run))
        assert (line.row, line.tail) == (row, " (differs)")
        assert line.note == f"set as its row, but {told} (the paper's: keyframes)"
        assert all(cell.inside is None for cell in line.cells)


def test_results_that_tell_of_no_look_at_clips_is_not_held_against_a_run(make: Maker) -> None:
    assert ours(beside("main", make("run", looked=())))[0].note == ""


@pytest.mark.parametrize("form", ["images", "montage"])
def test_one_sample_with_a_keyframe_is_enough(form: Form, make: Maker) -> None:
    [line] = ours(beside("main", make("run", looked=(TEXT, saw("none", MISSED), saw(form)))))
    assert (line.row, line.note) == ("MERG", "")


@pytest.mark.parametrize(("dataset", "number"), [({}, 0), (MELD, 1)])
@pytest.mark.parametrize(("seen_by", "looked"), [("none", TEXT_ONLY), ("all", None)])
def test_other_agents_than_the_papers_that_see_keyframes_are_no_row(
    seen_by: str, looked: Sequence[FramesTaken] | None, dataset: dict[str, Any], number: int, make: Maker
) -> None:
    run = make("run", looked=looked, frames={"seen_by": seen_by}, dataset=dataset)
    [line] = ours(beside("main", run, number=number))
    assert line.note == f"no row of the paper; nearest is MERG, but frames {seen_by} (the paper's: paper)"
    assert all(cell.inside is None for cell in line.cells)


def test_tables_of_text_alone_ask_for_no_keyframes() -> None:
    for table in (*published("trace"), *published("hef")):
        assert all("seen" not in (table.settings(row) or {}) for row in table.rows)


def test_a_dataset_without_sessions_is_not_said_to_have_unknown_ones(make: Maker) -> None:
    run = make("run", dataset=MELD)
    assert "sessions" not in ours(beside("main", run))[0].note
    alone = make("all", dataset={"sessions": None})
    assert ours(beside("main", alone))[0].note == "set as its row, but sessions unknown (the paper's: 5)"


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


def test_what_a_manifest_lacks_is_off() -> None:
    found = settings_of(manifest_of([], config={"system": {"name": "merg"}}))
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
    manifest["settings"]["protocol"] = {"targets": "labelled"}
    (meld / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    assert "targets labelled (the paper's: last)" in ours(beside("main", meld, number=1))[0].note


def test_what_is_unfinished_is_told(make: Maker) -> None:
    drawn = beside("main", make("run", n=20, right=15, samples=31))
    assert any("20 samples scored, 0 of them failed; 11 have no result yet" in note for note in drawn.notes)
