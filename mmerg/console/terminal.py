"""Output and exit codes of commands: errors with what, where and next; escaped foreign text; a fixed width in pipes."""

import argparse
import ast
import errno
import io
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.text import Text

from mmerg.errors import MmergError, write_error

WRONG, INTERRUPTED, CLOSED = 2, 130, 141  # exit codes
GOES_ON = "the same command resumes"  # printed after an interruption
STARTS_OVER = "the same command starts over"  # for a command that keeps nothing

# Control characters could steer the terminal, and bidi controls reorder text. Line feed and tab stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Parser(argparse.ArgumentParser):
    """An argument parser that prints errors as all commands do."""

    def __init__(self, prog: str, description: str | None, **how: Any) -> None:
        by_name = sys.argv[0] if sys.argv[0].startswith("mmerg ") else ""
        super().__init__(by_name or prog, description=description, **how)

    def error(self, message: str) -> NoReturn:
        sys.exit(_print_error(MmergError(message, where="command line", hint=f"{self.prog} --help")))


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
    """Escapes control characters in foreign text: transcripts, replies, file names."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape(text: str) -> Text:
    """Foreign text for a console, without markup and control characters."""
    return Text(printable(text))


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 sample", "2 samples"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def console() -> Console:
    """The console for tables. Piped output has a fixed width, so it is the same everywhere."""
    made = _Console(highlight=False)
    return made if made.is_terminal else _Console(highlight=False, width=120)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # for `run_command`; rich would exit with code 1


def replace_unprintable() -> None:
    """Prints ? for a character that the terminal lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def start(main: Callable[[], int]) -> NoReturn:
    """Runs the command of `python -m mmerg.NAME`, and exits with its code."""
    replace_unprintable()
    sys.exit(main())


def handle_signals(*more: int) -> list[int]:
    """Makes SIGTERM and `more` signals do what Ctrl-C does. Later ones do nothing. The returned list gets all signals
    that arrive."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        if len(came) == 1:
            raise KeyboardInterrupt

    for number in (signal.SIGTERM, *more):
        signal.signal(number, interrupt)
    return came


def run_command(command: Callable[[], int], interrupted: str | None = GOES_ON) -> int:
    """Runs `command` and returns its exit code: 2 after an error that users can cause, which it prints; 130 after
    Ctrl-C, when it prints `interrupted`, or raises KeyboardInterrupt if that is None; 141 if nobody reads the output
    any more, as after `| head`."""
    try:
        _refuse_windows()
        code = command()
        sys.stdout.flush()
    except MmergError as error:
        return _print_error(error)
    except BrokenPipeError:
        _drop_output()
        return CLOSED
    except OSError as error:
        if known := _explain(error):
            return _print_error(known)
        raise
    except KeyboardInterrupt:
        if interrupted is None:
            raise
        print(f"interrupted; {interrupted}", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    return code


def _refuse_windows() -> None:
    try:
        import fcntl  # noqa: F401 - Windows lacks it
    except ModuleNotFoundError as error:
        what, hint = "mmerg runs on Linux and macOS", "on Windows, install WSL (wsl --install) and use mmerg there"
        raise MmergError(what, where=sys.platform, hint=hint) from error


def _explain(error: OSError) -> MmergError | None:
    """The error for what users can cause; None for a bug. Files that mmerg writes raise RunError instead."""
    if error.errno in (errno.ENAMETOOLONG, errno.EACCES):
        what, hint = f"a path cannot be used: {error.strerror}", "use another path, or fix its permissions"
        return MmergError(what, where=f"{error.filename!s:.300}", hint=hint)
    if error.filename:
        return None
    if isinstance(error, FileNotFoundError):  # of os.getcwd
        return MmergError("the working directory was removed", where="command line", hint="cd to a folder that exists")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        _drop_output()
        return write_error(error, "standard output")
    return None


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes the rest of the output at exit


def _print_error(error: MmergError) -> int:
    print(printable(f"error: {error}"), file=sys.stderr)  # noqa: T201
    return WRONG
