"""Small empathetic models in HEF's table, pairwise judgings in TRACE's: a line each, with n and interval, unmarked."""

from pathlib import Path

import pytest

from mmerg.tables import main
from tests.papertables.maker import judging_of
from tests.scoring.run_builder import build_run, result
from tests.sem.talks import MOODS, train, write_talks


@pytest.fixture(scope="module")
def sem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    talks = write_talks(tmp_path_factory.mktemp("talks"), list(MOODS.values()))
    out = tmp_path_factory.mktemp("made") / "sem"
    assert train(talks, out) == 0
    return out


def test_a_model_stands_below_hefs_own(sem: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hef", str(sem), "--format", "csv"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if ",ours," in line]
    [top1, _] = lines  # of top10 and top20 it has none, with six labels
    assert "SEM,false,sem,top1,100.0,36,wilson," in top1
    assert ",label:target|among:1|scale:100,,90.35" in top1
    assert '"logistic regression over tf-idf, not ESCM; empathetic valid, 6 labels"' in top1
    assert main(["hef", str(sem)]) == 0
    assert "model 1 is sem" in capsys.readouterr().out


def test_a_table_of_other_figures_takes_none(sem: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(sem)]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "is the folder of a model, and none of these tables takes one" in told
    assert f"mmerg tables hef {sem}" in told


def test_a_model_that_is_not_whole_is_refused(sem: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "sem.json").write_bytes((sem / "sem.json").read_bytes())
    assert main(["hef", str(tmp_path / "half")]) == 2
    assert "this model cannot be used" in capsys.readouterr().err


@pytest.fixture
def judging(tmp_path: Path) -> Path:
    system = {"system": {"name": "trace"}}
    trace = build_run(tmp_path / "runs/A", [result("a/1", "Oh no.")], config=system)
    return judging_of(trace, build_run(tmp_path / "runs/B", [result("a/1", "Hm.")]))


def test_a_judging_stands_below_traces_wins(judging: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(judging), "--format", "csv"]) == 0
    [empathy] = [line for line in capsys.readouterr().out.splitlines() if ",ours," in line]
    assert f"TRACE,false,{judging.name},win_empathy," in empathy
    assert "wins of A over B, where gemma3-12b prefers it in both orders; empathetic" in empathy
    assert main(["trace", str(judging)]) == 0
    assert "judging 1 (differs)" in capsys.readouterr().out


def test_wins_of_another_system_stand_with_no_row(judging: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, other = judging.parent / "A", judging.parent / "B"
    assert main(["trace", str(judging_of(other, trace))]) == 0
    assert "judging 1 (no row)" in capsys.readouterr().out


def test_a_judging_that_was_broken_off_is_refused(judging: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (judging / "judgement.json").unlink()
    assert main(["trace", str(judging)]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "the same mmerg judge command goes on" in told
