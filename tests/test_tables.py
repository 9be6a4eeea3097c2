"""`python -m mmerg.tables` over scored run folders: which row a run is, marks, and four formats."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from mmerg.compare import main as compare
from mmerg.judging.judgement import Judgement, judgement_file, replies_digest
from mmerg.paper.published import FILES, published
from mmerg.papertables.as_csv import as_csv, plain
from mmerg.papertables.as_latex import as_latex
from mmerg.papertables.as_latex import escaped as latex
from mmerg.papertables.as_markdown import as_markdown
from mmerg.papertables.as_markdown import escaped as markdown
from mmerg.papertables.as_text import as_text, figure
from mmerg.papertables.beside import Beside, put_beside
from mmerg.papertables.line import Line
from mmerg.papertables.ours import read_ours, settings_of
from mmerg.plot import main as plot
from mmerg.records.run import MANIFEST, read_results
from mmerg.score import main as score
from mmerg.scoring.comparisons import Compared
from mmerg.scoring.files import read
from mmerg.scoring.score import SCORES, Confusion, Score
from mmerg.tables import main
from tests.scoring.run_builder import ROOT, build_run, manifest_of, result

SIX = ["angry", "happy", "excited", "sad", "frustrated", "neutral"]
Make = Callable[..., Path]


def config(**changes: Any) -> dict[str, Any]:
    """What decides the row of a run, as MERG's main row has it, with `changes`."""
    system = yaml.safe_load((ROOT / "conf/system/merg.yaml").read_text(encoding="utf-8")) | {"name": "merg"}
    for name in ("max_iterations", "without", "organization", "final_selection"):
        if name in changes:
            system[name] = changes.pop(name)
    memory = {"top_k": changes.pop("top_k", 1)}
    dataset = {"name": "iemocap", "split": "sessions", "sessions": [5], "labels": SIX} | changes.pop("dataset", {})
    return {"dataset": dataset, "system": system, "memory": memory, "backbone": {"name": "qwen3.5-27b"}} | changes


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A scored run in `runs/<name>`: `right` of `n` forecasts are right."""

    def made(name: str, *, right: int = 24, n: int = 31, samples: int | None = None, **changes: Any) -> Path:
        lines = [
            result(f"d{i}/4", f"That is reply {i}, my friend.", "sad" if i < right else "angry", gold="sad")
            for i in range(n)
        ]
        logprobs = {line.id: [-0.6, -0.7 - 0.01 * i] for i, line in enumerate(lines)}
        folder = tmp_path / "runs" / name
        settings = config(**changes)
        build_run(
            folder,
            lines,
            logprobs=logprobs,
            corpus=settings["dataset"]["name"],
            samples=samples,
            model=settings["backbone"]["name"],
            config=settings,
        )
        score([str(folder), "--resamples", "50"])
        return folder

    return made


def beside(name: Any, *runs: Path, number: int = 0) -> Beside:
    return put_beside(published(name)[number], [read_ours(run) for run in runs])


def ours(table: Beside) -> list[Line]:
    return [line for line in table.lines if line.by == "ours"]


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
def test_a_run_stands_below_its_row(table: str, row: str, changes: dict[str, Any], make: Make) -> None:
    drawn = beside(table, make("run", **changes))
    [line] = ours(drawn)
    assert (line.row, line.run, line.note) == (row, "run", "")
    assert drawn.lines[drawn.lines.index(line) - 1].name == row


def test_backbones_of_the_paper_are_those_of_conf() -> None:
    names = {yaml.safe_load(file.read_text(encoding="utf-8"))["name"] for file in (ROOT / "conf/backbone").iterdir()}
    paper = published("backbones")[0]
    assert {str((paper.settings(row) or {})["backbone"]) for row in paper.rows} <= names


def test_a_run_of_meld_stands_in_its_table(make: Make) -> None:
    seven = ["neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust"]
    run = make("run", dataset={"name": "meld", "split": "test", "sessions": None, "labels": seven})
    assert ours(beside("main", run, number=1))[0].row == "MERG"
    dev = make("dev", dataset={"name": "meld", "split": "dev", "sessions": None, "labels": seven})
    [line] = ours(beside("main", dev, number=1))
    assert (line.row, line.fits, line.note) == ("MERG", False, "set as its row, but split dev (the paper's: test)")


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
@pytest.mark.parametrize("table", ["main", "ablations", "iterations", "topk"])
def test_a_rows_system_on_other_data_or_another_model_stands_with_it_without_marks(
    table: str, changes: dict[str, Any], told: str, make: Make
) -> None:
    drawn = beside(table, make("run", **changes))
    [line] = ours(drawn)
    row = {"main": "MERG", "ablations": "cascaded (MERG)", "iterations": "2", "topk": "1"}[table]
    assert (line.row, line.tail, line.note) == (row, " (differs)", f"set as its row, but {told}")
    assert drawn.lines[drawn.lines.index(line) - 1].name == row
    assert all(cell.inside is None for cell in line.cells)
    assert "run 1 (differs)" in as_markdown(drawn).replace("**", "")
    assert "run 1 (differs)" in as_latex(drawn)


def test_an_ablation_on_other_data_stands_with_the_papers(make: Make) -> None:
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


def test_a_model_that_is_no_row_is_no_row_of_the_backbones(make: Make) -> None:
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
def test_a_run_that_is_no_row_is_listed_with_what_differs(changes: dict[str, Any], told: str, make: Make) -> None:
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


def test_figures_intervals_n_and_marks(make: Make) -> None:
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


def test_the_papers_accuracy_has_wilsons_interval_where_n_is_known(make: Make) -> None:
    drawn = beside("main")
    by_name = {line.name: line.cells[drawn.columns.index("acc")] for line in drawn.lines}
    assert (round(by_name["MERG"].low or 0), round(by_name["MERG"].high or 0), by_name["MERG"].n) == (67, 93, 31)
    assert (by_name["CEM"].low, by_name["CEM"].n) == (None, None)
    assert all(cell.low is None for line in beside("main", number=1).lines for cell in line.cells)


def rate(run: Path, judge: str, value: float) -> Path:
    """Put a judgement of the run's replies beside it."""
    one = Score(name="x", value=value, n=31, interval=(value - 0.2, value + 0.2))
    counts = dict.fromkeys(("drawn", "n", "failed", "unjudged", "verdicts", "unusable"), 0)
    judgement = Judgement(
        **{"judge": judge, "engine": "e", "judging": "j", "corpus": "iemocap", "left_out": {}, "identity": {}},  # type: ignore[arg-type]
        **{"run": run.name, "protocol": "p", "self_judged": False},  # type: ignore[arg-type]
        **counts,  # type: ignore[arg-type]
        replies=replies_digest(read_results(run).values()),
        scores=dict.fromkeys(("empathy", "coherence", "fluency"), one),
    )
    file = run / judgement_file(judge)
    judgement.write(file)
    return file


def test_a_judges_ratings_fill_the_columns_of_people_without_a_mark(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make("run")
    rate(run, "larger", 3.9)
    drawn = beside("main", run)
    cell = ours(drawn)[0].cells[drawn.columns.index("empathy")]
    assert (cell.value, cell.inside) == (3.9, None)
    assert any("Emp, Coh, Flu by the model larger, not by people" in note for note in drawn.notes)
    rate(run, "smaller", 2.9)
    drawn = beside("main", run)
    assert ours(drawn)[0].cells[drawn.columns.index("empathy")].value is None
    assert any("judged by larger, smaller: choose one with --judge" in note for note in drawn.notes)
    capsys.readouterr()
    assert main([str(run), "--judge", "smaller"]) == 0
    assert "by the model smaller, not by people" in " ".join(capsys.readouterr().out.split())
    (run / "judgement-smaller.json").write_text("{", encoding="utf-8")
    assert main([str(run)]) == 2
    assert "this judgement cannot be read" in capsys.readouterr().err


def test_a_judgement_of_other_replies_is_refused(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    file = rate(run, "larger", 3.9)
    assert main([str(run)]) == 0
    text = json.loads(file.read_text(encoding="utf-8")) | {"replies": "0" * 64}
    file.write_text(json.dumps(text), encoding="utf-8")
    assert main([str(run)]) == 2
    assert "this judgement is stale" in capsys.readouterr().err


def test_text(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run", right=24)
    capsys.readouterr()
    assert main(["iterations", str(run)]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 120
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    merg = lines.index("2 1.94 37.25 81.10 83.87 84.03 86.64 85.28 1.16")
    assert lines[merg + 1 : merg + 4] == ["from 67.37", "to 92.91", "n 31 31 31 31 31 31 31 31"]
    assert re.fullmatch(r"run 1 [\d.]+ ✗ [\d.]+ [✓✗] [\d.]+ [✓✗] 77.42 ✓ – – – 0.00 ✗", lines[merg + 4])
    assert lines[merg + 5].startswith("from ")
    flat = " ".join(lines)
    for part in (
        "source: MERG, arXiv 2604.18988",
        "labels of rows 1 to 6 were lost",
        "run 1 is run: iemocap test, protocol targets=last emotions=all, n=31; 31 samples scored, 0 of them failed",
        "PPL is self_ppl of lm:qwen3.5-27b|digest:",
        "✓ the paper's figure lies in our 95 % interval",
        "ours, Dist-1: n:1|tok:nltk",
        "PPL (self)",
    ):
        assert part in flat


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_table_is_wider_than_its_terminal_or_loses_a_digit_or_a_name(width: int, make: Make) -> None:
    run = make("r" * 60, backbone={"name": "a-backbone-with-quite-a-long-name"}, right=31)
    rate(run, "x", 3.9)
    seeds = [make(f"s{seed}", seed=seed, right=31) for seed in range(8)]
    for name in FILES:
        for number, paper in enumerate(published(name)):
            drawn = beside(name, run, *seeds, number=number)
            shown = drawn_at(width, drawn)
            assert max(map(len, shown.splitlines())) <= width, name
            assert "…" not in shown
            words = Counter(shown.split())
            wanted = Counter(figure(value) for row in paper.rows for value in row.figures if value is not None)
            wanted += Counter(figure(cell.value) for line in ours(drawn) for cell in line.cells if cell.value)
            assert not wanted - words
            flat = " ".join(shown.split())
            assert all(line.name in flat for line in drawn.lines if line.by == "paper")


def drawn_at(width: int, table: Beside) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    for part in as_text(table):
        console.print(part)
    return out.getvalue()


def test_the_figures_of_a_long_name_stand_on_its_last_line(make: Make) -> None:
    runs = [make(f"s{seed}", seed=seed, right=20) for seed in range(8)]
    lines = drawn_at(120, beside("topk", *runs)).splitlines()
    [first] = [number for number, line in enumerate(lines) if line.startswith("   mean of runs 1, 2, 3")]
    assert lines[first].split() == lines[first].strip().split()
    assert not re.search(r"\d\.\d", lines[first])
    assert "64.52" in lines[first + 1]
    assert lines[first + 2].split()[0] == "sd"


@pytest.mark.parametrize("again", ["{}", "{}/.", "{}/../run", "link"])
def test_a_run_given_twice_is_refused(
    again: str, make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make("run")
    (tmp_path / "link").symlink_to(run)
    capsys.readouterr()
    assert main([str(run), str(tmp_path / "link") if again == "link" else again.format(run)]) == 2
    assert "a run is given twice" in capsys.readouterr().err


def test_a_link_among_the_runs_is_the_run_itself(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make("run")
    (tmp_path / "runs" / "another").symlink_to(run)
    capsys.readouterr()
    assert main(["topk", "--runs", str(tmp_path / "runs")]) == 0
    assert "run 2" not in capsys.readouterr().out


def test_csv_has_a_figure_a_line_with_plain_numbers(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    capsys.readouterr()
    assert main(["topk", str(run), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == (6 + 1) * 7
    [acc] = [row for row in rows if row["by"] == "ours" and row["metric"] == "acc"]
    assert (acc["row"], acc["run"], acc["n"], acc["paper_in_interval"]) == ("1", "run", "31", "true")
    assert float(acc["value"]) == 100 * 24 / 31
    assert float(acc["low"]) < float(acc["value"]) < float(acc["high"])
    [paper] = [row for row in rows if row["by"] == "paper" and row["row"] == "none" and row["metric"] == "acc"]
    assert (paper["value"], paper["n"], paper["method"]) == ("74.2", "31", "wilson")
    assert "74.20 where 23 of 31 is 74.19" in paper["note"]


def test_markdown_is_a_table_of_equal_rows(make: Make) -> None:
    text = as_markdown(beside("topk", make("run", right=24)))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {9}
    assert len(rows) == 2 + 6 + 1
    [line] = [row for row in rows if "run 1" in row]
    assert line.startswith("| **run 1** | ")
    assert "77.42 ✓<br>" in line
    assert "<br>n = 31" in line
    assert "- source: MERG, arXiv 2604.18988" in text


def test_latex_is_a_table_of_equal_rows(make: Make) -> None:
    text = as_latex(beside("topk", make("run", right=24)))
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert {row.count("&") for row in rows} == {7}
    assert r"77.42\,$\in$" in text
    assert r"\scriptsize 67.37--92.91" in text
    for name in ("table*", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert not set(text) & set("✓✗–")
    assert not re.search(r"(?<!\\)[%#_]", text)


def test_foreign_text_is_harmless_in_every_format(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run_%&|<b>`$x^", backbone={"name": "=cmd[bold]\x1b[31m#"})
    drawn = beside("main", run)
    assert r"run\_\%\&\textbar{}\textless{}b\textgreater{}`\$x\textasciicircum{}" in as_latex(drawn)
    assert r"run\_%\&\|\<b\>\`\$x^" in as_markdown(drawn)
    assert "\x1b" not in as_latex(drawn) + as_markdown(drawn) + as_csv([drawn])
    capsys.readouterr()
    main([str(run)])
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "=cmd[bold]\\u001b[31m#" in shown


def test_escapes() -> None:
    assert latex('a_b {c} 5 % \\ ~ "q"\nnext') == r"a\_b \{c\} 5 \% \textbackslash{} \textasciitilde{} ''q'' next"
    assert markdown("a|b *c* <d> [e]\n# f") == r"a\|b \*c\* \<d\> \[e\] \# f"
    assert [plain(text) for text in ("=1+1", "-a", "@b", "fine")] == ["'=1+1", "'-a", "'@b", "fine"]


def test_without_runs_named_those_that_are_scored_are_taken(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make("a")
    make("b", top_k=0)
    make("other", dataset={"name": "folder"})
    (make("unscored") / SCORES).unlink()
    capsys.readouterr()
    assert main(["topk", "--runs", str(tmp_path / "runs")]) == 0
    shown = capsys.readouterr()
    flat = " ".join(shown.out.split())
    assert "run 1 is a, run 2 is b: iemocap" in flat
    assert "run 3 is" not in flat
    assert "left out: this run has no scores" in shown.err
    assert "left out: 1 of folder, of which none of these tables is" in shown.err
    assert f"python -m mmerg.score {tmp_path / 'runs' / 'unscored'}" in shown.err


def test_without_any_run_the_papers_tables_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", str(tmp_path / "none")]) == 0
    shown = capsys.readouterr().out
    assert "Main results, IEMOCAP" in shown
    assert "Main results, MELD" in shown
    assert "run 1" not in shown


def test_a_run_of_another_dataset_is_not_dropped(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run", dataset={"name": "demo"})
    capsys.readouterr()
    assert main([str(run)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "dataset demo (the paper's: iemocap)" in shown
    assert "dataset demo (the paper's: meld)" in shown


def test_a_run_of_a_printed_dataset_stands_there_alone(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    capsys.readouterr()
    assert main([str(run)]) == 0
    assert capsys.readouterr().out.count("run 1 is run:") == 1


def test_what_is_unfinished_is_told(make: Make) -> None:
    drawn = beside("main", make("run", n=20, right=15, samples=31))
    assert any("20 samples scored, 0 of them failed; 11 have no result yet" in note for note in drawn.notes)


def test_runs_without_scores_or_with_stale_ones_are_refused(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    file = run / SCORES
    whole = file.read_text(encoding="utf-8")
    for change, told in (
        ({"n": 30}, "they are of 30 samples, 0 of them failed; now there are 31 samples, 0 of them failed"),
        ({"failed": 2}, "they are of 31 samples, 2 of them failed"),
        ({"identity": {"corpus": "other"}}, "made of a run with another identity"),
        ({"results": "0" * 64}, "the results have changed since"),
    ):
        file.write_text(json.dumps(json.loads(whole) | change), encoding="utf-8")
        assert main([str(run)]) == 2
        shown = capsys.readouterr().err
        assert "the scores of this run are stale" in shown
        assert told in shown
        assert f"next:  python -m mmerg.score {run}" in shown
    file.write_text(json.dumps(json.loads(whole) | {"unheard": 1}), encoding="utf-8")
    assert main([str(run)]) == 2
    assert "the scores are not of this version" in capsys.readouterr().err
    file.unlink()
    assert main([str(run)]) == 2
    shown = capsys.readouterr().err
    assert "this run has no scores" in shown
    assert f"python -m mmerg.score {run}" in shown


def test_out_writes_what_would_be_printed(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    for form in ("text", "markdown", "latex", "csv"):
        capsys.readouterr()
        main(["topk", str(run), "--format", form])
        shown = capsys.readouterr().out
        out = tmp_path / form
        assert main(["topk", str(run), "--format", form, "--out", str(out)]) == 0
        assert capsys.readouterr().out == ""
        assert out.read_text(encoding="utf-8") == shown


def test_wrong_arguments(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    for arguments, told in (
        (["mian"], "mian is neither a table nor a run folder"),
        (["topk", "--dataset", "meld"], "the paper has no table topk of meld"),
        ([str(tmp_path)], "this is not a run folder"),
        ([str(run), "--out", str(tmp_path / "no" / "file")], "cannot be written"),
    ):
        assert main(arguments) == 2
        assert told in capsys.readouterr().err
    manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    (run / MANIFEST).write_text(json.dumps(manifest | {"config": {"judge": {}}}), encoding="utf-8")
    assert main([str(run)]) == 2
    assert "does not say of which dataset" in capsys.readouterr().err


def test_several_tables_of_one_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["main", "backbones", "--dataset", "iemocap", "--runs", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "Main results, IEMOCAP" in shown
    assert "Backbones, IEMOCAP" in shown
    assert "MELD, test" not in shown


def test_runs_that_differ_in_their_seed_alone_have_a_mean_and_a_spread(make: Make) -> None:
    runs = [make(f"seed{seed}", right=right, seed=seed) for seed, right in ((0, 20), (1, 22), (2, 24))]
    other = make("other", right=3, seed=3, max_iterations=5)
    table = beside("iterations", *runs, other)
    [mean] = [line for line in table.lines if line.by == "seeds"]
    assert (mean.name, mean.row) == ("mean of runs 1, 2, 3", "2")
    acc = mean.cells[table.columns.index("acc")]
    assert acc.value == pytest.approx(100 * 22 / 31)
    assert acc.spread == pytest.approx(100 * 2 / 31)
    assert (acc.n, acc.low, acc.inside) == (3, None, None)
    assert "<br>sd 6.45<br>3 seeds" in as_markdown(table)
    assert r"\quad\scriptsize sd &" in as_latex(table)
    rows = csv.DictReader(io.StringIO(as_csv([table])))
    [row] = [row for row in rows if (row["by"], row["metric"]) == ("seeds", "acc")]
    assert float(row["spread"]) == pytest.approx(6.4516, abs=1e-3)


def seeds_line(table: Beside) -> list[Line]:
    return [line for line in table.lines if line.by == "seeds"]


def test_a_mean_over_seeds_takes_one_finished_run_a_seed_of_one_engine(make: Make) -> None:
    runs = [make("s0", right=20), make("s1", right=22, seed=1), make("s1-again", right=4, seed=1)]
    runs.append(make("cut", n=20, right=9, samples=31, seed=2))
    manifest = json.loads((runs[0] / MANIFEST).read_text(encoding="utf-8"))
    manifest["identity"]["engine"], manifest["config"]["seed"] = "9", 9
    other = make("engine", right=9, seed=9)
    (other / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    score([str(other), "--resamples", "20"])
    table = beside("main", *runs, other)
    of_row = [line for line in seeds_line(table) if line.row]
    [line] = of_row
    assert (line.name, line.note) == ("mean of runs 1, 2", "not in it, being unfinished or of a seed that is: 3, 4")
    acc = line.cells[table.columns.index("acc")]
    assert acc.n == 2
    assert acc.value == pytest.approx(100 * 21 / 31)


def test_figures_measured_in_several_ways_have_no_mean(make: Make) -> None:
    runs = [make("s0"), make("s1", seed=1)]
    score([str(runs[1]), "--resamples", "20", "--keep-case"])
    table = beside("topk", *runs)
    [line] = seeds_line(table)
    cells = dict(zip(table.columns, line.cells, strict=True))
    assert (cells["dist1"].value, cells["acc"].n) == (None, 2)


def test_no_mark_where_figures_do_not_compare(make: Make) -> None:
    def marks(name: Any, run: Path, number: int = 0) -> dict[str, bool | None]:
        table = beside(name, run, number=number)
        return {column: cell.inside for column, cell in zip(table.columns, ours(table)[0].cells, strict=True)}

    assert marks("main", make("run"))["dist1"] is not None
    assert set(marks("iterations", make("unsure", max_iterations=3)).values()) == {None}
    assert set(marks("main", make("cut", n=20, right=9, samples=31)).values()) == {None}
    seven = ["neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust"]
    meld = make("meld", dataset={"name": "meld", "split": "test", "sessions": None, "labels": seven})
    found = marks("main", meld, 1)
    assert (found["dist1"], found["acc"] is None) == (None, False)
    manifest = json.loads((meld / MANIFEST).read_text(encoding="utf-8"))
    manifest["protocol"]["targets"] = "labelled"
    (meld / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    assert "targets labelled (the paper's: last)" in ours(beside("main", meld, number=1))[0].note


def test_one_seed_has_no_mean(make: Make) -> None:
    assert not [line for line in beside("topk", make("a"), make("b")).lines if line.by == "seeds"]


def test_a_run_of_an_older_version_does_not_stop_the_others(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make("run")
    make("older", protocol={"targets": "last"}, frames={"per_clip": 1}, memory={})
    capsys.readouterr()
    assert main(["--runs", str(tmp_path / "runs"), "--dataset", "iemocap"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "run 1 is older, run 2 is run:" in shown


def test_text_that_is_no_unicode_goes_through_every_command(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder's name may be any bytes, and a forecast half of a surrogate pair."""
    plain, odd = make("a"), tmp_path / "runs" / os.fsdecode(b"b\xff")
    lines = [result(f"d{i}/4", "Oh.", "j\ud800", gold="sad") for i in range(31)]
    build_run(odd, lines, corpus="iemocap", model="qwen3.5-27b", config=config())
    assert score([str(odd), "--resamples", "20"]) == 0
    assert main([str(odd), "--runs", str(tmp_path / "runs")]) == 0
    assert plot([str(odd), "--only", "confusion", "scores", "--format", "svg", "--out", str(tmp_path / "plots")]) == 0
    out = tmp_path / "compared.json"
    assert compare([str(plain), str(odd), "--draws", "20", "--json", str(out)]) == 0
    assert read(out, Compared).comparisons[0].b == odd.name
    assert "j\ud800" in (read_ours(odd).scores.confusion or Confusion(labels=(), counts=(), failed=())).labels
