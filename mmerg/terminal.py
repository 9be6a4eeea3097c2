"""How commands speak: errors as what, where and next on stderr; foreign text made harmless; fixed width when piped."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from mmerg.errors import MmergError

WRONG, INTERRUPTED = 2, 130

# Control characters could steer the terminal, bidi controls could reorder what is read. Line feed and tab may stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    """Foreign text (transcripts, replies, file names) with control characters spelled out."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def harmless(text: str) -> Text:
    """Foreign text for a console: no markup, no control characters."""
    return Text(shown(text))


def console() -> Console:
    """Where tables go. Piped output gets a fixed width, so that it reads the same everywhere."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=120)


def guarded(command: Callable[[], int]) -> int:
    """The exit code of `command`; our own errors are printed and give 2, Ctrl-C gives 130."""
    try:
        return command()
    except MmergError as error:
        print(shown(f"error: {error}"), file=sys.stderr)  # noqa: T201
        return WRONG
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
