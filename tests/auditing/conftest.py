from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auditing.parts import answers, corpus, finds_all, run
from tests.scripted_ollama import ScriptedOllama, scripted_ollama


@pytest.fixture(scope="package")
def server() -> Iterator[ScriptedOllama]:
    """Its auditor finds all that is planted."""
    with scripted_ollama(answer=answers(finds_all)) as made:
        yield made


@pytest.fixture
def made(tmp_path: Path, server: ScriptedOllama) -> Path:
    """A run of MERG."""
    corpus(tmp_path / "data")
    return run(tmp_path, server.url)
