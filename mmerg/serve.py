"""Serves systems to chat programs and to the browser: `python -m mmerg.serve system=merg backbone=qwen2.5vl-7b`.

Prints the address of the page; chat programs take the same address as an Ollama server, or with /v1 as OpenAI's API.
Every system whose inputs are there is a model: mmerg-merg, mmerg-one_pass, …
Exit code 2 configuration wrong or no server answers, 130 interrupted, as it ends otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from mmerg.console.terminal import run_command, start
from mmerg.settings.command import composing, read_line

if TYPE_CHECKING:
    from mmerg.settings.model import ServeSettings

CHATS = "chats that were not saved are gone"


def main() -> int:
    """The command."""

    def job(settings: Callable[[], ServeSettings]) -> int:
        from mmerg.serving.launch import serve  # only once there is something to serve: --help stays quick

        return run_command(lambda: serve(settings(), read_line(sys.argv[1:])), CHATS)

    return run_command(lambda: composing(job, "serve", __doc__, sys.argv[1:]), CHATS)


if __name__ == "__main__":
    start(main)
