from pathlib import Path

import pytest

from tests.papertables.maker import Candidates, Maker


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


@pytest.fixture(scope="session")
def candidate(tmp_path_factory: pytest.TempPathFactory) -> Candidates:
    return Candidates(tmp_path_factory.mktemp("candidates"))
