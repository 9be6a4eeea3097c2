"""The run that jobs' runs are held against."""

from dataclasses import dataclass

import pytest

from tests.jobs.cluster import without_manifest
from tests.scripted_ollama import scripted_ollama
from tests.test_run import Runner, corpus_in


@dataclass(frozen=True)
class Plain:
    """What a run in one process holds, and how many calls it takes."""

    held: dict[str, object]
    calls: int


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    folder = tmp_path_factory.mktemp("plain")
    with scripted_ollama() as server:
        run = Runner(corpus_in(folder), folder / "runs", server.url)
        assert run("memory=none", "cache=off").returncode == 0
        return Plain(without_manifest(run.folder()), server.calls)
