"""Real clips that the tests share."""

from pathlib import Path

import pytest

from tests.frames.clips import numbered


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds."""
    return numbered(tmp_path_factory.mktemp("clips") / "clip.mp4", 50)


@pytest.fixture(scope="session")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen seconds."""
    return numbered(tmp_path_factory.mktemp("clips") / "long.mp4", 400)
