"""The output and exit codes of commands: errors with their place and remedy, escaped texts, a fixed width in pipes."""

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

from mmerg.errors import MmergError, make_write_error

EXIT_ERROR, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 2, 130, 141
RESUMES = "the same command resumes"  # printed after an interruption
STARTS_OVER = "the same command starts over"  # printed if the command keeps no results

# Control characters could steer the terminal, and bidi controls reorder text. Line feed and tab stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Parser(argparse.ArgumentParser):
    """An argument parser that prints errors like all commands."""

    def __init__(self, prog: str, description: str | None, **options: Any) -> None:
        command = sys.argv[0] if sys.argv[0].startswith("mmerg ") else prog
        super().__init__(command, description=description, **options)

    def error(self, message: str) -> NoReturn:
        sys.exit(_print_error(MmergError(message, where="command line", hint=f"{self.prog} --help")))


def list_commands() -> dict[str, str]:
    """Returns the first line of the docstring of each command's module, by the name of the command."""
    lines = {}
    for file in sorted(Path(__file__).parents[1].glob("[!_]*.py")):
        source = file.read_text(encoding="utf-8")
        if "\ndef main(" in source:
            docs = ast.get_docstring(ast.parse(source)) or ""
            lines[file.stem.rstrip("_")] = docs.partition("\n")[0].partition(": `")[0].rstrip(".:")
    return lines


def printable(text: str) -> str:
    """Escapes control characters in a text that mmerg did not write: a transcript, a reply or a file name."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape(text: str) -> Text:
    """Makes such a text safe for a console: its markup is literal, and its control characters are escaped."""
    return Text(printable(text))


def plural(count: int, noun: str) -> str:
    """Formats a count with its noun: "1 sample", "2 samples"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def console() -> Console:
    """Returns the console for tables. Piped output has a fixed width, so that it is the same everywhere."""
    terminal = _Console(highlight=False)
    return terminal if terminal.is_terminal else _Console(highlight=False, width=120)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # `run_command` handles it; rich would exit with code 1


def replace_unprintable() -> None:
    """Makes the streams print ? for a character that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def start(main: Callable[[], int]) -> NoReturn:
    """Runs the command of `python -m mmerg.NAME` and exits with its code."""
    replace_unprintable()
    sys.exit(main())


def handle_signals(*more: int) -> list[int]:
    """Makes the first SIGTERM or `more` signal act like Ctrl-C. Returns a list that gets all signals that arrive."""
    received: list[int] = []

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        if len(received) == 1:
            raise KeyboardInterrupt

    for number in (signal.SIGTERM, *more):
        signal.signal(number, interrupt)
    return received


def run_command(command: Callable[[], int], interrupted: str | None = RESUMES) -> int:
    """Runs `command` and returns its exit code.

    The code is 2 after an error that users can cause, which is printed; 130 after Ctrl-C; and 141 if the output is no
    longer read, as after `| head`. After Ctrl-C it prints `interrupted`, or raises KeyboardInterrupt if that is None.
    """
    try:
        _refuse_windows()
        code = command()
        sys.stdout.flush()
    except MmergError as error:
        return _print_error(error)
    except BrokenPipeError:
        _drop_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if explained := _explain_os_error(error):
            return _print_error(explained)
        raise
    except KeyboardInterrupt:
        if interrupted is None:
            raise
        print(f"interrupted; {interrupted}", file=sys.stderr)  # noqa: T201
        return EXIT_INTERRUPTED
    return code


def _refuse_windows() -> None:
    try:
        import fcntl  # noqa: F401 - Windows lacks it
    except ModuleNotFoundError as error:
        what, hint = "mmerg runs on Linux and macOS", "on Windows, install WSL (wsl --install) and use mmerg there"
        raise MmergError(what, where=sys.platform, hint=hint) from error


def _explain_os_error(error: OSError) -> MmergError | None:
    """Returns the error to print if users can cause it, None for a bug. Writers of files raise RunError instead."""
    if error.errno in (errno.ENAMETOOLONG, errno.EACCES):
        what, hint = f"a path cannot be used: {error.strerror}", "use another path, or fix its permissions"
        return MmergError(what, where=f"{error.filename!s:.300}", hint=hint)
    if error.errno in (errno.ENOSPC, errno.EDQUOT) and not error.filename:
        _drop_output()
        return make_write_error(error, "standard output")
    return None


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes the rest of the output at exit


def _print_error(error: MmergError) -> int:
    print(printable(f"error: {error}"), file=sys.stderr)  # noqa: T201
    return EXIT_ERROR
