"""The progress of a run as plain lines, and on a terminal."""

import re
import time
from io import StringIO

from rich.console import Console

from mmerg.backends.protocol import Completion, Finish
from mmerg.console.progress import Bar, Progress
from mmerg.errors import Failure
from mmerg.runs.events import Called, FramesTaken, SampleStarted
from mmerg.runs.result import Result

LINE = re.compile(
    r"(?P<ended>\d+)/(?P<total>\d+) samples? · (?P<failed>\d+) failed · (?P<in_flight>\d+) in flight · "
    r"(?P<calls>\d+) calls?(?: \((?P<cached>\d+) cached\))? · (?P<rate>\d+) tokens/s(?: · [\d:]+ left)?"
)


class ObservedRun:
    """The events of a run, and a Progress that writes them to a text."""

    def __init__(self, total: int, kept: int = 0, *, terminal: bool = False, interval: float = 3600) -> None:
        self.out = StringIO()
        console = Console(file=self.out, force_terminal=terminal, width=160)
        self.progress = Progress(console, total, kept, interval=interval)

    def start(self, sample: str) -> None:
        started = SampleStarted(sample=sample, dialogue="d", history=(), responder="Ana", labels=())
        self.progress.event(started)
        self.progress.event(FramesTaken(sample=sample, form="none", turns=()))

    def call(self, sample: str, *, cached: bool = False) -> None:
        completion = Completion(text="a b", finish=Finish.STOP, response_tokens=2, cached=cached)
        event = Called(
            sample=sample,
            t=0,
            stage="mpa",
            attempt=0,
            digest="",
            messages=(),
            answer_schema="",
            sampling={},
            logprobs=False,
            completion=completion,
        )
        self.progress.event(event)

    def end(self, sample: str, failure: Failure | None = None) -> None:
        self.progress.result(Result(id=sample, status="failed" if failure else "ok", failure=failure))

    @property
    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()

    def last(self, *names: str) -> list[int]:
        """The numbers with these names in the last line."""
        counts = LINE.fullmatch(self.lines[-1])
        assert counts, self.lines
        return [int(counts[name] or 0) for name in names]


def test_a_line_is_printed_when_a_sample_ends() -> None:
    run = ObservedRun(3)
    with run.progress:
        run.start("a")
        run.start("b")
        run.call("a")
        run.call("b", cached=True)
        assert run.last("ended", "total", "in_flight") == [0, 3, 0]  # the first line comes at once
        assert "left" not in run.lines[0]
        run.end("a")
        assert run.last("ended", "total", "failed", "in_flight", "calls", "cached") == [1, 3, 0, 1, 2, 1]
        run.end("b", Failure.TIMEOUT)
        assert run.last("ended", "total", "failed", "in_flight", "calls", "cached") == [2, 3, 1, 0, 2, 1]
        run.start("c")
        run.call("c")
        run.end("c")
        assert run.last("ended", "total", "failed", "in_flight", "calls", "cached") == [3, 3, 1, 0, 3, 1]
    assert len(run.lines) == 4
    assert run.lines[-1].endswith("0:00 left")


def test_lines_are_printed_during_a_long_call() -> None:
    run = ObservedRun(2, interval=0.01)
    with run.progress:
        run.start("a")
        while len(run.lines) < 4:
            time.sleep(0.01)
    assert run.last("ended", "in_flight") == [0, 1]


def test_a_terminal_shows_one_line_that_is_redrawn() -> None:
    run = ObservedRun(2, terminal=True)
    with run.progress:
        run.start("a")
        run.call("a")
        run.end("a")
        run.start("b")
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", run.out.getvalue())
    assert [(match["ended"], match["in_flight"]) for match in LINE.finditer(shown)][-1] == ("1", "1")
    assert "\n" not in shown.strip()


def print_bar(terminal: bool, interval: float) -> str:
    file = StringIO()
    with Bar(Console(file=file, force_terminal=terminal, width=100), "clips", interval) as shown:
        for done in range(1, 4):
            shown.report(done, 3)
    return file.getvalue()


def test_a_bar_is_drawn_on_a_terminal_and_plain_lines_elsewhere() -> None:
    assert "3/3" in print_bar(terminal=True, interval=0)
    assert print_bar(terminal=False, interval=0) == "clips: 1 of 3\nclips: 2 of 3\n"
    assert print_bar(terminal=False, interval=3600) == "clips: 1 of 3\n"
