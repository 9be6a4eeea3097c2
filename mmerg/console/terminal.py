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
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.text import Text

from mmerg.errors import MmergError, did_you_mean

WRONG, INTERRUPTED = 2, 130
GOES_ON = "the same command resumes"  # said when a command was interrupted
STARTS_OVER = "the same command starts over"  # said of one that keeps nothing

# Control characters could steer the terminal, bidi controls could reorder what is read. Line feed and tab may stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors read as those of all commands."""

    def __init__(self, prog: str, description: str | None, **how: Any) -> None:
        by_name = sys.argv[0] if sys.argv[0].startswith("mmerg ") else ""
        super().__init__(by_name or prog, description=description, **how)

    def error(self, message: str) -> NoReturn:
        hint = ""
        if message.startswith("unrecognized arguments: -"):
            unknown = message.split()[2].partition("=")[0]
            message, hint = f"there is no option {unknown}", did_you_mean(unknown, self._option_string_actions)
        hint = hint or f"{self.prog} --help"
        sys.exit(_print_error(MmergError(message, where="command line", hint=hint)))


def commands() -> dict[str, str]:
    """The commands by name, each with the first line of its module's docstring."""
    lines = {}
    for file in sorted(Path(__file__).parents[1].glob("[!_]*.py")):
        source = file.read_text(encoding="utf-8")
        if "\ndef main(" in source:
            docs = ast.get_docstring(ast.parse(source)) or ""
            lines[file.stem.rstrip("_")] = docs.partition("\n")[0].partition(": `")[0].rstrip(".:")
    return lines


def printable(text: str) -> str:
    """Foreign text (transcripts, replies, file names) with control characters spelled out."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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
    """Keeps a run going whatever becomes of its output. A character that the terminal lacks is replaced. Where nobody
    reads on (`| head`, a full disk behind `>`) output stops and work goes on; `run_command` then says what was lost."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        sys.stdout = _Tolerant(out.buffer, out.encoding, out.errors, None, out.line_buffering, out.write_through)


class _Tolerant(io.TextIOWrapper):
    """Standard output that writes nothing more once a write failed. lost: the error, unless the reader went away."""

    lost: OSError | None = None

    def write(self, text: str) -> int:
        with self._silenced():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with self._silenced():
            super().flush()

    def raise_lost(self) -> None:
        """Raises MmergError where output was lost, and only once, as the rows of a sweep share the output."""
        self.flush()
        lost, self.lost = self.lost, None
        if lost:
            what = f"the output cannot be written: {lost.strerror or lost}"
            hint = "free disk space, or print elsewhere; the command's own files are complete"
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
    """Runs a command that was begun as `python -m mmerg.NAME`, and ends the process with its exit code."""
    tolerate_closed_output()
    sys.exit(main())


def handle_signals(*more: int) -> list[int]:
    """Lets SIGTERM and `more` signals do what Ctrl-C does. Later ones do nothing. The list gets all that came."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        if len(came) == 1:
            raise KeyboardInterrupt

    for number in (signal.SIGTERM, *more):
        signal.signal(number, interrupt)
    return came


def run_command(command: Callable[[], int], interrupted: str | None = GOES_ON) -> int:
    """Runs `command` and gives its exit code: 2 after an error of mmerg's, a path that the system refuses, or output
    that could not be written, all of which are printed; 130 after Ctrl-C, with `interrupted` as the text. Without one,
    KeyboardInterrupt is raised."""
    try:
        import fcntl  # noqa: F401 - what Windows lacks
    except ModuleNotFoundError:
        what, hint = "mmerg runs on Linux and macOS", "on Windows, install WSL (wsl --install) and use mmerg there"
        return _print_error(MmergError(what, where=sys.platform, hint=hint))
    try:
        code = command()
        if isinstance(sys.stdout, _Tolerant):
            sys.stdout.raise_lost()
    except MmergError as error:
        return _print_error(error)
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.EACCES):
            raise
        what, hint = f"a path cannot be used: {error.strerror}", "use another path, or fix its permissions"
        return _print_error(MmergError(what, where=f"{error.filename!s:.300}", hint=hint))
    except KeyboardInterrupt:
        if interrupted is None:
            raise
        print(f"interrupted; {interrupted}", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    return code


def _print_error(error: MmergError) -> int:
    """Prints the error, and gives the exit code."""
    print(printable(f"error: {error}"), file=sys.stderr)  # noqa: T201
    return WRONG
