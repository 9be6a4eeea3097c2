"""A run folder read for scoring: the right call of the right pass, whatever else the trace holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import Failure, RunError
from mmerg.runs import events
from mmerg.runs.folder import Run
from mmerg.runs.result import Result
from mmerg.runs.trace import Trace
from mmerg.scoring.answers import read_run
from tests.scoring.run_builder import AT, HISTORY, build_run, called, events_of, manifest_of, result, tokens_of


def written(folder: Path, results: Iterable[Result], trace: Iterable[events.Event], **manifest: Any) -> Path:
    """A run whose trace is told event by event."""
    kept = list(results)
    with Run(folder, manifest_of(kept, **manifest)) as run:
        for event in trace:
            run.trace.emit(event)
        for one in kept:
            run.trace.emit(events.SampleDone(sample=one.id, at=AT))
            run.add(one)
    return folder


def started(sample: str, text: str = "hi") -> events.SampleStarted:
    return events.SampleStarted(
        sample=sample, at=AT, dialogue="d", history=(("Ana", text),), responder="Ben", labels=("joy",)
    )


def said(sample: str, text: str, logprob: float, **more: Any) -> events.Called:
    """A call whose reply is one token."""
    return called(sample, text, tokens_of(text, [logprob]), **more)


def test_a_run_as_its_folder_tells_it(tmp_path: Path) -> None:
    results = [
        result("a/1", "Oh no.", "joy", gold="sadness", selected_pass=1, passes=3),
        result("b/1", None, gold="joy"),
        result("c/1", "Fine."),
    ]
    logprobs = {"a/1": [-1.0, -2.0], "c/1": [-0.5]}
    run = read_run(build_run(tmp_path / "run", results, logprobs=logprobs, history={"c/1": [("Ana", "ü\u2028")]}))
    assert run.name == "run"
    assert run.protocol == "targets=last emotions=all, n=3"
    assert [answer.result for answer in run.answers] == results
    assert [answer.logprobs for answer in run.answers] == [(-1.0, -2.0), None, (-0.5,)]
    assert [answer.history for answer in run.answers] == [HISTORY, HISTORY, (("Ana", "ü\u2028"),)]
    assert [(answer.id, answer.ok) for answer in run.answers] == [("a/1", True), ("b/1", False), ("c/1", True)]


def test_the_selected_pass_and_its_accepted_attempt(tmp_path: Path) -> None:
    trace: list[events.Event] = [
        started("a/1"),
        said("a/1", "Other stages", -9.0, stage="mpa"),
        said("a/1", "First.", -1.0),
        said("a/1", "Refused.", -2.0, t=1),
        said("a/1", "Second.", -3.0, t=1, attempt=1),
        said("a/1", "Third.", -4.0, t=2),
    ]
    for selected, text, own in ((0, "First.", -1.0), (1, "Second.", -3.0), (2, "Third.", -4.0)):
        folder = written(tmp_path / str(selected), [result("a/1", text, selected_pass=selected, passes=3)], trace)
        assert read_run(folder).answers[0].logprobs == (own,)


def test_a_pass_that_kept_its_response(tmp_path: Path) -> None:
    """Where a system runs again from a stage behind the one that gives the response."""
    trace: list[events.Event] = [started("a/1"), said("a/1", "Kept.", -1.0), said("a/1", "{}", -5.0, t=1, stage="psp")]
    folder = written(tmp_path / "run", [result("a/1", "Kept.", selected_pass=1, passes=2)], trace)
    assert read_run(folder).answers[0].logprobs == (-1.0,)


def test_the_last_finished_try_counts(tmp_path: Path) -> None:
    trace: list[events.Event] = [
        started("a/1", "before"),
        said("a/1", "Oh no.", -1.0),
        events.SampleDone(sample="a/1", at=AT),
        started("b/1"),
        started("a/1", "after"),
        said("b/1", "Two.", -7.0),
        said("a/1", "Oh no.", -2.0),
    ]
    folder = written(tmp_path / "run", [result("a/1"), result("b/1", "Two.")], trace)
    with Trace(folder / "trace.jsonl") as running:
        running.emit(started("a/1", "broken off"))
        running.emit(said("a/1", "Oh no.", -3.0))
    a, b = read_run(folder).answers
    assert (a.logprobs, a.history) == ((-2.0,), (("Ana", "after"),))
    assert b.logprobs == (-7.0,)


def test_a_last_try_without_log_probabilities_has_none(tmp_path: Path) -> None:
    trace: list[events.Event] = [started("a/1"), said("a/1", "Oh no.", -1.0), started("a/1"), called("a/1", "Oh no.")]
    assert read_run(written(tmp_path / "run", [result("a/1")], trace)).answers[0].logprobs is None


def test_words_of_a_prompt_are_not_taken_for_fields(tmp_path: Path) -> None:
    false = said("a/1", "Oh no.", -9.0)
    fields = json.dumps(events.EVENT.dump_python(false, mode="json"), separators=(",", ":")) + '","kind":"called"'
    trace: list[events.Event] = [
        started("a/1", fields),
        said("a/1", "Oh no.", -1.0, prompt=fields),
        said('b","at":"","kind":"called","t":0,"stage":"sgrg"', "Oh no.", -3.0),
        said("a/1", "Oh no.", -4.0, stage='mpa","stage":"sgrg', prompt=fields),
        said("a/1", "Oh no.", -5.0, stage="gra", t=0, prompt=fields),
    ]
    [answer] = read_run(written(tmp_path / "run", [result("a/1")], trace)).answers
    assert answer.logprobs == (-1.0,)
    assert answer.history == (("Ana", fields),)


def test_lines_whose_fields_stand_in_another_order_are_read_all_the_same(tmp_path: Path) -> None:
    folder = build_run(tmp_path / "run", [result("a/1")], logprobs={"a/1": [-1.0]})
    lines = (folder / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    for first in (0, 1, 2, 3, 4):
        fields = [list(json.loads(line).items()) for line in lines]
        turned = [json.dumps(dict(some[:first] + some[first:][::-1]), separators=(",", ":")) for some in fields]
        (folder / "trace.jsonl").write_text("\n".join(turned) + "\n", encoding="utf-8")
        [answer] = read_run(folder).answers
        assert (answer.logprobs, answer.history) == ((-1.0,), HISTORY)


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    folder = build_run(tmp_path / "run", [result("a/1"), result("b/1")], logprobs={"a/1": [-1.0], "b/1": [-2.0]})
    whole = (folder / "trace.jsonl").read_bytes()
    for cut in range(0, len(whole), 97):
        (folder / "trace.jsonl").write_bytes(whole[:cut])
        assert len(read_run(folder).answers) == 2
    (folder / "trace.jsonl").write_bytes(whole + whole[:200])
    assert [answer.logprobs for answer in read_run(folder).answers] == [(-1.0,), (-2.0,)]


def test_a_run_without_trace_or_results(tmp_path: Path) -> None:
    folder = build_run(tmp_path / "run", [result("a/1")])
    (folder / "trace.jsonl").unlink()
    with pytest.raises(RunError, match=r"the trace cannot be read: No such file[^$]*put it back"):
        read_run(folder)
    (folder / "results.jsonl").unlink()
    assert read_run(folder).answers == ()


def test_a_response_that_is_a_field_of_an_output(tmp_path: Path) -> None:
    config = {"system": {"result": {"response": "x.reply"}, "stages": {"only": {"gives": "x"}}}}
    text = '{"emotion": "joy", "reply": "Oh no."}'
    trace: list[events.Event] = [started("a/1"), called("a/1", text, tokens_of(text, [-1.0] * len(text)), stage="only")]
    [answer] = read_run(written(tmp_path / "run", [result("a/1")], trace, config=config)).answers
    assert answer.logprobs == (-1.0,) * len("Oh no.")


def test_a_broken_line_that_is_needed_is_named(tmp_path: Path) -> None:
    folder = build_run(tmp_path / "run", [result("a/1")])
    trace = folder / "trace.jsonl"
    lines = trace.read_text(encoding="utf-8").splitlines(keepends=True)
    assert '"kind":"called"' in lines[1]
    for broken in (
        lines[1][:-20] + "\n",
        "rubbish\n",
        "[" * 100_000 + "\n",
        lines[1].replace('"digest"', '"unheard-of"'),
    ):
        trace.write_text(lines[0] + broken + "".join(lines[2:]), encoding="utf-8")
        with pytest.raises(RunError, match="line 2 is not an event of this version"):
            read_run(folder)


def test_folders_that_cannot_be_scored(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        read_run(tmp_path)
    folder = build_run(tmp_path / "run", [result("a/1")])
    manifest = folder / "manifest.json"
    whole = json.loads(manifest.read_text(encoding="utf-8"))
    for part, name in (("protocol", "told"), ("protocol", "samples"), ("engine", "digest"), ("corpus", "split")):
        rest = {key: value for key, value in whole[part].items() if key != name}
        manifest.write_text(json.dumps(whole | {part: rest}), encoding="utf-8")
        with pytest.raises(RunError, match=rf"{part}\.{name}: Field required[^$]*run it again"):
            read_run(folder)
    for part in ("protocol", "corpus"):
        manifest.write_text(json.dumps({key: value for key, value in whole.items() if key != part}), encoding="utf-8")
        with pytest.raises(RunError, match=f"no {part}[^$]*run it again"):
            read_run(folder)
    configs: list[Any] = [{}, {"system": {}}, {"system": {"result": {"response": "R"}, "stages": {}}}]
    for config in configs:
        manifest.write_text(json.dumps(whole | {"config": config}), encoding="utf-8")
        with pytest.raises(RunError, match="which stage gives the response"):
            read_run(folder)
    (folder / "results.jsonl").write_text("{}\n", encoding="utf-8")
    manifest.write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(RunError, match="line 1 is not"):
        read_run(folder)


def test_log_probabilities_that_cannot_be_are_left_out_and_named(tmp_path: Path) -> None:
    """A probability above 1, or a number that is none; what single precision puts on top of certainty may stay."""
    logprobs = {"a/1": [-1.0, 0.5], "b/1": [nan], "c/1": [1e-6], "d/1": [-inf]}
    folder = build_run(tmp_path / "run", [result(id) for id in logprobs], logprobs=logprobs)
    run = read_run(folder)
    assert [answer.logprobs for answer in run.answers] == [None, None, (1e-6,), (-inf,)]
    assert run.improper == ("a/1", "b/1")


def test_a_trace_that_is_a_folder(tmp_path: Path) -> None:
    folder = build_run(tmp_path / "run", [result("a/1")])
    (folder / "trace.jsonl").unlink()
    (folder / "trace.jsonl").mkdir()
    with pytest.raises(RunError, match="the trace cannot be read"):
        read_run(folder)


def test_a_sample_that_failed_has_no_log_probabilities(tmp_path: Path) -> None:
    trace: list[events.Event] = [started("a/1"), said("a/1", "Oh no.", -1.0)]
    failed = result("a/1", None, failure=Failure.EMPTY)
    assert read_run(written(tmp_path / "run", [failed], trace)).answers[0].logprobs is None


def test_the_builder_tells_what_a_finished_sample_tells() -> None:
    kinds = [event.kind for event in events_of(result("a/1", selected_pass=1, passes=2), [-1.0], HISTORY)]
    assert kinds == ["sample_started", "called", "produced", "called", "produced", "selected", "sample_done"]
