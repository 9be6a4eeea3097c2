"""`mmerg.load`: the five tables as data frames, and that the documented lines give what they say."""

import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import mmerg
from mmerg.errors import RunError
from mmerg.export import main as export
from mmerg.judging.judgement import replies_digest
from mmerg.runs.events import Verdict
from mmerg.runs.folder import read_results
from mmerg.runs.result import Verdicts
from mmerg.score import main as score
from mmerg.scoring.score import UnscoredError
from mmerg.tidy.tables import NOT_OF_SAMPLES, PROMPTS, RUN, TABLES
from tests.papertables.maker import judging_of, rate, write_verdicts
from tests.plots.audited_runs import LOST, PASSED, UNAUDITED, build, planned
from tests.scoring.run_builder import ROOT, build_run, result

DOCS = (ROOT / "docs/tidy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", DOCS, flags=re.DOTALL)
LINES = {re.findall(r"^(\w+) = ", block, re.MULTILINE)[-1]: block for block in BLOCKS}

JUDGING = "judge-likert-gemma3-12b-12345678"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two scored runs, one with audits, one with log-probabilities."""
    a = build(
        tmp_path / "runs/A",
        [
            (planned("a/1", selected_pass=1, passes=2), ["psp", PASSED]),
            (planned("b/2", gold="fear", plan="be kind"), ["caef", LOST]),
            (result("a/3", None, gold="fear"), [UNAUDITED]),
        ],
    )
    others = [result("a/1", "Oh no.", "joy", gold="joy"), result("b/2", "Oh.", "fear", gold="fear")]
    b = build_run(tmp_path / "runs/B", others, logprobs={"a/1": (-0.5, -1.5), "b/2": (-2.0,)})
    assert score([str(a), str(b), "--resamples", "50"]) == 0
    return [a, b]


def test_frames_are_what_export_writes(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export([*map(str, runs), "--out", str(tmp_path / "out")]) == 0
    assert f"{tmp_path / 'out' / 'samples.parquet'}: 5 rows" in capsys.readouterr().out
    tidy = mmerg.load(*runs)
    for table in ("samples", "passes", "calls", "scores", "verdicts"):
        written = pq.read_table(tmp_path / f"out/{table}.parquet").to_pandas(maps_as_pydicts="strict")
        pd.testing.assert_frame_equal(getattr(tidy, table), written)
    assert tidy.samples[["run", "sample", "status"]].values.tolist() == [
        ["A", "a/1", "ok"], ["A", "b/2", "ok"], ["A", "a/3", "failed"], ["B", "a/1", "ok"], ["B", "b/2", "ok"]
    ]  # fmt: skip
    assert tidy.samples.checks.isna().all()
    assert [*tidy.passes.run] == [*"AAAAABB"]
    assert [*tidy.passes.t] == [0, 1, 0, 1, 0, 0, 0]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A scored run with a judging of it."""
    run = build_run(tmp_path / "runs/A", [result("a/1"), result("b/2")])
    assert score([str(run), "--resamples", "50"]) == 0
    rate(run, "gemma3-12b", 4.5)
    lines = [
        Verdicts(
            id=id,
            status="ok",
            dialogue="a",
            verdicts=(Verdict(aspect="empathy", round=0, order=(0,), repeat=0, seed=0, score=given, reason="r"),),
        )
        for id, given in (("a/1", 4), ("b/2", 5))
    ]
    write_verdicts(run.parent / JUDGING, lines)
    return run


def test_a_judges_figures_and_answers(judged: Path) -> None:
    tidy = mmerg.load(judged)
    scores = tidy.scores[tidy.scores.judge == "gemma3-12b@likert"].set_index("metric")
    assert (scores.loc["empathy"].value, scores.loc["empathy"].low) == (4.5, 4.3)
    assert tidy.verdicts[["judge", "sample", "aspect", "score"]].values.tolist() == [
        ["gemma3-12b@likert", "a/1", "empathy", 4.0], ["gemma3-12b@likert", "b/2", "empathy", 5.0]
    ]  # fmt: skip
    shutil.rmtree(judged.parent / JUDGING)
    with pytest.raises(RunError, match=r"the verdicts of gemma3-12b@likert are gone"):
        _ = mmerg.load(judged).verdicts


def test_a_pairwise_judging_stands_with_run_a(judged: Path) -> None:
    folder = judging_of(judged, build_run(judged.parent / "B", [result("a/1", "Hm."), result("b/2", "Hm.")]))
    tidy = mmerg.load(judged)
    scores = tidy.scores[tidy.scores.against == "B"].set_index("metric")
    assert set(scores.judge) == {"gemma3-12b@pairwise"}
    assert (scores.loc["win"].value, scores.loc["win_empathy"].value, scores.loc["lose"].value) == (100, 100, 0)
    verdicts = tidy.verdicts[tidy.verdicts.against == "B"]
    assert verdicts[["judge", "sample", "round", "choice"]].values.tolist() == [
        ["gemma3-12b@pairwise", "a/1", 0, "first"], ["gemma3-12b@pairwise", "a/1", 1, "second"]
    ]  # fmt: skip
    assert tidy.verdicts.against.isna().sum() == 2  # the ratings
    assert len(mmerg.load(judged.parent / "B").verdicts) == 0
    file = folder / "judgement.json"
    file.write_text(file.read_text().replace(replies_digest(read_results(judged).values()), "0" * 64))
    with pytest.raises(RunError, match="this judgement is stale"):
        _ = mmerg.load(judged).verdicts


def test_what_is_no_run_or_has_no_scores_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="this is not a run folder"):
        mmerg.load(tmp_path)
    run = build_run(tmp_path / "run", [result("a/1")])
    with pytest.raises(UnscoredError, match=r"mmerg score"):
        _ = mmerg.load(str(run)).scores


def ran(block: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a documented block leaves, where the first has loaded the runs."""
    monkeypatch.chdir(folder)
    found: dict[str, Any] = {}
    exec(BLOCKS[0], found)
    exec(block, found)
    return found


@pytest.mark.usefixtures("runs")
def test_the_documented_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(LINES) == ["tidy", "table", "recall", "blame"]
    found = {name: ran(block, tmp_path, monkeypatch)[name] for name, block in LINES.items()}
    assert found["table"].loc["acc"].to_dict() == {"A": pytest.approx(100 / 3), "B": 100}
    assert found["recall"].to_dict() == {("A", "fear"): 0, ("A", "joy"): 1, ("B", "fear"): 1, ("B", "joy"): 1}
    assert found["blame"].to_dict("index") == {("A", "caef"): {0: 1}, ("A", "psp"): {0: 1}}


def test_every_column_is_documented() -> None:
    sections = re.split(r"^## ", DOCS, flags=re.MULTILINE)[1:]
    told = {re.split(r"[:\n]", section)[0]: section for section in sections}
    assert {f"`{name}`" for name in RUN} <= set(re.findall(r"`\w+`", told["Files"]))
    results = (ROOT / "docs/runs.md").read_text(encoding="utf-8").partition("## results.jsonl")[2].partition("##")[0]
    for table, columns in TABLES.items():
        told_of = told[table] + results * (table == "samples")
        names = {name for name in re.findall(r"`(\w+)`", told_of) if name not in NOT_OF_SAMPLES}
        assert sorted(names) == sorted({*columns, *(PROMPTS if table == "calls" else ())} - {*RUN})
