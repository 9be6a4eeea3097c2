"""`python -m mmerg.compare` refuses runs that no difference can be told of, and says why."""

from pathlib import Path
from typing import Any

import pytest

from mmerg.compare import main
from tests.compared_runs import FEW, edit, results, run, two_runs


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return two_runs(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, *FEW]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


def test_runs_of_different_corpora_are_refused(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(pair[1], lambda manifest: manifest["identity"].update(corpus="other"))
    assert "these runs cannot be compared: the files of demo test differ" in refused(capsys, *pair)
    other = run(tmp_path / "other", results("xx"), corpus="meld", identity="of meld")
    assert "different corpora (demo test and meld test)" in refused(capsys, pair[0], other)


@pytest.mark.parametrize("change", [{"gold_emotion": "fear"}, {"gold_response": "Another."}])
def test_runs_that_disagree_on_the_data_are_refused(
    change: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = results("xxxxx.")
    changed = [line.model_copy(update=change if line.id == "d3/3" else {}) for line in lines]
    refusal = refused(capsys, run(tmp_path / "first", lines), run(tmp_path / "second", changed))
    assert "disagree on gold labels or replies in 1 of 6 samples: d3/3\n" in refusal


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"targets": "all"}, "protocol.targets is last and all"),
        ({"emotions": ["joy"]}, "protocol.emotions is – and joy"),
        ({"history": 3}, "protocol.history is – and 3"),
        ({"sample": 5, "seed": 0}, "protocol.sample is – and 5"),
    ],
)
def test_runs_of_different_protocols_are_refused(
    pair: tuple[str, str], setting: dict[str, object], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(pair[1], lambda manifest: manifest["settings"]["protocol"].update(setting))
    assert told in refused(capsys, *pair)


def test_wrong_arguments(pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "a single run cannot be compared" in refused(capsys, pair[0])
    assert "this is not a run folder" in refused(capsys, pair[0], str(tmp_path / "nowhere"))
    for draws in ("0", "-5"):
        assert main([*pair, "--resamples", draws]) == 2
        assert f"resamples is {draws}, it must be 1 or more" in capsys.readouterr().err
    assert "seed is -1" in refused(capsys, *pair, "--seed", "-1")
    assert "cannot be written" in _after_output(
        capsys, *pair, "--json", str(Path(pair[0]) / "results.jsonl" / "out.json")
    )


def _after_output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, *FEW]) == 2
    return capsys.readouterr().err
