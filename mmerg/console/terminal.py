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
from typing import Any, NoReturn, TextIO

from rich.console import Console
from rich.text import Text

from mmerg.errors import MmergError

WRONG, INTERRUPTED = 2, 130
STARTS_OVER = "the same command starts over"  # what an interrupted command says that has nothing to go on from

# Control characters could steer the terminal, bidi controls could reorder what is read. Line feed and tab may stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Parser(argparse.ArgumentParser):
    """Its errors show what was typed with control characters spelled out. prog: what the command is called, unless it
    was begun as `mmerg NAME`."""

    def __init__(self, prog: str, description: str | None, **how: Any) -> None:
        by_name = sys.argv[0] if sys.argv[0].startswith("mmerg ") else ""
        super().__init__(by_name or prog, description=description, **how)

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


class Swept(SystemExit):
    """All members have ended, or one was interrupted; `worst` is the exit code of the whole."""

    def __init__(self, worst: int) -> None:
        super().__init__(worst)
        self.worst = worst


def commands() -> dict[str, str]:
    """The modules at the top of the package that have a `main`, each with the first line of what it says of itself;
    that of `import`, which is a word of Python's, is `import_`."""
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
    if sys.stdout is not None:  # `>&-`
        sys.stdout = _Tolerant(sys.stdout)


class _Tolerant(io.TextIOBase):
    """A text stream that falls silent when it can no longer be written to."""

    def __init__(self, stream: TextIO) -> None:
        self._lost: OSError | None = None
        self._said = False
        self._stream = stream
        self.fileno, self.isatty = stream.fileno, stream.isatty  # type: ignore[method-assign]

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def lost(self) -> bool:
        """Whether some of it was lost, though somebody reads on; said once, as a sweep's members share it."""
        self.flush()
        if self._lost and not self._said:
            self._said = True
            what = f"the output cannot be written: {self._lost.strerror or self._lost}"
            hint = "make room, or print elsewhere; files that the command writes itself are whole"
            print(f"error: {MmergError(what, where='standard output', hint=hint)}", file=sys.stderr)  # noqa: T201
        return self._lost is not None

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            self._lost = None if isinstance(error, BrokenPipeError) else error
            # What is still buffered would fail again when the interpreter ends; from here on all is swallowed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def start(main: Callable[[], int]) -> NoReturn:
    """What a command does that was begun as `python -m mmerg.NAME`."""
    tolerate_closed_output()
    sys.exit(main())


def end_in_good_order(*more: int) -> list[int]:
    """Have SIGTERM, and `more` signals, do what Ctrl-C does, once: what is then put in order is not broken off by
    another. The list holds those that came."""
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
    """What asks the process to end waits for the end of the block, which must not be done by half. An error of its own
    comes before that."""
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
    """The exit code of `command`; our own errors, and a path that the system refuses, are printed and give 2, Ctrl-C
    gives 130 and says what is left. Where what it printed could not be written, which only the end shows, this is said
    and gives 2."""
    try:
        code = command()
        return WRONG if isinstance(sys.stdout, _Tolerant) and sys.stdout.lost() else code
    except MmergError as error:
        print(printable(f"error: {error}"), file=sys.stderr)  # noqa: T201
        return WRONG
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.EACCES):
            raise
        what, hint = f"a path cannot be used: {error.strerror}", "give another, or one that you may open"
        print(printable(f"error: {MmergError(what, where=f'{error.filename!s:.300}', hint=hint)}"), file=sys.stderr)  # noqa: T201
        return WRONG
    except KeyboardInterrupt:
        print(f"interrupted; {interrupted}", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
