"""A run folder read for scoring, and what its results say of log-probabilities: of the right call of the right pass."""

from collections.abc import Iterable
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import RunError
from mmerg.runs import events
from mmerg.runs.facts import collect_facts
from mmerg.runs.result import Result
from mmerg.runs.story import Story
from mmerg.scoring.answers import read_run, without_usable_logprobs
from tests.scoring.run_builder import AT, HISTORY, build_run, called, result, tokens_of


def fields_of(one: Result, told: Iterable[events.Event], response: str = "R") -> dict[str, Any]:
    """What the events of a sample give its result."""
    return collect_facts(Story(told), one.response, {"response": response})


def started(sample: str, text: str = "hi") -> events.SampleStarted:
    return events.SampleStarted(
        sample=sample, at=AT, dialogue="d", history=(("Ana", text),), responder="Ben", labels=("joy",)
    )


def said(sample: str, text: str, logprob: float, **more: Any) -> events.Called:
    """A call whose reply is one token."""
    return called(sample, text, tokens_of(text, [logprob]), **more)


def given(sample: str, text: str, t: int = 0) -> events.Produced:
    return events.Produced(sample=sample, at=AT, t=t, stage="sgrg", symbol="R", output=text)


def picked(t: int) -> events.Selected:
    return events.Selected(sample="a/1", at=AT, t=t, ranks={}, ended="passed")


def test_a_run_as_its_folder_tells_it(tmp_path: Path) -> None:
    results = [
        result("a/1", "Oh no.", "joy", gold="sadness", selected_pass=1, passes=3),
        result("b/1", None, gold="joy"),
        result("c/1", "Fine."),
    ]
    logprobs = {"a/1": [-1.0, -2.0], "c/1": [-0.5]}
    run = read_run(build_run(tmp_path / "run", results, logprobs=logprobs, history={"c/1": [("Ana", "ü\u2028")]}))
    assert run.run == "run"
    assert run.manifest.protocol.description == "targets=last emotions=all, n=3"
    found = run.answers
    assert [one.model_dump(include={"id", "response", "gold_emotion"}) for one in found] == [
        one.model_dump(include={"id", "response", "gold_emotion"}) for one in results
    ]
    assert [(one.logprob, one.logprob_tokens) for one in found] == [(-3.0, 2), (None, 0), (-0.5, 1)]
    assert [one.history for one in found] == [HISTORY, HISTORY, (("Ana", "ü\u2028"),)]
    assert [(answer.id, answer.ok) for answer in run.answers] == [("a/1", True), ("b/1", False), ("c/1", True)]


def test_the_selected_pass_and_its_accepted_attempt() -> None:
    told: list[events.Event] = [
        started("a/1"),
        said("a/1", "Other stages", -9.0, stage="mpa"),
        said("a/1", "First.", -1.0),
        given("a/1", "First."),
        said("a/1", "Refused.", -2.0, t=1),
        said("a/1", "Second.", -3.0, t=1, attempt=1),
        given("a/1", "Second.", 1),
        said("a/1", "Third.", -4.0, t=2),
        given("a/1", "Third.", 2),
    ]
    for selected, text, own in ((0, "First.", -1.0), (1, "Second.", -3.0), (2, "Third.", -4.0)):
        fields = fields_of(result("a/1", text), [*told, picked(selected)])
        assert (fields["logprob"], fields["logprob_tokens"]) == (own, 1)


def test_log_probabilities_that_cannot_be_are_left_out_and_named(tmp_path: Path) -> None:
    """A probability above 1, or a number that is none; what single precision puts on top of certainty may stay."""
    logprobs = {"a/1": [-1.0, 0.5], "b/1": [nan], "c/1": [1e-6], "d/1": [-inf]}
    run = read_run(build_run(tmp_path / "run", [result(id) for id in logprobs], logprobs=logprobs))
    assert [answer.logprob for answer in run.answers] == [None, None, 1e-6, -inf]
    assert without_usable_logprobs(run.answers) == ("a/1", "b/1")


def test_folders_that_cannot_be_scored(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        read_run(tmp_path)
    folder = build_run(tmp_path / "run", [result("a/1")])
    (folder / "results.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(RunError, match="line 1 is not"):
        read_run(folder)
