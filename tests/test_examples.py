"""The examples in docs/ run unchanged."""

import subprocess
import sys
from pathlib import Path

from mmerg.backends.scripted import Scripted
from mmerg.corpora.folder import demo_root
from tests.serving.running import running
from tests.serving.scripts import blaming

EXAMPLES = Path(__file__).parents[1] / "docs/examples"
SAID = "I got the job!\nBut I have to move.\n"


def run_example(name: str, *arguments: object) -> list[str]:
    """The lines that an example prints for the input `SAID`."""
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    return subprocess.run(command, input=SAID, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def test_the_robot_example_prints_a_reply_for_each_line() -> None:
    lines = run_example("robot.py", demo_root() / "fine_1.mp4", "backend=dry")
    assert [line.partition("] ")[2] for line in lines] == ["This is a dry run."] * 2


def test_the_openai_example_prints_the_reply_and_the_audit() -> None:
    with running(Scripted(blaming("psp"))) as server:
        first, about, *_ = run_example("openai_sdk.py", f"{server.url}/v1")
    assert first == "This is a dry run."
    assert "passes: 2" in about
    assert "'goal':" in about
