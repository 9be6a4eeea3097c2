import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auditing.parts import answers, corpus, finds_all, run
from tests.engine.parts import ROOT
from tests.scripted_ollama import ScriptedOllama, scripted_ollama


@pytest.fixture(scope="package")
def server() -> Iterator[ScriptedOllama]:
    """Its auditor finds all that is planted."""
    with scripted_ollama(answer=answers(finds_all)) as made:
        yield made


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory, server: ScriptedOllama) -> Path:
    """A run of MERG, whose templates are a copy in templates/ beside runs/."""
    folder = tmp_path_factory.mktemp("made")
    corpus(folder / "data")
    shutil.copytree(ROOT / "mmerg/systems/merg/prompts", folder / "templates")
    return run(folder, server.url, f"system.prompts={folder}/templates")


@pytest.fixture
def path(made: Path) -> Iterator[Path]:
    """A copy of that run, which a test may change, as the one beside it whose cache it has."""
    copy = made.with_name("copy")
    shutil.copytree(made, copy)
    yield copy
    shutil.rmtree(copy)
