"""Clips that many tests share, and an empty frame store."""

from pathlib import Path

import pytest

from mmerg.frames.store import FrameStore
from tests.frames.clips import numbered


@pytest.fixture(scope="session")
def clip100(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames 0 to 99 of one scene."""
    return numbered(tmp_path_factory.mktemp("clips") / "clip100.mp4", 100)


@pytest.fixture(scope="session")
def clip30_avi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames 0 to 29 of one scene, as an avi of single JPEGs."""
    return numbered(tmp_path_factory.mktemp("clips") / "clip30.avi", 30, "MJPG")


@pytest.fixture
def store(tmp_path: Path) -> FrameStore:
    return FrameStore(tmp_path / "frames")
