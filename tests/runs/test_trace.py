"""The trace: every event is read back as it was written, and a torn end costs only the torn line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.backends.protocol import Finish, Reply, TokenLogprob
from mmerg.errors import Failure, RunError
from mmerg.frames.frame import Frame
from mmerg.runs import events
from mmerg.runs.lines import cut_torn
from mmerg.runs.trace import Trace, parsed, read_heads, read_trace, story
from mmerg.runs.tries import Tries
from mmerg.runs.verdict import Verdict
from mmerg.systems.audit import audit_of
from tests.engine.parts import STAGES, audit, outputs

FRAME = Frame(sha256="0" * 64, source="c.mp4", time=0.5, width=64, height=48)
REPLY = Reply(text="ü\u2028", finish=Finish.STOP, logprobs=(TokenLogprob(token="ü", logprob=-0.25),), prompt_tokens=3)
NEVER = TokenLogprob(token="x", logprob=-math.inf)
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
        sampling={"seed": 1, "temperature": 0.5, "stop": ("x",)},
        logprobs=True,
        reply=REPLY,
    ),
    events.Refused(sample="a", t=0, stage="mpa", attempt=0, failure=Failure.TRUNCATED, complaint="long"),
    events.Supplied(sample="a", t=0, stage="sgrg", symbol="M", content=({"reply": "r"},)),
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
    events.Judged(sample="a", t=1, verdict=Verdict(aspect="empathy", round=1, order=(1, 0), repeat=0, seed=3)),
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


def test_the_story_is_of_the_last_finished_try(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    start = ALL[0]
    [done] = [event for event in ALL if isinstance(event, events.SampleDone)]
    with Trace(path) as trace:
        for event in ALL[:4]:
            trace.emit(event)
        assert story(path, "a") == list(ALL[:4])  # of the one under way, where none is finished
        for event in (start, done, *ALL[:4]):
            trace.emit(event)
    assert story(path, "a") == [start, done]
    assert story(path, "b") == []
    with Tries(path) as tries:
        assert list(tries.of("a")) == [start, done]


def test_heads_are_those_of_the_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with Trace(path) as trace:
        for event in ALL:
            trace.emit(event)
    turned = [json.dumps(dict(reversed(json.loads(line).items()))) for line in path.read_text("utf-8").split("\n")[:-1]]
    path.write_bytes(path.read_bytes() + "".join(f"{line}\n" for line in turned).encode())
    for (head, line), event in zip(read_heads(path), [*ALL, *ALL], strict=True):
        assert parsed(line, head.number, path) == event
        assert (head.sample, head.kind) == (event.sample, event.kind)
        t, stage = getattr(event, "t", None), getattr(event, "stage", None)
        assert (head.t, head.stage) == ((t, stage) if stage else (None, None))


@pytest.mark.parametrize("read", [lambda p: list(read_trace(p)), lambda p: story(p, "a"), Tries])
def test_a_trace_that_is_not_there_or_cannot_be_read_is_told_alike(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(RunError, match=r"the trace cannot be read: No such file[^$]*put it back"):
        read(tmp_path / "trace.jsonl")
    with pytest.raises(RunError, match="the trace cannot be read: Is a directory"):
        read(tmp_path)


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


LONE = "\ud83d, alone"


@pytest.mark.parametrize(
    "event",
    [
        events.PassLost(sample="a", t=1, failure=Failure.EMPTY, what=LONE),
        events.SampleStarted(sample="a", dialogue=LONE, history=((LONE, LONE),), responder=LONE, labels=("joy",)),
        ALL[2].model_copy(update={"messages": (events.TracedMessage(role="user", text=LONE),)}),
        events.Produced.of("a", 0, "sgrg", "R", LONE),
        ALL[2].model_copy(update={"reply": REPLY.model_copy(update={"logprobs": (NEVER,)})}),
    ],
    ids=["problem", "transcript", "prompt", "output", "impossible token"],
)
def test_what_utf_8_or_json_cannot_hold_is_read_back_all_the_same(event: events.Event, tmp_path: Path) -> None:
    with Trace(tmp_path / "trace.jsonl") as trace:
        trace.emit(event)
        trace.emit(ALL[12])
    assert list(read_trace(tmp_path / "trace.jsonl")) == [event, ALL[12]]


def test_a_full_disk_is_our_own_error_and_nothing_follows_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with Trace(path) as trace:
        trace.emit(ALL[12])
    code = f"""
import resource
from pathlib import Path
from mmerg.errors import RunError
from mmerg.runs.lines import Lines
resource.setrlimit(resource.RLIMIT_FSIZE, ({path.stat().st_size + 5}, resource.RLIM_INFINITY))
lines = Lines(Path({str(path)!r}))
for line in ("longer than five\\n", "x\\n"):
    try:
        lines.append(line)
    except RunError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
try:
    lines.append("there is room again\\n")
except RunError as error:
    print(error)
lines.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("the disk is full") == 3
    assert done.stdout.count(str(path)) == 3
    assert path.read_bytes().endswith(b"\nlonge")
    assert list(read_trace(path)) == [ALL[12]]


def test_a_trace_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").mkdir()
    with pytest.raises(RunError, match="cannot be written"):
        Trace(tmp_path / "trace.jsonl")


def test_cutting_reports_how_much_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    assert cut_torn(path) == 0
    path.write_bytes(b"one\n" + b"x" * 200_000)
    assert cut_torn(path) == 200_000
    assert path.read_bytes() == b"one\n"


def test_a_line_too_deep_to_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("[" * 200_000 + "\n", encoding="utf-8")
    with pytest.raises(RunError, match="line 1"):
        list(read_trace(path))
