"""The command `score`: its tables, files and refusals."""

import csv
import io
import re
from pathlib import Path

import pytest

from mmerg.score import main
from mmerg.scoring.score import SCORES, Scores
from tests.compared_runs import edit_run
from tests.scoring.run_builder import build_run, result

HOSTILE = "model\u202e\x1b[31m[bold]"
QUICK = ("--resamples", "20")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    results = [
        result("a/1", "oh no", "joy", gold="joy"),
        result("b/1", "so it is.", "fear", gold="joy", ended="unaudited"),
        result("c/1", None, gold="joy"),
    ]
    config = {"backbone": {"name": "odd", "model": HOSTILE}}
    logprobs = {"a/1": [-1.0], "b/1": [-2.0]}
    return build_run(tmp_path / "one", results, logprobs=logprobs, samples=5, model=HOSTILE, config=config)


def scored(folder: Path, name: str, right: int, seed: int = 0, iterations: int = 2) -> str:
    """A run with twelve forecasts, of which `right` are right."""
    lines = [
        result(f"d{number}/1", f"so it is {number}.", "joy" if number < right else "fear", gold="joy")
        for number in range(12)
    ]
    run = build_run(folder / name, lines, config={"seed": seed})
    edit_run(run, lambda manifest: manifest["settings"]["system"].update(max_iterations=iterations))
    return str(run)


def test_scores_are_printed_and_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder), *QUICK]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "1: one: model\\u202e\\u001b[31m[bold] on scripted 1" in shown.out
    assert "protocol targets=last emotions=all, n=5; 3 samples scored, 1 of them failed, 1 unaudited; " in shown.out
    assert "unfinished: 2 of the protocol's samples have no result (not run yet" in shown.out
    assert re.search(r"^acc ↑ +33.33 \[6.15–79.23\] +3$", shown.out, re.MULTILINE)
    assert "self_ppl ↓" in shown.out
    assert "label:target" not in shown.out
    assert max(len(line) for line in shown.out.splitlines() if re.match(r"\w+ [↑↓] ", line)) <= 100
    assert "1: excluded: no sample has retrieved exemplars" in shown.out
    scores = Scores.model_validate_json((folder / SCORES).read_bytes())
    assert scores.scores["acc"].value == pytest.approx(100 / 3)
    assert scores.scores["dist1"].signature.startswith("n:1|tok:nltk-")


def test_several_runs_are_shown_side_by_side(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = build_run(tmp_path / "two", [result("a/1", "oh dear", "joy", gold="joy")], logprobs={"a/1": [-1.0]})
    twelve = scored(tmp_path, "twelve", 9)
    options = ["--tokenizer", "whitespace", "--seed", "3", "--verbose"]
    assert main([str(folder), str(other), twelve, *QUICK, *options]) == 0
    shown = capsys.readouterr().out
    assert "2: two: tiny on scripted 1" in shown
    assert "self_ppl of 1: lm:model" in shown
    assert "not comparable between these runs, as the signatures differ: self_ppl\n" in shown
    assert "self_ppl of 2, 3: lm:tiny|" in shown
    assert ": n:1|tok:whitespace|case:lower|level:corpus|failed:skipped|scale:100" in shown
    assert "2: acc, acc_majority" in shown
    flat = shown.replace("\n", " ")
    assert "1, 3: bleu: no interval: fewer than 100 dialogues" in flat
    assert "no interval: all samples are from one dialogue" in flat
    assert "no interval: fewer than 10 dialogues" in flat
    assert "(bootstrap, 20 draws of 12 dialogues, seed 3, with pseudo-counts)" in shown
    assert (other / SCORES).is_file()


def test_wrong_arguments_are_refused_before_any_run_is_scored(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(folder), str(tmp_path / "nowhere"), *QUICK]) == 2
    assert "this is not a run folder" in capsys.readouterr().err
    assert not (folder / SCORES).exists()
    assert main([str(folder), "--resamples", "0"]) == 2
    assert "resamples is 0" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(folder), "--tokenizer", "unheard-of"])


def test_a_table_for_a_paper_has_a_row_per_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [scored(tmp_path, "full", 9), scored(tmp_path, "bare", 6, iterations=0)]
    edit_run(runs[1], lambda manifest: manifest["settings"].update(auditor="auditor.json"))
    options = ("--columns", "acc,dist1", "--names", "Full, Bare")
    assert main([*runs, *options, "--format", "latex", *QUICK]) == 0
    text = capsys.readouterr().out
    assert r" & acc $\uparrow$ & dist1 $\uparrow$ \\" in text
    assert re.search(r"^Full & \\textbf{75.00} & \\textbf{", text, re.MULTILINE)
    assert re.search(r"^Bare & 50.00 & ", text, re.MULTILINE)
    unequal = "inputs differ: full: the dialogue; bare: the dialogue, a calibration on labels of another split"
    assert unequal in text
    assert main([*runs, *QUICK]) == 0
    assert capsys.readouterr().out.startswith(unequal)


def test_runs_that_differ_in_the_seed_are_averaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [scored(tmp_path, "a", 9), scored(tmp_path, "a-1", 6, seed=1), scored(tmp_path, "b", 3, iterations=0)]
    out = tmp_path / "t.tex"
    assert main([*runs, "--columns", "acc", "--format", "latex", "--out", str(out), *QUICK]) == 0
    text = out.read_text(encoding="utf-8")
    assert r"\textbf{62.50 $\pm$ 17.68}" in text
    assert r"mean $\pm$ standard deviation over 2 seeds" in text
    assert "Below a score its" in text
    assert main([*runs[:2], "--format", "latex", *QUICK]) == 0
    assert "Below a score its" not in capsys.readouterr().out
    assert main([*runs, "--columns", "acc", *QUICK]) == 0
    assert re.search(r"^acc ↑ .* 62.50 ± 17.68\b.*^acc ↑ +12\b", capsys.readouterr().out, re.MULTILINE | re.DOTALL)
    assert main([*runs, "--names", "one", *QUICK]) == 2
    assert "1 name for 2 rows" in capsys.readouterr().err


def test_a_csv_has_a_score_per_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([scored(tmp_path, "full", 9), "--columns", "acc,length", "--format", "csv", *QUICK]) == 0
    acc, length = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (acc["run"], acc["metric"], float(acc["value"]), acc["n"]) == ("full", "acc", 75.0, "12")
    assert float(acc["low"]) < 75 < float(acc["high"])
    assert "label:target" in acc["signature"]
    assert length["metric"] == "length"
