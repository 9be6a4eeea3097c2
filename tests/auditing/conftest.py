import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auditing.parts import answer_with, corpus, find_all, run
from tests.engine.parts import ROOT
from tests.scripted_ollama import ScriptedOllama, scripted_ollama


@pytest.fixture(scope="package")
def server() -> Iterator[ScriptedOllama]:
    """Runs a server whose auditor finds every planted fault."""
    with scripted_ollama(answer=answer_with(find_all)) as server:
        yield server


@pytest.fixture(scope="package")
def finished_run(tmp_path_factory: pytest.TempPathFactory, server: ScriptedOllama) -> Path:
    """Makes a run of MERG with a copy of its templates in templates/, beside runs/."""
    folder = tmp_path_factory.mktemp("made")
    corpus(folder / "data")
    shutil.copytree(ROOT / "mmerg/systems/merg/prompts", folder / "templates")
    return run(folder, server.url, f"system.prompts={folder}/templates")


@pytest.fixture
def path(finished_run: Path) -> Iterator[Path]:
    """Copies that run, which a test may change; it has the same completion cache."""
    copy = finished_run.with_name("copy")
    shutil.copytree(finished_run, copy)
    yield copy
    shutil.rmtree(copy)
