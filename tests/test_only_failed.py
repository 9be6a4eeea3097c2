"""The error of `only_failed=true` for a run that does not exist. tests/test_run.py tests the command."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.work import refuse_new
from tests.scoring.run_builder import build_run, make_manifest

CONFIG: dict[str, Any] = make_manifest([]).settings
IDENTITY = {part: digest for part, digest in make_manifest([]).identity.items() if part not in ("clips", "engine")}


def get_refusal(runs: Path, identity: Mapping[str, str], **changes: Any) -> str:
    with pytest.raises(ConfigError) as error:
        refuse_new(CONFIG | changes, {**IDENTITY, **identity}, runs / "demo-merg-small-00000000")
    return error.value.what


def test_the_most_similar_run_is_named_with_its_differences(tmp_path: Path) -> None:
    build_run(tmp_path / "demo-merg-small-11111111", [], config={"seed": 1, "frames": {"seen_by": "all"}})
    build_run(tmp_path / "demo-merg-small-22222222", [], config={"seed": 2})
    build_run(tmp_path / "demo-merg-other-33333333", [])
    assert get_refusal(tmp_path, {"config": "other"}, seed=5).endswith(
        "compared with demo-merg-small-22222222, seed 2 → 5"
    )


def test_changed_files_are_named(tmp_path: Path) -> None:
    build_run(tmp_path / "demo-merg-small-11111111", [], config={"dataset": {"name": "demo", "root": "/one"}})
    elsewhere = {"name": "demo", "root": "/two"}
    files = {"corpus": "ab", "prompt mpa.j2": "ab", "mine_parts.py": "ab"}
    changed = "11111111, the corpus's files changed; prompt mpa.j2 changed; mine_parts.py is new"
    assert get_refusal(tmp_path, files, dataset=elsewhere).endswith(changed)
