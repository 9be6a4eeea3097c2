"""The command `import` turns the replies of another system into a run, or refuses them line by line."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import mmerg
from mmerg.compare import main as compare
from mmerg.errors import Failure
from mmerg.judging.launch import launch as judge
from mmerg.report import main as report
from mmerg.runs.folder import read_results
from mmerg.score import main as score
from mmerg.settings.commands import JudgeSettings
from mmerg.settings.parse import parse
from mmerg.show import main as show
from tests.configs import compose_config
from tests.processes import run_main

GOOD = [
    {"id": "letter/5", "response": "That must hurt.", "emotion": "sadness"},
    {"id": "fine/5", "response": "Are you sure?", "emotion": "joy"},
    {"id": "noise/4", "response": "I am with you.", "emotion": "fear"},
]


def write(file: Path, lines: list[Any]) -> Path:
    parts = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    file.write_bytes(b"\n".join(parts) + b"\n")
    return file


def import_lines(folder: Path, lines: list[Any], *more: str) -> int:
    file = write(folder / "replies.jsonl", lines)
    return run_main("mmerg.import_", f"replies={file}", "dataset=demo", f"runs={folder}/runs", "name=CEM", *more)


def only_run(folder: Path) -> Path:
    [run] = (folder / "runs").iterdir()
    return run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    assert import_lines(tmp_path, GOOD) == 1
    return only_run(tmp_path)


def test_a_run_has_every_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_lines(tmp_path, GOOD) == 1
    run = only_run(tmp_path)
    results = read_results(run)
    assert list(results) == ["letter/5", "fine/5", "noise/4", "fridge/6", "bicycle/4"]
    first, absent = results["letter/5"], results["fridge/6"]
    assert (first.status, first.response, first.emotion, first.gold_emotion) == (
        *("ok", "That must hurt.", "sadness", "sadness"),
    )
    assert first.history[0][0] == first.responder == "Tom"
    assert (absent.status, absent.failure, absent.response, absent.gold_emotion) == (
        "failed",
        Failure.ABSENT,
        None,
        "joy",
    )
    out = capsys.readouterr().out
    assert "2 samples without a reply, counted as failed: fridge/6, bicycle/4\n" in out
    assert out.endswith(f"run: {run}\n")
    assert "call" not in out


def test_the_same_import_changes_nothing_and_another_makes_another_run(run: Path, tmp_path: Path) -> None:
    before = (run / "results.jsonl").read_bytes()
    assert import_lines(tmp_path, GOOD) == 1
    assert (run / "results.jsonl").read_bytes() == before
    rest = [{"id": id, "response": "Oh."} for id in ("fridge/6", "bicycle/4")]
    assert import_lines(tmp_path, [*GOOD, *rest]) == 0  # no sample lacks a reply
    assert len(list((tmp_path / "runs").iterdir())) == 2


WRONG_LINES: dict[str, Any] = {
    "line 2: 'letter/4' is not the id of a sample": {"id": "letter/4", "response": "Oh."},
    "line 3: an earlier line has the id 'letter/5' too": {**GOOD[0], "response": "No."},
    "line 4: response: Field required": {"id": "fine/5", "reply": "Oh."},
    "line 5: response: String should have at most 10000 characters": {**GOOD[1], "response": "x" * 102_400},
    "line 6: response: String should match pattern": {**GOOD[1], "response": " \n"},
    "line 7: Invalid JSON": b"letter/5\tOh.",
    "line 8: the emotion 'happy' is not one of neutral, joy, sadness": {**GOOD[2], "emotion": "happy"},
}


def test_wrong_lines_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_lines(tmp_path, [GOOD[0], *WRONG_LINES.values()]) == 2
    error = capsys.readouterr().err
    assert [message for message in WRONG_LINES if message not in error] == []
    assert f"where: {tmp_path / 'replies.jsonl'}" in error
    assert 'a line is {"id": "test_dia0/3"' in error
    assert "ids of this dataset and protocol: letter/5, fine/5, noise/4" in error
    assert import_lines(tmp_path, [b""]) == 2
    assert "the file is empty" in capsys.readouterr().err
    assert import_lines(tmp_path, [GOOD[0], b'{"id": "fine/5", "response": "\xff"}']) == 2
    assert "replies.jsonl is not in UTF-8" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_unknown_values_are_not_counted(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score([str(run), "--resamples", "50"]) == 0
    scores = mmerg.load(run).scores.set_index("metric")
    assert (scores.loc["acc"].value, scores.loc["acc"].n, scores.loc["length"].n) == (pytest.approx(40), 5, 3)
    assert (scores.loc["self_ppl"].isna()["value"], scores.loc["self_ppl"].n) == (True, 0)
    assert not {"passes", "calls", "prompt_tokens", "seconds"} & set(scores.index)
    samples = mmerg.load(run).samples
    assert samples[["passes", "calls", "prompt_tokens", "seconds", "selected_pass"]].isna().all(axis=None)
    assert mmerg.load(run).calls.empty
    capsys.readouterr()
    assert show([str(run)]) == 0
    assert "│ letter/5  │ sadness │ –    │ –     │ –      │ –        │ That must hurt." in capsys.readouterr().out
    assert show([str(run), "letter/5"]) == 0
    imported = yaml.safe_load(capsys.readouterr().out)["imported"]
    assert imported == {"response": "That must hurt.", "emotion": "sadness"}


def test_an_imported_run_is_compared_with_a_run_of_mmerg(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["dataset=demo", "backend=dry", "frames=none", "memory=none", "limit=null", f"runs={tmp_path}/ours"]
    assert run_main("mmerg.run", *line) == 0
    ours = Path(capsys.readouterr().out.splitlines()[-1].removeprefix("run: "))
    both = [str(ours), str(run)]
    assert score([*both, "--resamples", "50"]) == 0
    capsys.readouterr()
    assert compare([*both, "--resamples", "50"]) == 0
    out = capsys.readouterr().out
    assert "3 samples in both" not in out
    assert "5 samples in both" in out
    assert not [line for line in out.splitlines() if line.startswith(("calls ", "passes "))]
    settings = compose_config("judge=pairwise", "backend=dry", f"runs={tmp_path}/judged", name="judge")
    assert judge(parse(settings, JudgeSettings), [ours, run]) == 0
    assert report([*both, "--out", str(tmp_path / "report")]) == 0
    overview = (tmp_path / "report/run-2/index.html").read_text(encoding="utf-8")
    assert ">replied</dt><dd>" in overview
    assert "tokens read" not in overview
