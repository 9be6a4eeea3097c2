"""The command `tables`: its runs, its text, and refusals."""

import json
import re
from pathlib import Path

import pytest

from mmerg.runs.manifest import MANIFEST
from mmerg.scoring.score import SCORES
from mmerg.tables import main
from tests.papertables.maker import Maker, match, rate, run_lines


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


def test_ratings_by_a_judge_are_shown_if_there_is_only_one(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    rate(run, "larger", 3.9)
    drawn = match("main", run)
    [line] = run_lines(drawn)
    assert line.scores["empathy"].value == 3.9
    assert any("fluency rated by the model larger@likert, not by people" in note for note in drawn.notes)
    rate(run, "smaller", 2.9)
    drawn = match("main", run)
    assert "empathy" not in run_lines(drawn)[0].scores
    assert any("several judges (larger@likert, smaller@likert): choose one" in note for note in drawn.notes)
    capsys.readouterr()
    assert main([str(run), "--judge", "smaller"]) == 0
    assert "by the model smaller@likert, not by people" in " ".join(capsys.readouterr().out.split())
    (run / "judgement-smaller@likert.json").write_text("{", encoding="utf-8")
    assert main([str(run)]) == 2
    assert "judgement-smaller@likert.json cannot be read" in capsys.readouterr().err


def test_ratings_by_the_model_that_wrote_the_replies_are_marked(make: Maker) -> None:
    runs = [make("own"), make("more", seed=1), make("else", "memory.top_k=2")]
    for run in runs:
        rate(run, "larger", 3.9, own=run.name != "else")
    note = "rated by the model that wrote the replies: larger@likert"
    lines = [line for line in match("main", *runs).rows if line.by != "paper"]
    assert [line.name for line in lines if note in line.note] == ["· run 1", "· run 2", "· mean ± sd of runs 1, 2"]
    assert any(note in table_note for table_note in match("main", *runs).notes)
    assert not any(note in line.note for line in match("topk", *runs).rows)  # no column of it is rated


def test_a_table_as_text(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run", right=24)
    capsys.readouterr()
    assert main(["iterations", str(run)]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 120
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    merg = lines.index("2 1.94 37.25 81.10 83.87 84.03 86.64 85.28 1.16")
    assert lines[merg + 1 : merg + 3] == ["67.37–92.91", "n=31"]
    assert any(re.fullmatch(r"· run 1 [\d.]+ [\d.]+ [\d.]+ 77.42 – – – 0.00", line) for line in lines)
    flat = " ".join(lines)
    for part in (
        "source: MERG, arXiv 2604.18988",
        "labels of rows 1 to 6 were lost",
        "run 1 is run (qwen3.5-27b): iemocap test, 6 emotions, protocol targets=last emotions=all, n=31; 31 samples",
        "baselines of acc: majority label",
        "ours, self_ppl: lm:qwen3.5-27b|digest:",
        "Maximum iterations, IEMOCAP, Session 5. The paper does not fully say how it measured: no run is tested",
        "Not stated: the model of PPL and of BERTScore",
        "The interval of the paper's accuracy is Wilson's, from the inferred n.",
    ):
        assert part in flat


def test_a_run_is_shown_in_the_tables_of_its_dataset(
    make: Maker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If no table has its dataset, it is shown in all tables."""
    runs = {dataset: make(dataset, dataset=dataset) for dataset in ("demo", "iemocap")}
    capsys.readouterr()
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "Main results, IEMOCAP" in shown
    assert "Main results, MELD" in shown
    assert "run 1" not in shown
    assert main([str(runs["demo"])]) == 0
    assert capsys.readouterr().out.count("run 1 is demo (") == 2
    assert main([str(runs["iemocap"])]) == 0
    shown = capsys.readouterr().out
    assert shown.count("run 1 is iemocap (") == 1
    assert "Main results, MELD" not in shown


def test_runs_without_scores_or_with_stale_ones_are_refused(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    file = run / SCORES
    whole = file.read_text(encoding="utf-8")
    for change in ({"identity": {"corpus": "other"}}, {"results": "0" * 64}):
        file.write_text(json.dumps(json.loads(whole) | change), encoding="utf-8")
        assert main([str(run)]) == 2
        shown = capsys.readouterr().err
        assert "the scores of this run are stale: it has changed since" in shown
        assert f"next:  mmerg score {run}" in shown
    file.write_text(json.dumps(json.loads(whole) | {"unheard": 1}), encoding="utf-8")
    assert main([str(run)]) == 2
    assert "scores.json cannot be read, or is of another version" in capsys.readouterr().err
    file.unlink()
    assert main([str(run)]) == 2
    shown = capsys.readouterr().err
    assert "this run has no scores" in shown
    assert f"mmerg score {run}" in shown


def test_wrong_arguments_are_refused(make: Maker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make("run")
    for arguments, message in (
        (["mian"], "mian is neither a table nor a run folder"),
        ([str(tmp_path)], "this is not a run folder"),
        ([str(run), "--out", str(run / MANIFEST / "file")], "cannot write"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
    manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    (run / MANIFEST).write_text(json.dumps(manifest | {"settings": {"judge": {}}}), encoding="utf-8")
    assert main([str(run)]) == 2
    assert "this manifest was changed" in capsys.readouterr().err
