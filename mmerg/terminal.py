"""How commands speak: errors as what, where and next on stderr; output that wraps nowhere when it is piped."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.console import Console

from mmerg.errors import MmergError

WRONG, INTERRUPTED = 2, 130


def console() -> Console:
    """Where tables go. Piped output gets a fixed width, so that it reads the same everywhere."""
    made = Console(highlight=False, soft_wrap=False)
    return made if made.is_terminal else Console(highlight=False, width=120)


def guarded(command: Callable[[], int]) -> int:
    """The exit code of `command`; our own errors are printed and give 2, Ctrl-C gives 130."""
    try:
        return command()
    except MmergError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return WRONG
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
