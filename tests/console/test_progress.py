"""What a run says while it works, as plain lines and on a terminal."""

import re
import time
from io import StringIO

from rich.console import Console

from mmerg.backends.protocol import Finish, Reply
from mmerg.console.progress import Bar, Progress
from mmerg.errors import Failure
from mmerg.runs.events import Called, FramesTaken, SampleStarted
from mmerg.runs.result import Result

LINE = re.compile(
    r"(?P<ended>\d+)/(?P<total>\d+) samples? · (?P<failed>\d+) failed · (?P<flying>\d+) in flight · "
    r"(?P<calls>\d+) calls?(?: \((?P<cached>\d+) cached\))? · (?P<rate>\d+) tokens/s(?: · [\d:]+ left)?"
)


class Watched:
    """A Progress that writes to text, and what happens in a run."""

    def __init__(self, total: int, kept: int = 0, *, terminal: bool = False, interval: float = 3600) -> None:
        self.out = StringIO()
        console = Console(file=self.out, force_terminal=terminal, width=160)
        self.progress = Progress(console, total, kept, interval=interval)

    def start(self, sample: str) -> None:
        started = SampleStarted(sample=sample, dialogue="d", history=(), responder="Ana", labels=())
        self.progress.event(started)
        self.progress.event(FramesTaken(sample=sample, form="none", turns=()))

    def call(self, sample: str, *, cached: bool = False) -> None:
        reply = Reply(text="a b", finish=Finish.STOP, response_tokens=2, cached=cached)
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
            reply=reply,
        )
        self.progress.event(event)

    def end(self, sample: str, failure: Failure | None = None) -> None:
        self.progress.result(Result(id=sample, status="failed" if failure else "ok", failure=failure))

    @property
    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()

    def last(self, *names: str) -> list[int]:
        """Numbers of the last line."""
        counts = LINE.fullmatch(self.lines[-1])
        assert counts, self.lines
        return [int(counts[name] or 0) for name in names]


def test_a_line_each_time_a_sample_ends() -> None:
    run = Watched(3)
    with run.progress:
        run.start("a")
        run.start("b")
        run.call("a")
        run.call("b", cached=True)
        assert run.last("ended", "total", "flying") == [0, 3, 0]  # at once
        assert "left" not in run.lines[0]
        run.end("a")
        assert run.last("ended", "total", "failed", "flying", "calls", "cached") == [1, 3, 0, 1, 2, 1]
        run.end("b", Failure.TIMEOUT)
        assert run.last("ended", "total", "failed", "flying", "calls", "cached") == [2, 3, 1, 0, 2, 1]
        run.start("c")
        run.call("c")
        run.end("c")
        assert run.last("ended", "total", "failed", "flying", "calls", "cached") == [3, 3, 1, 0, 3, 1]
    assert len(run.lines) == 4
    assert run.lines[-1].endswith("0:00 left")


def test_a_long_call_leaves_no_silence() -> None:
    watched = Watched(2, interval=0.01)
    with watched.progress:
        watched.start("a")
        while len(watched.lines) < 4:
            time.sleep(0.01)
    assert watched.last("ended", "flying") == [0, 1]


def test_a_terminal_gets_one_line_that_is_redrawn() -> None:
    run = Watched(2, terminal=True)
    with run.progress:
        run.start("a")
        run.call("a")
        run.end("a")
        run.start("b")
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", run.out.getvalue())
    assert [(match["ended"], match["flying"]) for match in LINE.finditer(shown)][-1] == ("1", "1")
    assert "\n" not in shown.strip()


def bar(terminal: bool, interval: float) -> str:
    file = StringIO()
    with Bar(Console(file=file, force_terminal=terminal, width=100), "clips", interval) as shown:
        for done in range(1, 4):
            shown.report(done, 3)
    return file.getvalue()


def test_a_bar_on_a_terminal_and_plain_lines_elsewhere_when_their_time_has_come() -> None:
    assert "3/3" in bar(terminal=True, interval=0)
    assert bar(terminal=False, interval=0) == "clips: 1 of 3\nclips: 2 of 3\n"
    assert bar(terminal=False, interval=3600) == "clips: 1 of 3\n"
