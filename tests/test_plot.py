"""The command `plot`: the files that it writes, and the reasons for those that it does not."""

from pathlib import Path

import pytest

from mmerg.plot import main
from mmerg.scoring.score import Confusion
from tests.plots.audited_runs import PASSED, build, planned, score

CONFUSION = Confusion(labels=("joy", "fear"), counts=((1, 0), (0, 1)), failed=(0, 0))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return build(tmp_path / "run", [(planned("a/1", "joy"), ["caef", PASSED]), (planned("a/2", "fear"), [PASSED])])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_is_drawn_into_its_own_folder(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score(run, {"acc": (50.0, 2), "self_ppl": (None, 0)}, CONFUSION)
    assert main([str(run)]) == 0
    drawn = ("blame", "confusion", "scores", "stance", "tone")
    assert names(run / "plots") == [f"{name}.{ending}" for name in drawn for ending in ("png", "svg")]
    shown = capsys.readouterr().out
    assert all(str(run / "plots" / f"{name}.png") in shown for name in drawn)


def test_plots_that_need_scores_say_how_to_get_them(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["--only", "goal", "confusion", "scores", "goal", "--format", "pdf", "--out", str(out), "--no-title"]
    assert main([str(run), *arguments]) == 0
    assert names(out) == ["goal.pdf"]
    why = f"run: this run has no scores: there is no scores.json: mmerg score {run}"
    assert f"not drawn: confusion, scores: {why}" in capsys.readouterr().out


def test_several_runs(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = build(tmp_path / "other", [(planned("a/1"), [PASSED])], config={"seed": 5})
    third = build(tmp_path / "third", [(planned("a/1"), [PASSED])], model="big", config={"auditor": "a.json"})
    score(run, {"acc": (50.0, 2)}, CONFUSION)
    score(other, {"acc": (100.0, 1)})
    runs, out = [str(run), str(other), str(third)], tmp_path / "out"
    more = ["--only", "confusion", "scores", "--labels", "run", "other", "third", "--format", "svg", "--out", str(out)]
    assert main([*runs, *more]) == 0
    assert names(out) == ["confusion-run.svg", "scores.svg"]
    shown = capsys.readouterr().out
    assert shown.startswith("inputs differ: run, other: the dialogue; third: the dialogue, a calibration on labels")
    assert "not drawn: confusion-other: no sample of other has a label to compare with" in shown
    assert "not drawn: confusion-third: third: this run has no scores" in shown
    assert main([*runs, str(run)]) == 2
    assert "two runs have the same name" in capsys.readouterr().err


def test_unreadable_runs_and_folders_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "scores.json").write_text('{"a":\n')
    assert main([str(run), "--only", "scores"]) == 1
    assert "not drawn: scores: run: scores.json cannot be read, or is of another version" in capsys.readouterr().out
    assert main([str(run / "none")]) == 2
    assert "this is not a run folder" in capsys.readouterr().err
    assert main([str(run), "--only", "tone", "--out", str(run / "manifest.json" / "x")]) == 2
    assert "cannot write: " in capsys.readouterr().err
