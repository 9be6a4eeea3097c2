"""The trace: every event is read back as it was written, and a torn end costs only the torn line."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.backends.protocol import Finish, Reply, TokenLogprob
from mmerg.errors import Failure, RunError
from mmerg.frames.frame import Frame
from mmerg.records import events
from mmerg.records.trace import Trace, append_lines, read_trace, story
from mmerg.systems.audit import audit_of
from tests.engine.parts import STAGES, audit, outputs

FRAME = Frame(sha256="0" * 64, source="c.mp4", time=0.5, width=64, height=48)
REPLY = Reply(text="ü\u2028", finish=Finish.STOP, logprobs=(TokenLogprob(token="ü", logprob=-0.25),), prompt_tokens=3)
ALL: list[events.Event] = [
    events.SampleStarted(sample="a", dialogue="d", history=(("Ana", "hi\n"),), responder="Ben", labels=("joy",)),
    events.FramesTaken(
        sample="a",
        form="descriptions",
        turns=(
            events.TurnFrames(turn=1, frames=(FRAME,), descriptions=("dark",)),
            events.TurnFrames(turn=2, problem="x"),
        ),
    ),
    events.Called(
        sample="a",
        t=0,
        stage="mpa",
        attempt=1,
        digest="f",
        messages=(events.TracedMessage(role="user", text="t", images=("0",)),),
        answer_schema="{}",
        sampling={"seed": 1, "temperature": 0.5},
        reply=REPLY,
    ),
    events.Refused(sample="a", t=0, stage="mpa", attempt=0, failure=Failure.TRUNCATED, complaint="long"),
    events.Supplied(sample="a", t=0, stage="sgrg", symbol="M", content=[{"reply": "r"}]),
    events.Produced.of("a", 0, "mpa", "E", outputs()["mpa"]),
    events.Produced.of("a", 0, "sgrg", "R", "hello"),
    events.Audited(
        sample="a",
        t=0,
        audit=audit_of(audit(dict.fromkeys(STAGES, False))),
        checks=(0, 0, 0, 0),
        fault="mpa",
    ),
    events.Unaudited(sample="a", t=1, failure=Failure.EMPTY, what="w"),
    events.PassLost(sample="a", t=1, failure=Failure.EMPTY, what="w"),
    events.Rerun(sample="a", t=1, stage="mpa", reason="r", correction="c"),
    events.Selected(sample="a", t=0, ranks={0: (0, 0, 0, 0, 0)}, ended="unaudited"),
    events.SampleDone(sample="a"),
    events.SampleFailed(sample="a", failure=Failure.OOM, what="w", where="x", hint="h"),
]


def test_every_kind_of_event_is_covered_here() -> None:
    kinds = {kind.__name__ for kind in events._Event.__subclasses__()}
    assert {type(event).__name__ for event in ALL} == kinds


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.kind)
def test_an_event_is_read_back_as_the_same_type_with_the_same_content(event: events.Event, tmp_path: Path) -> None:
    with Trace(tmp_path / "trace.jsonl") as trace:
        trace.emit(event)
    assert list(read_trace(tmp_path / "trace.jsonl")) == [event]


@given(cut=st.integers(min_value=0, max_value=4000))
def test_a_file_cut_anywhere_is_read_up_to_the_last_whole_line_and_goes_on(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    with Trace(path) as trace:
        for event in ALL:
            trace.emit(event)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    left = whole[:cut].count(b"\n")
    assert list(read_trace(path)) == ALL[:left]
    with Trace(path) as trace:
        trace.emit(ALL[0])
    assert list(read_trace(path)) == [*ALL[:left], ALL[0]]


def test_a_broken_line_within_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"kind": "sample_done"}\n{"kind":"sample_done","sample":"a"}\n', encoding="utf-8")
    with pytest.raises(RunError, match="line 1"):
        list(read_trace(path))


def test_the_story_is_of_the_last_try_alone(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with Trace(path) as trace:
        for event in (*ALL[:4], ALL[0], ALL[12]):
            trace.emit(event)
    assert story(path, "a") == [ALL[0], ALL[12]]
    assert story(path, "b") == []


def test_lines_of_many_threads_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    long = events.PassLost(sample="a", t=1, failure=Failure.EMPTY, what="w" * 100_000)
    with Trace(path) as trace:

        def write() -> None:
            for _ in range(5):
                trace.emit(long)

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(1 for _ in read_trace(path)) == 20


def test_cutting_reports_how_much_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    assert append_lines(path) == 0
    path.write_bytes(b"one\n" + b"x" * 200_000)
    assert append_lines(path) == 200_000
    assert path.read_bytes() == b"one\n"
