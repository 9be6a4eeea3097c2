"""The command `export`: what its files hold, column by column, and that the documented lines load them."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mmerg.errors import Failure
from mmerg.export import main
from mmerg.runs import events
from mmerg.runs.folder import Run, read_results
from mmerg.runs.result import Result
from mmerg.tidy.tables import TABLES
from tests.plots.audited_runs import LOST, PASSED, UNAUDITED, build, plan, planned
from tests.scoring.run_builder import (
    AT,
    HISTORY,
    LABELS,
    called,
    finish,
    manifest_of,
    result,
    tokens_of,
)

OF_RUN = {
    "run": "run", "corpus": "demo", "split": "test", "system": "merg", "backbone": "tiny", "model": "tiny"
}  # fmt: skip


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = pq.read_table(folder / f"{table}.parquet").to_pylist(maps_as_pydicts="strict")
    return read


def exported(folder: Path, one: Result, *told: events.Event) -> Path:
    """The export of a run of one sample with these events."""
    began = events.SampleStarted(sample=one.id, at=AT, dialogue="a", history=(), responder="", labels=())
    with Run(folder / "run", manifest_of([one])) as run:
        finish(run, one, [began, *told])
    assert main([str(folder / "run"), "--prompts"]) == 0
    return folder / "run/export"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    first = planned("a/1", selected_pass=1, passes=2, audit={"mpa": 1, "psp": 0}, excluded={"scene": 2})
    tries = [
        (first, ["psp", PASSED]),
        (planned("a/2", plan="be kind"), ["caef", LOST]),
        (result("a/3", None, gold="fear"), [UNAUDITED]),
        (result("a/4", None), ["mpa"]),
    ]
    return build(tmp_path / "run", tries)


def test_a_sample_is_its_result_and_what_it_was_shown(run: Path) -> None:
    assert main([str(run)]) == 0
    first, second, third, _ = rows(run / "export", "samples")
    assert first == OF_RUN | {
        **planned("a/1", selected_pass=1, passes=2).model_dump(mode="json", exclude={"id", "audit", "timing"}),
        "protocol": "targets=last emotions=all, n=4",
        "sample": "a/1",
        "digest": read_results(run)["a/1"].digest,
        "plan": json.dumps(plan()),
        "checks": {"mpa": True, "psp": False},
        "excluded": {"scene": 2},
        "responder": "Ben",
        "history": [{"speaker": speaker, "text": text} for speaker, text in HISTORY],
        "labels": list(LABELS),
    }
    assert (second["plan"], second["checks"], second["excluded"]) == ('"be kind"', None, {})
    assert (third["status"], third["failure"], third["response"], third["gold_emotion"]) == (
        *("failed", "truncated", None, "fear"),
    )


def test_a_pass_has_all_outputs_and_its_audit(run: Path) -> None:
    assert main([str(run)]) == 0
    found = {(row["sample"], row["t"]): row for row in rows(run / "export", "passes")}
    status = {("a/1", 0): "audited", ("a/1", 1): "audited", ("a/2", 0): "audited", ("a/2", 1): "lost"}
    assert {key: row["status"] for key, row in found.items()} == status | {
        ("a/3", 0): "unaudited", ("a/4", 0): "audited"
    }  # fmt: skip
    first, again, lost = found["a/1", 0], found["a/1", 1], found["a/2", 1]
    assert (first["fault"], first["selected"], first["rerun_from"]) == ("psp", False, None)
    assert (again["fault"], again["selected"], again["ran"]) == (None, True, ["psp", "sgrg"])
    assert [again[f"rerun_{what}"] for what in ("from", "reason", "correction")] == ["psp", "wrong", "mend"]
    assert json.loads(again["outputs"]) == {
        "E": {"said": "mpa 0"}, "e": {"said": "caef 0"}, "P": {"said": "psp 1"}, "R": "sgrg 1"
    }  # fmt: skip
    assert first["checks"] == {"mpa": True, "caef": True, "psp": False, "sgrg": True}
    found_by_gra = {"passed": False, "reason": "psp looked at", "correction": "mend psp"}
    assert first["findings"]["psp"] == {**found_by_gra, "form": "finding", "score": None}
    assert (lost["failure"], lost["failure_text"], lost["ran"]) == ("schema_invalid", "no JSON", [])
    assert lost["checks"] is None
    assert json.loads(lost["outputs"]) == {"E": {"said": "mpa 0"}}
    assert (found["a/3", 0]["failure"], found["a/3", 0]["failure_text"]) == ("empty", "blank")


def test_a_call_has_what_it_cost_and_whether_it_was_used(tmp_path: Path) -> None:
    mark: dict[str, Any] = {"sample": "a/1", "at": AT, "t": 0, "stage": "sgrg"}
    excluded = events.Excluded(id="m/1", guard="scene", similarity=0.5, reply="Oh.")
    folder = exported(
        tmp_path,
        result("a/1", "Oh no.", "joy"),
        events.Supplied(**mark, symbol="M", content=({"id": "m/2"},), excluded=(excluded,)),
        called("a/1", "{", attempt=0),
        events.Refused(**mark, attempt=0, failure=Failure.EMPTY, complaint="say more"),
        called("a/1", "Oh no.", tokens_of("Oh no.", (-0.5, -1.5)), attempt=1, thinking="hm"),
        events.Produced(**mark, symbol="R", output="Oh no."),
        events.Selected(sample="a/1", at=AT, t=0, ranks={}, ended="no auditor"),
    )
    first, second = rows(folder, "calls")
    assert (first["refused"], first["complaint"], first["logprob"], first["logprob_tokens"]) == (
        *("empty", "say more", None, 0),
    )
    assert second == OF_RUN | {
        "sample": "a/1", "t": 0, "stage": "sgrg", "attempt": 1, "at": AT, "digest": "0", "finish": "stop",
        "refused": None, "complaint": None, "text": "Oh no.", "thinking": "hm", "images": 0, "prompt_tokens": 0,
        "reused_tokens": None, "response_tokens": 0, "logprob": -2.0, "logprob_tokens": 2, "prompt_seconds": 0.0,
        "seconds": 0.0, "cached": False, "host": "", "sampling": '{"seed": 0}',
        "messages": [{"role": "user", "text": "Write the next turn.", "images": []}], "answer_schema": "",
    }  # fmt: skip
    [one_pass] = rows(folder, "passes")
    assert (one_pass["status"], one_pass["selected"]) == ("no auditor", True)
    assert one_pass["supplied"] == [{"stage": "sgrg", "symbol": "M", "content": '{"id": "m/2"}'}]
    assert one_pass["excluded"] == [{"stage": "sgrg", "symbol": "M", **excluded.model_dump()}]


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    for name in "ab":
        assert main([str(run), "--prompts", "--out", str(tmp_path / name)]) == 0
    for table in TABLES:
        assert (tmp_path / f"a/{table}.parquet").read_bytes() == (tmp_path / f"b/{table}.parquet").read_bytes()
    assert len(list((tmp_path / "a").iterdir())) == 6


@pytest.mark.parametrize("damage", ["manifest.json", "results.jsonl", "samples/a%2F1.jsonl"])
def test_a_broken_folder_is_told_and_leaves_no_file(damage: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / damage).write_text('{"identity": {}}\n')
    assert main([str(run)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not (run / "export").exists() or not list((run / "export").iterdir())
