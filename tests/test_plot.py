"""The command `plot`: which files it writes, what it says of those it does not, from run folders alone."""

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


def test_a_run_is_drawn_into_its_own_folder(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score(run, {"acc": (50.0, 2), "self_ppl": (None, 0)}, CONFUSION)
    assert main([str(run)]) == 0
    drawn = ("blame", "confusion", "scores", "stance", "tone")
    assert names(run / "plots") == [f"{name}.{ending}" for name in drawn for ending in ("png", "svg")]
    said = capsys.readouterr().out
    assert all(str(run / "plots" / f"{name}.png") in said for name in drawn)
    assert main([str(run), "--out", str(tmp_path / "again"), "--format", "png"]) == 0
    assert names(tmp_path / "again") == [f"{name}.png" for name in drawn]
    for file in (tmp_path / "again").iterdir():  # the same run gives the same bytes
        assert file.read_bytes() == (run / "plots" / file.name).read_bytes()


def test_what_needs_scores_says_how_to_have_them(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run), "--format", "svg"]) == 0
    assert names(run / "plots") == ["blame.svg", "stance.svg", "tone.svg"]
    said = capsys.readouterr().out
    why = f"run: this run has no scores: there is no scores.json: mmerg score {run}"
    assert f"confusion, scores are not drawn: {why}" in said


def test_only_what_is_asked_for(run: Path, tmp_path: Path) -> None:
    assert main([str(run), "--only", "goal", "tactic", "goal", "--format", "png", "--out", str(tmp_path / "o")]) == 0
    assert names(tmp_path / "o") == ["goal.png", "tactic.png"]
    assert main([str(run), "--only", "goal", "--format", "pdf", "--out", str(tmp_path / "pdf")]) == 0
    assert names(tmp_path / "pdf") == ["goal.pdf"]


def test_runs_are_compared(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = build(tmp_path / "other", [(planned("a/1"), [PASSED])], config={"seed": 5})
    third = build(tmp_path / "third", [(planned("a/1"), [PASSED])], model="big")
    score(run, {"acc": (50.0, 2)}, CONFUSION)
    score(other, {"acc": (100.0, 1)})
    given = [str(run), str(other), str(third), "--format", "svg", "--out", str(tmp_path / "out")]
    assert main([*given, "--labels", "run", "other", "third"]) == 0
    each = [f"{name}-{folder}.svg" for name in ("blame", "stance", "tone") for folder in ("other", "run", "third")]
    assert names(tmp_path / "out") == sorted([*each, "confusion-run.svg", "scores.svg"])
    said = capsys.readouterr().out
    assert "confusion-other is not drawn: no sample of other has a label to compare with" in said
    assert "confusion-third is not drawn: third: this run has no scores" in said
    assert main([*given[:3], str(run)]) == 2
    assert "two runs have the same path or name" in capsys.readouterr().err


def test_what_cannot_be_read_or_written_is_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score(run, {"acc": (50.0, 2)})
    (run / "scores.json").write_text('{"a":\n')
    assert main([str(run), "--only", "scores"]) == 1
    assert "scores is not drawn: run: the scores are not of this version" in capsys.readouterr().out
    assert main([str(run / "none")]) == 2
    assert "this is not a run folder" in capsys.readouterr().err
    assert main([str(run), "--only", "tone", "--out", str(run / "manifest.json" / "x")]) == 2
    assert "this cannot be written" in capsys.readouterr().err
