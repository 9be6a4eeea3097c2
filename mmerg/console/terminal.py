"""How commands speak: errors as what, where and next on stderr; foreign text escaped; fixed width when piped."""

import argparse
import ast
import errno
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.text import Text

from mmerg.errors import MmergError

WRONG, INTERRUPTED = 2, 130
STARTS_OVER = "the same command starts over"  # what an interrupted command says that has nothing to go on from

# Control characters could steer the terminal, bidi controls could reorder what is read. Line feed and tab may stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Parser(argparse.ArgumentParser):
    """Its errors show what was typed with control characters spelled out."""

    def __init__(self, prog: str, description: str | None, **how: Any) -> None:
        by_name = sys.argv[0] if sys.argv[0].startswith("mmerg ") else ""
        super().__init__(by_name or prog, description=description, **how)

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def commands() -> dict[str, str]:
    """The commands, each with the first words of its module at the top of the package."""
    found = {}
    for file in sorted(Path(__file__).parents[1].glob("[!_]*.py")):
        source = file.read_text(encoding="utf-8")
        if "\ndef main(" in source:
            docs = ast.get_docstring(ast.parse(source)) or ""
            found[file.stem.rstrip("_")] = docs.partition("\n")[0].partition(": `")[0].rstrip(".:")
    return found


def printable(text: str) -> str:
    """Foreign text (transcripts, replies, file names) with control characters spelled out."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escape(text: str) -> Text:
    """Foreign text for a console: no markup, no control characters."""
    return Text(printable(text))


def plural(count: int, noun: str) -> str:
    """A count with its noun: 1 sample, 2 samples."""
    return f"{count} {noun}{'s' * (count != 1)}"


def console() -> Console:
    """Where tables go. Piped output gets a fixed width, so that it reads the same everywhere."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=120)


def tolerate_closed_output() -> None:
    """Let no display end a run: what a terminal cannot show is replaced, and where nobody reads on (`| head`, a full
    disk behind `>`) output stops and work goes on; `run_command` then says what could not be written."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        sys.stdout = _Tolerant(out.buffer, out.encoding, out.errors, line_buffering=out.line_buffering)


class _Tolerant(io.TextIOWrapper):
    """Standard output that falls silent when it can no longer be written to. lost: why, where somebody still reads."""

    lost: OSError | None = None

    def write(self, text: str) -> int:
        with self._silenced():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with self._silenced():
            super().flush()

    def raise_lost(self) -> None:
        """Raises MmergError where some of it was lost; once, as the members of a sweep share the output."""
        self.flush()
        lost, self.lost = self.lost, None
        if lost:
            what = f"the output cannot be written: {lost.strerror or lost}"
            hint = "make room, or print elsewhere; files that the command writes itself are whole"
            raise MmergError(what, where="standard output", hint=hint)

    @contextmanager
    def _silenced(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.lost = None if isinstance(error, BrokenPipeError) else error
            # What is still buffered would fail again when the interpreter ends; from here on all is swallowed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


def start(main: Callable[[], int]) -> NoReturn:
    """What a command does that was begun as `python -m mmerg.NAME`."""
    tolerate_closed_output()
    sys.exit(main())


def end_in_good_order(*more: int) -> list[int]:
    """SIGTERM, and `more` signals, do what Ctrl-C does, but only the first of them. The list holds those that came."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        if len(came) == 1:
            raise KeyboardInterrupt

    for number in (signal.SIGTERM, *more):
        signal.signal(number, interrupt)
    return came


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that ask the process to end wait for the end of the block. An error of the block comes before them."""
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2)  # the last is submitit's
    before = {number: signal.signal(number, lambda which, _: came.append(which)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    with ExitStack() as left:
        for which in came:
            left.callback(signal.raise_signal, which)


def run_command(command: Callable[[], int], interrupted: str = "the same command goes on from here") -> int:
    """The exit code of `command`. Our own errors, a path that the system refuses, and output that could not be written,
    which only the end shows, are printed and give 2; Ctrl-C gives 130 and says what is left."""
    try:
        code = command()
        if isinstance(sys.stdout, _Tolerant):
            sys.stdout.raise_lost()
    except MmergError as error:
        told = error
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.EACCES):
            raise
        what, hint = f"a path cannot be used: {error.strerror}", "give another, or one that you may open"
        told = MmergError(what, where=f"{error.filename!s:.300}", hint=hint)
    except KeyboardInterrupt:
        print(f"interrupted; {interrupted}", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    else:
        return code
    print(printable(f"error: {told}"), file=sys.stderr)  # noqa: T201
    return WRONG
