"""Export to other tools, import of their ratings, the number of items that a study needs, and the command."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pandas import DataFrame, Index

from mmerg.errors import MmergError
from mmerg.rating.exchange import export, import_ratings
from mmerg.rating.power import compute_power, find_item_count
from mmerg.rating.score import estimate_mean
from mmerg.rating.store import read_log
from mmerg.rating.study import read_study
from tests.processes import in_process
from tests.rating.parts import SECRET, create_study, write_runs

FORMATS = {"csv": "out.csv", "pearmut": "out.json", "potato": "out"}


def fill_in(form: str, out: Path, wanted: dict[tuple[str, int, str], Any]) -> Path:
    """Writes the tool's output with the wanted answers, and returns its path."""
    if form == "csv":
        rows = list(csv.DictReader(out.read_text().splitlines()))
        for row in rows:
            row["value"] = wanted[row["rater"], int(row["place"]), row["question"]]
        with out.open("w") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        return out
    if form == "potato":
        for folder in out.iterdir():
            config = yaml.safe_load((folder / "config.yaml").read_text())
            items = json.loads((folder / "data.json").read_text())
            state = {item["id"]: [] for item in items}  # type: ignore[var-annotated]
            for scheme in config["annotation_schemes"]:
                for item in items:
                    value = wanted[folder.name, int(item["id"].rpartition("-")[2]), scheme["name"]]
                    starts = {"cannot": "Cannot", "first": "A is", "second": "B is", "tie": "Equally"}
                    start = starts.get(value, str(value))
                    name = next(label for label in scheme["labels"] if label.startswith(start))
                    state[item["id"]].append([{"schema": scheme["name"], "name": name}, name])
            place = folder / "annotation_output" / "somebody"
            place.mkdir(parents=True)
            (place / "user_state.json").write_text(json.dumps({"instance_id_to_label_to_value": state}))
        return out
    campaign, lines = json.loads(out.read_text()), []
    names = [slider["name"] for slider in campaign["info"]["sliders"]]
    for task in campaign["data"]:
        for document in task:
            rater, _, place = document[0]["item_id"].rpartition("-")
            sliders: dict[str, dict[str, Any]] = {side: {} for side in document[0]["tgt"]}
            for name in names:
                value = wanted[rater, int(place), name]
                sliders["A"][name] = value if isinstance(value, int) else {"first": 4, "second": 2, "tie": 3}.get(value)
                if "B" in sliders:
                    sliders["B"][name] = 3 if value != "cannot" else None
            annotation = [{side: {"sliders": values} for side, values in sliders.items()}]
            lines.append(json.dumps({"item": document, "annotation": annotation, "user_id": rater}))
    annotations = out.with_suffix(".jsonl")
    annotations.write_text("\n".join(lines))
    return annotations


@pytest.mark.parametrize("design", ["likert", "pairwise"])
@pytest.mark.parametrize("form", FORMATS)
def test_ratings_survive_an_export_and_import(tmp_path: Path, form: str, design: str) -> None:
    folder, out = create_study(tmp_path, 4, design=design, gold=0.2), tmp_path / FORMATS[form]
    study, random = read_study(folder), np.random.default_rng(0)
    export(study, form, out)
    text = "".join(file.read_text() for file in (out.rglob("*.*") if out.is_dir() else [out]))
    assert not [word for word in SECRET if word in text]
    wanted = {
        (rater, place, name): random.choice(np.array([*question.points, "cannot"], object))
        for rater, order in study.orders.items()
        for place in range(len(order))
        for name, question in study.form.questions.items()
    }
    file = fill_in(form, out, wanted)
    count = import_ratings(study, folder, form, file)
    size = (folder / "ratings.jsonl").stat().st_size
    import_ratings(study, folder, form, file)
    assert (folder / "ratings.jsonl").stat().st_size == size
    log, _ = read_log(folder, study)
    found = {(*key, name): value for key, answers in log.answers.items() for name, value in answers.items()}
    lost = {"cannot"} if form == "pearmut" else set()  # a slider that nobody moved
    assert found == {key: value for key, value in wanted.items() if value not in lost}
    assert count == len(found)


def test_spreadsheets_with_semicolons_and_decimals_are_read(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 4)
    (tmp_path / "in.csv").write_text("rater;place;question;value\nr1;3,0;empathy;4,0\nr1;3.0;fluency;5.0\n")
    assert import_ratings(read_study(folder), folder, "csv", tmp_path / "in.csv") == 2
    assert read_log(folder, read_study(folder))[0].answers["r1", 3] == {"empathy": 4, "fluency": 5}


def test_the_file_imported_last_counts(tmp_path: Path) -> None:
    folder, file = create_study(tmp_path, 4), tmp_path / "in.csv"
    for value in (4, 3, 4):
        file.write_text(f"rater,place,question,value\nr1,3,empathy,{value}\n")
        import_ratings(read_study(folder), folder, "csv", file)
    assert read_log(folder, read_study(folder))[0].answers["r1", 3] == {"empathy": 4}


@pytest.mark.parametrize(
    ("text", "what"),
    [("rater,place,question\nr1,3,wit", "KeyError: 'value'"), ("value,rater,place\n4,r1", "this is not a csv file")],
)
def test_tables_without_ratings_are_refused(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(MmergError, match=what):
        import_ratings(read_study(create_study(tmp_path, 3)), tmp_path / "study", "csv", tmp_path / "in.csv")


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("r1,3,empathy,9", "row 2: 9 is not on the scale of empathy"),
        ("r1,999,empathy,4", "no place 999"),
        ("nobody,3,empathy,4", "'nobody'"),
        ("r1,3,wit,4", "no question 'wit'"),
        ("r1,3,empathy,", "no answers"),
    ],
)
def test_answers_of_another_study_are_refused_and_nothing_is_added(tmp_path: Path, row: str, what: str) -> None:
    folder = create_study(tmp_path, 3)
    (tmp_path / "in.csv").write_text(f"rater,place,question,value\n{row}\n")
    with pytest.raises(MmergError, match=what):
        import_ratings(read_study(folder), folder, "csv", tmp_path / "in.csv")
    assert not (folder / "ratings.jsonl").exists() or not (folder / "ratings.jsonl").read_bytes()


def test_a_planned_study_detects_its_difference_with_the_planned_power() -> None:
    spread, raters = (0.8, 0.1, 1.0), 4
    items = find_item_count(raters, 0.3, spread, 0.8)
    assert items
    before, enough = compute_power(np.array([items - 1, items]), raters, 0.3, spread)
    assert before < 0.8 <= enough
    detected = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        shapes = ((items, 1), (1, raters), (items, raters))
        parts = [random.normal(0, sd, shape) for sd, shape in zip(spread, shapes, strict=True)]
        ratings = DataFrame(0.3 + parts[0] + parts[1] + parts[2], index=Index(range(items), name="dialogue"))
        _, p = estimate_mean("x", ratings, (-9, 9), draws=200, seed=0)
        detected += p is not None and p < 0.05
    assert 64 <= detected <= 96  # 80 of 100, within four standard errors
    assert find_item_count(2, 0.3, (0.8, 2.0, 1.0), 0.8) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nw"], "did you mean new?"),
        (["import", "study"], "needs STUDY FILE"),
        (["score", "nowhere"], "this folder is not a study"),
        (["plan", "difference=0.5", "share=0.7"], "items for 0.5 points items for 70 % wins 2 raters"),
        (["new", "--help"], "serves the rating page"),
    ],
)
def test_the_command_checks_its_arguments(arguments: list[str], message: str) -> None:
    done = in_process([sys.executable, "-m", "mmerg.rate", *arguments])
    assert done.returncode == (0 if {"plan", "--help"} & {*arguments} else 2)
    assert message in " ".join((done.stdout + done.stderr).split())


def test_the_command_accepts_runs_of_a_sweep(tmp_path: Path) -> None:
    """The names of their folders contain "=", as settings do."""
    swept = write_runs(tmp_path, 12, "demo-merg-seed=0-1a", "demo-merg-seed=1-2b")
    arguments = ["new", str(tmp_path / "study"), *map(str, swept), "items=12", "visual=none", "gold=0", "repeats=0"]
    done = in_process([sys.executable, "-m", "mmerg.rate", *arguments])
    assert done.returncode == 0, done.stderr
    assert read_study(tmp_path / "study").items
