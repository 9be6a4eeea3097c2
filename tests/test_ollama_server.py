"""The fixtures for a real server: without a binary tests skip, or fail where one is required."""

import time
from pathlib import Path

import pytest

from tests.ollama_server import find_binary, start_server_and_die, version_at
from tests.processes import start


@pytest.mark.parametrize(("required", "end"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_a_missing_binary(monkeypatch: pytest.MonkeyPatch, required: str, end: type[BaseException]) -> None:
    monkeypatch.setenv("MMERG_OLLAMA", "/nowhere/ollama")
    monkeypatch.setenv("MMERG_REQUIRE_OLLAMA", required)
    with pytest.raises(end, match=r"no ollama binary .*tools/get_ollama\.py gets one"):
        find_binary()


def test_a_server_ends_with_the_tests_that_started_it_even_if_they_are_killed(
    ollama_binary: Path, tmp_path: Path
) -> None:
    _, sent = start(start_server_and_die, ollama_binary, tmp_path)
    host = sent.recv()
    while version_at(host):  # or the time limit of tests
        time.sleep(0.02)
