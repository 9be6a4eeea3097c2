"""Clips that many tests share, and an empty frame store."""

from pathlib import Path

import pytest

from mmerg.frames.store import FrameStore
from tests.frames.clips import numbered


@pytest.fixture(scope="session")
def clip100(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return numbered(tmp_path_factory.mktemp("clips") / "clip100.mp4", 100)


@pytest.fixture(scope="session")
def clip30_avi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes an avi of single JPEGs."""
    return numbered(tmp_path_factory.mktemp("clips") / "clip30.avi", 30, "MJPG")


@pytest.fixture
def store(tmp_path: Path) -> FrameStore:
    return FrameStore(tmp_path / "frames")
