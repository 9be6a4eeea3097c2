from pathlib import Path

import pytest

from tests.sem.talks import MOODS, VAD, train, write_talks


@pytest.fixture(scope="package")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_talks(tmp_path_factory.mktemp("talks"), list(MOODS.values()))
    (root / "vad.txt").write_text(VAD, encoding="utf-8")
    return root


@pytest.fixture(scope="package")
def sem(talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sem") / "sem.json"
    assert train(talks, out, f"lexicon={talks}/vad.txt") == 0
    return out
