"""Reading a run for scoring, and the log-probabilities of its replies."""

from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import RunError
from mmerg.runs import events
from mmerg.runs.facts import collect_facts
from mmerg.runs.trace import SampleTrace
from mmerg.scoring.run_results import read_run
from tests.scoring.run_builder import AT, HISTORY, build_run, make_call, result, split_tokens


def call(text: str, logprob: float, **more: Any) -> events.Called:
    """A call whose completion is one token."""
    return make_call("a/1", text, split_tokens(text, [logprob]), **more)


def produced(text: str, t: int = 0) -> events.Produced:
    return events.Produced(sample="a/1", at=AT, t=t, stage="sgrg", symbol="R", output=text)


def test_a_run_is_read_with_log_probabilities_and_histories(tmp_path: Path) -> None:
    results = [
        result("a/1", "Oh no.", "joy", gold="sadness", selected_pass=1, passes=3),
        result("b/1", None, gold="joy"),
        result("c/1", "Fine."),
    ]
    logprobs = {"a/1": [-1.0, -2.0], "c/1": [-0.5]}
    run = read_run(build_run(tmp_path / "run", results, logprobs=logprobs, history={"c/1": [("Ana", "ü\u2028")]}))
    assert (run.run, run.manifest.protocol.description) == ("run", "targets=last emotions=all, n=3")
    assert [(one.id, one.ok, one.response, one.gold_emotion) for one in run.results] == [
        *(("a/1", True, "Oh no.", "sadness"), ("b/1", False, None, "joy"), ("c/1", True, "Fine.", None)),
    ]
    assert [(one.logprob, one.logprob_tokens) for one in run.results] == [(-3.0, 2), (None, 0), (-0.5, 1)]
    assert [one.history for one in run.results] == [HISTORY, HISTORY, (("Ana", "ü\u2028"),)]


@pytest.mark.parametrize(
    ("selected", "text", "logprob"), [(0, "First.", -1.0), (1, "Second.", -3.0), (2, "Third.", -4.0)]
)
def test_log_probabilities_are_those_of_the_valid_completion_in_the_selected_pass(
    selected: int, text: str, logprob: float
) -> None:
    trace: list[events.Event] = [
        events.SampleStarted(sample="a/1", at=AT, dialogue="d", history=HISTORY, responder="Ben", labels=("joy",)),
        call("Other stages", -9.0, stage="mpa"),
        call("First.", -1.0),
        produced("First."),
        call("Refused.", -2.0, t=1),
        call("Second.", -3.0, t=1, attempt=1),
        produced("Second.", 1),
        call("Third.", -4.0, t=2),
        produced("Third.", 2),
        events.Selected(sample="a/1", at=AT, t=selected, ranks={}, ended="passed"),
    ]
    fields = collect_facts(SampleTrace(trace), text, {"response": "R"})
    assert (fields["logprob"], fields["logprob_tokens"]) == (logprob, 1)


def test_impossible_log_probabilities_are_skipped(tmp_path: Path) -> None:
    """A probability above 1, or NaN; rounding errors of single precision may stay."""
    logprobs = {"a/1": [-1.0, 0.5], "b/1": [nan], "c/1": [1e-6], "d/1": [-inf]}
    run = read_run(build_run(tmp_path / "run", [result(id) for id in logprobs], logprobs=logprobs))
    assert [result.logprob for result in run.results] == [None, None, 1e-6, -inf]


def test_damaged_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        read_run(tmp_path)
    folder = build_run(tmp_path / "run", [result("a/1")])
    (folder / "results.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(RunError, match="line 1 is not"):
        read_run(folder)
