"""A run as a log that inspect_ai's own reader takes."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from mmerg.export import main as export
from mmerg.score import main as score
from tests.plots.audited_runs import PASSED, UNAUDITED, build, planned
from tests.scoring.run_builder import result

HERE = find_spec("inspect_ai") is not None


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = build(
        tmp_path / "runs/A",
        [
            (planned("a/1", selected_pass=1, passes=2), ["psp", PASSED]),
            (result("b/2", None, gold="fear"), [UNAUDITED]),
        ],
    )
    assert score([str(made), "--resamples", "50"]) == 0
    return made


@pytest.mark.skipif(not HERE, reason="inspect_ai is not installed: pip install 'mmerg[inspect]'")
@pytest.mark.filterwarnings("default")
def test_the_reader_of_inspect_takes_the_log(run: Path) -> None:
    from inspect_ai.log import read_eval_log

    assert export([str(run), "--inspect"]) == 0
    log = read_eval_log(str(run / "export" / "A.eval"))
    assert (log.status, log.eval.task_id) == ("success", "A")
    assert log.samples
    assert log.results
    done, failed = log.samples
    assert [one.id for one in log.samples] == ["a/1", "b/2"]
    assert done.output.completion == planned("a/1").response
    calls = [event for event in done.events if event.event == "model"]
    assert calls
    assert {event.role for event in calls} == set(done.role_usage)
    assert all(event.input and event.output.completion for event in calls)
    [usage] = done.model_usage.values()
    assert usage.total_tokens == sum(one.total_tokens for one in done.role_usage.values())
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert done.scores
    assert failed.error
    acc = next(one for one in log.results.scores if one.name == "acc")
    assert acc.metrics["acc"].value == 50.0
    assert acc.metadata
    assert acc.metadata["n"] == 2


@pytest.mark.skipif(HERE, reason="inspect_ai is installed")
def test_without_inspect_it_is_told_what_to_install(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export([str(run), "--inspect"]) == 2
    assert "pip install 'mmerg[inspect]'" in capsys.readouterr().err
