"""The fixtures for a real server: without a binary tests skip, or fail where one is required."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.parts import ROOT
from tests.ollama_server import answers, find_binary


@pytest.mark.parametrize(("required", "end"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_a_missing_binary(monkeypatch: pytest.MonkeyPatch, required: str, end: type[BaseException]) -> None:
    monkeypatch.setenv("MMERG_OLLAMA", "/nowhere/ollama")
    monkeypatch.setenv("MMERG_REQUIRE_OLLAMA", required)
    with pytest.raises(end, match=r"no ollama binary .*tools/get_ollama\.py gets one"):
        find_binary()


def test_a_server_ends_with_the_tests_that_started_it_even_if_they_are_killed(
    ollama_binary: Path, tmp_path: Path
) -> None:
    program = "import os, pathlib, signal, sys; from tests.ollama_server import start_server; "
    program += (
        "print(start_server(*map(pathlib.Path, sys.argv[1:])).host, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", program, str(ollama_binary), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    address = done.stdout.strip().removeprefix("http://")
    assert address, done.stderr
    while answers(address):  # or the time limit of tests
        time.sleep(0.02)
