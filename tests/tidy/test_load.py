"""`mmerg.load`: the rows of the six tables, and the documented code."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mmerg
from mmerg.errors import Failure, RunError
from mmerg.judging.judgement import digest_replies
from mmerg.runs import events
from mmerg.runs.events import Verdict
from mmerg.runs.folder import Run, read_results
from mmerg.runs.result import Verdicts
from mmerg.score import main as score
from mmerg.scoring.score import UnscoredError
from mmerg.tidy.tables import NOT_OF_SAMPLES, RUN, TABLES
from tests.papertables.maker import rate, write_judging, write_verdicts
from tests.plots.audited_runs import LOST, PASSED, UNAUDITED, build, plan, planned
from tests.scoring.run_builder import (
    AT,
    HISTORY,
    LABELS,
    ROOT,
    build_run,
    make_call,
    make_manifest,
    record_sample,
    result,
    split_tokens,
)

DOCS = (ROOT / "docs/tidy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", DOCS, flags=re.DOTALL)
LINES = {re.findall(r"^(\w+) = ", block, re.MULTILINE)[-1]: block for block in BLOCKS}
OF_RUN = {"run": "A", "corpus": "demo", "split": "test", "system": "merg", "backbone": "tiny", "model": "tiny"}
JUDGING = "judge-likert-gemma3-12b-12345678"


def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame, with None for missing values."""
    return [
        {str(name): None if pd.api.types.is_scalar(value) and pd.isna(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two scored runs: A with audits, B with log-probabilities."""
    folder = tmp_path_factory.mktemp("tidy") / "runs"
    first = planned("a/1", selected_pass=1, passes=2, audit={"mpa": 1, "psp": 0}, excluded={"scene": 2})
    attempts = [
        (first, ["psp", PASSED]),
        (planned("b/2", gold="fear", plan="be kind"), ["caef", LOST]),
        (result("a/3", None, gold="fear"), [UNAUDITED]),
        (result("a/4", None), ["mpa"]),
    ]
    others = [result("a/1", "Oh no.", "joy", gold="joy"), result("b/2", "Oh.", "fear", gold="fear")]
    a = build(folder / "A", attempts)
    b = build_run(folder / "B", others, logprobs={"a/1": (-0.5, -1.5), "b/2": (-2.0,)})
    assert score([str(a), str(b), "--resamples", "50"]) == 0
    return [a, b]


def test_samples_have_results_and_histories(runs: list[Path]) -> None:
    first, second, third, *_ = rows(mmerg.load(*runs).samples)
    assert first == OF_RUN | {
        **planned("a/1", selected_pass=1, passes=2).model_dump(exclude={"id", "audit", "timing"}),
        **dict.fromkeys(("handed_on", "copied", "label_logprobs", "cleaned")),  # empty in the result
        "protocol": "targets=last emotions=all, n=4",
        "sample": "a/1",
        "digest": read_results(runs[0])["a/1"].digest,
        "plan": json.dumps(plan()),
        "checks": {"mpa": True, "psp": False},
        "excluded": {"scene": 2},
        "responder": "Ben",
        "history": [{"speaker": speaker, "text": text} for speaker, text in HISTORY],
        "labels": list(LABELS),
    }
    assert (second["plan"], second["checks"], second["excluded"]) == ('"be kind"', None, None)
    assert (third["status"], third["failure"], third["response"], third["gold_emotion"]) == (
        *("failed", "truncated", None, "fear"),
    )


def test_samples_can_be_written_as_parquet(runs: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    mmerg.load(runs[1]).samples.to_parquet(tmp_path / "samples.parquet")
    assert pd.read_parquet(tmp_path / "samples.parquet").response.tolist() == ["Oh no.", "Oh."]


def test_passes_have_outputs_and_audits(runs: list[Path]) -> None:
    found = {(row["sample"], row["t"]): row for row in rows(mmerg.load(runs[0]).passes)}
    assert {key: row["status"] for key, row in found.items()} == {
        **{("a/1", 0): "audited", ("a/1", 1): "audited", ("b/2", 0): "audited", ("b/2", 1): "lost"},
        **{("a/3", 0): "unaudited", ("a/4", 0): "audited"},
    }
    first, again, lost = found["a/1", 0], found["a/1", 1], found["b/2", 1]
    assert (first["fault"], first["selected"], first["rerun_from"]) == ("psp", False, None)
    assert (again["fault"], again["selected"], again["ran"]) == (None, True, ["psp", "sgrg"])
    assert [again[f"rerun_{what}"] for what in ("from", "reason", "correction")] == ["psp", "wrong", "mend"]
    kept = {"E": {"said": "mpa 0"}, "e": {"said": "caef 0"}}
    assert json.loads(again["outputs"]) == kept | {"P": {"said": "psp 1"}, "R": "sgrg 1"}
    assert first["checks"] == {"mpa": True, "caef": True, "psp": False, "sgrg": True}
    finding = {"passed": False, "reason": "psp looked at", "correction": "mend psp", "form": "finding", "score": None}
    assert first["findings"]["psp"] == finding
    assert (lost["failure"], lost["failure_text"], lost["ran"], lost["checks"]) == (
        *("schema_invalid", "no JSON", [], None),
    )
    assert (found["a/3", 0]["failure"], found["a/3", 0]["failure_text"]) == ("empty", "blank")


def test_calls_have_costs_and_refusals(tmp_path: Path) -> None:
    step: dict[str, Any] = {"sample": "a/1", "at": AT, "t": 0, "stage": "sgrg"}
    excluded = events.Excluded(id="m/1", guard="scene", similarity=0.5, reply="Oh.")
    trace = (
        events.SampleStarted(sample="a/1", at=AT, dialogue="a", history=(), responder="", labels=()),
        events.Supplied(**step, symbol="M", content=({"id": "m/2"},), excluded=(excluded,)),
        make_call("a/1", "{", attempt=0),
        events.Refused(**step, attempt=0, failure=Failure.EMPTY, complaint="say more"),
        make_call("a/1", "Oh no.", split_tokens("Oh no.", (-0.5, -1.5)), attempt=1, thinking="hm"),
        events.Produced(**step, symbol="R", output="Oh no."),
        events.Selected(sample="a/1", at=AT, t=0, ranks={}, ended="no auditor"),
    )
    sample = result("a/1", "Oh no.", "joy")
    with Run(tmp_path / "A", make_manifest([sample])) as run:
        record_sample(run, sample, trace)
    tidy = mmerg.load(tmp_path / "A")
    first, second = rows(tidy.calls)
    assert (first["refused"], first["complaint"], first["logprob"], first["logprob_tokens"]) == (
        *("empty", "say more", None, 0),
    )
    assert second == OF_RUN | {
        **{"sample": "a/1", "t": 0, "stage": "sgrg", "attempt": 1, "at": AT, "digest": "0", "finish": "stop"},
        **{"refused": None, "complaint": None, "text": "Oh no.", "thinking": "hm", "images": 0, "prompt_tokens": 0},
        **{"reused_tokens": None, "response_tokens": 0, "logprob": -2.0, "logprob_tokens": 2, "prompt_seconds": 0.0},
        **{"seconds": 0.0, "cached": False, "host": "", "sampling": '{"seed": 0}'},
    }
    [one_pass] = rows(tidy.passes)
    assert (one_pass["status"], one_pass["selected"]) == ("no auditor", True)
    assert one_pass["supplied"] == [{"stage": "sgrg", "symbol": "M", "content": '{"id": "m/2"}'}]
    assert one_pass["excluded"] == [{"stage": "sgrg", "symbol": "M", **excluded.model_dump()}]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A scored run with a judging of it."""
    run = build_run(tmp_path / "runs/A", [result("a/1"), result("b/2")])
    assert score([str(run), "--resamples", "50"]) == 0
    rate(run, "gemma3-12b", 4.5)
    verdicts = [
        Verdict(aspect="empathy", round=0, order=(0,), repeat=0, seed=0, score=score, reason="r") for score in (4, 5)
    ]
    lines = [
        Verdicts(id=id, status="ok", dialogue="a", verdicts=(verdict,))
        for id, verdict in zip(("a/1", "b/2"), verdicts, strict=True)
    ]
    write_verdicts(run.parent / JUDGING, lines)
    return run


def test_scores_and_verdicts_include_ratings_by_a_judge(judged: Path) -> None:
    tidy = mmerg.load(judged)
    scores = tidy.scores[tidy.scores.judge == "gemma3-12b@likert"].set_index("metric")
    assert (scores.loc["empathy"].value, scores.loc["empathy"].low) == (4.5, 4.3)
    assert tidy.verdicts[["judge", "sample", "aspect", "score"]].values.tolist() == [
        ["gemma3-12b@likert", "a/1", "empathy", 4.0], ["gemma3-12b@likert", "b/2", "empathy", 5.0]
    ]  # fmt: skip
    shutil.rmtree(judged.parent / JUDGING)
    with pytest.raises(RunError, match=r"the verdicts of gemma3-12b@likert are missing"):
        _ = mmerg.load(judged).verdicts


def test_pairwise_verdicts_are_listed_with_run_a(judged: Path) -> None:
    folder = write_judging(judged, build_run(judged.parent / "B", [result("a/1", "Hm."), result("b/2", "Hm.")]))
    tidy = mmerg.load(judged)
    scores = tidy.scores[tidy.scores.against == "B"].set_index("metric")
    assert set(scores.judge) == {"gemma3-12b@pairwise"}
    assert (scores.loc["win"].value, scores.loc["win_empathy"].value, scores.loc["lose"].value) == (100, 100, 0)
    verdicts = tidy.verdicts[tidy.verdicts.against == "B"]
    assert verdicts[["judge", "sample", "round", "choice"]].values.tolist() == [
        ["gemma3-12b@pairwise", "a/1", 0, "first"], ["gemma3-12b@pairwise", "a/1", 1, "second"]
    ]  # fmt: skip
    assert tidy.verdicts.against.isna().sum() == 2  # single ratings
    assert len(mmerg.load(judged.parent / "B").verdicts) == 0
    file = folder / "judgement.json"
    file.write_text(file.read_text().replace(digest_replies(read_results(judged).values()), "0" * 64))
    with pytest.raises(RunError, match="these ratings are stale"):
        _ = mmerg.load(judged).verdicts


def test_runs_that_are_missing_or_not_scored_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="this is not a run folder"):
        mmerg.load(tmp_path)
    run = build_run(tmp_path / "run", [result("a/1")])
    with pytest.raises(UnscoredError, match=r"mmerg score"):
        _ = mmerg.load(str(run)).scores


def test_the_documented_code_works(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs[0].parents[1])
    found: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, found)
    assert list(LINES) == ["tidy", "table", "recall", "blame"]
    assert found["table"].loc["acc"].to_dict() == {"A": pytest.approx(100 / 3), "B": 100}
    assert found["recall"].to_dict() == {("A", "fear"): 0, ("A", "joy"): 1, ("B", "fear"): 1, ("B", "joy"): 1}
    assert found["blame"].to_dict("index") == {("A", "caef"): {0: 1}, ("A", "mpa"): {0: 1}, ("A", "psp"): {0: 1}}


def test_every_column_is_documented() -> None:
    sections = re.split(r"^## ", DOCS, flags=re.MULTILINE)[1:]
    documented = {re.split(r"[:\n]", section)[0]: section for section in sections}
    assert {f"`{name}`" for name in RUN} <= set(re.findall(r"`\w+`", documented["Files"]))
    results = (ROOT / "docs/runs.md").read_text(encoding="utf-8").partition("## results.jsonl")[2].partition("##")[0]
    for table, columns in TABLES.items():
        text = documented[table] + results * (table == "samples")
        names = {name for name in re.findall(r"`(\w+)`", text) if name not in NOT_OF_SAMPLES}
        assert sorted(names) == sorted({*columns} - {*RUN})


def test_the_code_of_the_notebook_works(runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "runs").mkdir()
    shutil.copytree(runs[0], tmp_path / "runs/demo-merg-smollm2-135m-00000000")
    monkeypatch.chdir(tmp_path / "docs")
    notebook = json.loads((ROOT / "docs/figure.ipynb").read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), found)
    assert "macro_f1" in [*found["metrics"].metric]
    assert Path("tokens.pdf").read_bytes().startswith(b"%PDF")
