"""A clip of four seconds that many tests share, and an empty frame store."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmerg.frames.store import FrameStore
from tests.frames.clips import numbered


@pytest.fixture(scope="session")
def clip100(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames 0 to 99 of one scene."""
    return numbered(tmp_path_factory.mktemp("clips") / "clip100.mp4", 100)


@pytest.fixture
def store(tmp_path: Path) -> FrameStore:
    return FrameStore(tmp_path / "frames")
