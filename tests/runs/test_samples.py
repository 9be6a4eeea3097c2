"""The events of a sample: written as a whole, read back unchanged, in a file for any id."""

import os
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mmerg.backends.protocol import Completion, Finish, TokenLogprob
from mmerg.errors import Failure, RunError
from mmerg.frames.store import Frame
from mmerg.runs import events
from mmerg.runs.events import Verdict
from mmerg.runs.samples import SAMPLES, events_file, file_name, read_events, recording
from mmerg.systems.audit import to_audit
from tests.engine.parts import STAGES, audit, outputs

FRAME = Frame(sha256="0" * 64, source="c.mp4", time=0.5, width=64, height=48)
LOGPROBS = (TokenLogprob(token="ü", logprob=-0.25),)
COMPLETION = Completion(text="ü\u2028", finish=Finish.STOP, logprobs=LOGPROBS, prompt_tokens=3)
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
        completion=COMPLETION,
    ),
    events.Refused(sample="a", t=0, stage="mpa", attempt=0, failure=Failure.TRUNCATED, complaint="long"),
    events.Cleaned(sample="a", t=0, stage="sgrg", attempt=1, removed=("name", "the end of a long 'reason'")),
    events.Supplied(sample="a", t=0, stage="sgrg", symbol="M", content=({"reply": "r"},)),
    events.Produced.from_output("a", 0, "mpa", "E", outputs()["mpa"]),
    events.Produced.from_output("a", 0, "sgrg", "R", "hello"),
    events.Audited(
        sample="a",
        t=0,
        audit=to_audit(audit(dict.fromkeys(STAGES, False))),
        checks=(0, 0, 0, 0),
        fault="mpa",
    ),
    events.Unaudited(sample="a", t=1, failure=Failure.EMPTY, what="w"),
    events.PassLost(sample="a", t=1, failure=Failure.EMPTY, what="w"),
    events.LabelsRead(sample="a", t=0, stage="caef", logprobs={"joy": -0.5}, calibrated=True),
    events.Viewed(sample="a", t=1, stage="psp", view="labels", became="failed"),
    events.Rerun(sample="a", t=1, stage="mpa", reason="r", correction="c"),
    events.Selected(sample="a", t=0, ranks={0: (0, 0, 0, 0, 0)}, ended="unaudited"),
    events.Judged(sample="a", t=1, verdict=Verdict(aspect="empathy", round=1, order=(1, 0), repeat=0, seed=3)),
    events.SampleDone(sample="a"),
    events.SampleFailed(sample="a", failure=Failure.OOM, what="w", where="x", hint="h"),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / SAMPLES).mkdir()
    return tmp_path


def write(run: Path, *of_sample: events.Event, sample: str = "a") -> Path:
    with recording(run, sample) as emit:
        for event in of_sample:
            emit(event)
    return events_file(run, sample)


def test_every_kind_of_event_is_covered_here() -> None:
    kinds = {kind.__name__ for kind in get_args(get_args(events.Event)[0])}
    assert {type(event).__name__ for event in ALL} == kinds


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.kind)
def test_an_event_is_read_back_as_the_same_type_with_the_same_content(event: events.Event, run: Path) -> None:
    write(run, event, ALL[-1])
    assert read_events(run, "a") == [event, ALL[-1]]


@pytest.mark.parametrize("place", [0, 1, -1])
@pytest.mark.parametrize("times", [0, 2])
def test_a_missing_or_duplicated_line_is_an_error(run: Path, place: int, times: int) -> None:
    file = write(run, *ALL[:-1])
    lines = file.read_bytes().splitlines(keepends=True)
    lines[place] *= times
    file.write_bytes(b"".join(lines))
    with pytest.raises(RunError, match="a line is missing, duplicated or changed"):
        read_events(run, "a")


def test_a_finished_attempt_replaces_the_earlier(run: Path) -> None:
    write(run, *ALL)
    with recording(run, "a") as emit:
        emit(ALL[-1])
        assert read_events(run, "a") == ALL
    assert read_events(run, "a") == ALL[-1:]


def test_an_interrupted_attempt_changes_nothing(run: Path) -> None:
    write(run, *ALL)
    with suppress(KeyboardInterrupt), recording(run, "a") as emit:
        emit(ALL[0])
        raise KeyboardInterrupt
    assert read_events(run, "a") == ALL
    assert len(list((run / SAMPLES).iterdir())) == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"kind": "sample_done"}', "sample_done.sample: Field required"),
        (b'{"kind":"sample_done","sample":"b"}', "it belongs to sample 'b'"),
        (b"[" * 200_000, "recursion"),
        (b"\xff\xfe{}", "Invalid JSON"),
    ],
    ids=["field", "other sample", "deep", "not utf-8"],
)
def test_a_damaged_line_is_an_error(line: bytes, problem: str, run: Path) -> None:
    file = write(run, ALL[13])
    file.write_bytes(file.read_bytes() + line + b"\n")
    with pytest.raises(RunError, match="line 2 is not an event of this sample") as caught:
        read_events(run, "a")
    assert problem in caught.value.what
    assert caught.value.where == str(file)
    assert "run the same command again" in caught.value.hint


ODD = [
    *("a/1", "a", "A%2F1", "a%2F1", "..", ".", ".hidden", "-rf", "a b", "con", "a\nb", "\x00", "é", "e\u0301", "😀"),
    *("*", "?", "[a]", "\\", '"', "x" * 300, "x" * 301, "é" * 100, "é" * 101, "a.12345678.part", "~"),
]


def test_every_id_has_its_own_file(run: Path) -> None:
    for sample in ODD:
        write(run, events.SampleDone(sample=sample), sample=sample)
    names = sorted(path.name for path in (run / SAMPLES).iterdir())
    assert len(names) == len(ODD)
    assert all(not name.startswith(".") and len(os.fsencode(name)) <= 220 for name in names)
    for sample in ODD:
        [event] = read_events(run, sample)
        assert event.sample == sample


@given(st.lists(st.text(max_size=400), min_size=2, max_size=6, unique=True))
@example(["a" * 199, "a" * 200, "a" * 201])
@example(["Tea/2", "tea/2", "TEA/2"])
def test_two_ids_never_share_a_file(ids: list[str]) -> None:
    names = [file_name(one) for one in ids]
    assert len({name.lower() for name in names}) == len(names)
    assert all(name.isascii() and len(name) <= 220 and not set(name) & set("/\\\0*?") for name in names)


def test_a_file_that_cannot_be_written_is_a_run_error(run: Path) -> None:
    events_file(run, "a").mkdir()
    with pytest.raises(RunError, match="cannot write"):
        write(run, ALL[0])
    with pytest.raises(RunError, match="cannot write"):
        write(run / "nowhere", ALL[0])
    assert [path.name for path in (run / SAMPLES).iterdir()] == ["a.jsonl"]
