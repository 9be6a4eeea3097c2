"""Serves systems to the browser and to chat programs: `mmerg serve system=merg backbone=qwen2.5vl-7b`.

Prints the address of the page. Chat programs use the same address as an Ollama server, or with /v1 as OpenAI's API.
Every system that has its inputs is a model: mmerg-merg, mmerg-one_pass, …
Exit code 2 configuration wrong or no server answers, 130 interrupted, which is the normal end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmerg.console.terminal import start
from mmerg.experiment.program import run_program

if TYPE_CHECKING:
    from mmerg.settings.commands import ServeSettings

CHATS = "chats stay in the browsers that hold them"


def job(settings: ServeSettings) -> int:
    from mmerg.serving.launch import serve  # only once there is something to serve: --help stays quick
    from mmerg.settings.parse import get_user_folders, task_overrides

    return serve(settings, task_overrides(), get_user_folders())


def main() -> int:
    return run_program("serve", job, __doc__, interrupted=CHATS)


if __name__ == "__main__":
    start(main)
