from pathlib import Path

import pytest

from tests.papertables.maker import Maker


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path)
