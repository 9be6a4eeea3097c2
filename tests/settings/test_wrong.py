"""A misspelt setting is named with what was meant, before Hydra advises to add it."""

import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.settings.commands import COMMANDS
from mmerg.settings.compose import compose
from mmerg.settings.explain import find_problems
from tests.processes import in_process


def command(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return in_process([sys.executable, "-m", f"mmerg.{name}", *arguments])


@pytest.mark.parametrize(
    ("argument", "name", "what", "hint"),
    [
        ("limt=3", "config", "limt", "did you mean limit?"),
        ("limt=1,2", "config", "limt", "did you mean limit?"),
        ("frames.max_frame=3", "config", "frames.max_frame", "did you mean frames.max_frames?"),
        ("dataset.memory.rot=x", "config", "dataset.memory.rot", "did you mean dataset.memory.root?"),
        ("runn=3", "data", "runn", "did you mean runs?"),
        ("judge.repeat=3", "judge", "judge.repeat", "did you mean judge.repeats?"),
        ("dataset=demo", "doctor", "dataset", "settings: backbone, backend, contamination"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_one(argument: str, name: str, what: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compose(name, [*(["dataset=folder", "dataset.root=/x"] * (name in ("config", "data"))), argument])
    assert caught.value.what == f"there is no setting {what}"
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "argument",
    [
        *("limit=3", "dataset=demo", "frames.max_frames=3", "dataset.memory.root=x"),
        *("+experiment=topk", "+limt=3", "~limit", "ablation=full", "backend.adapter.x=1", "hydra.verbose=true"),
        "system.stages.mpa.sampling.top_k=1",
    ],
)
def test_valid_arguments_have_no_problems(argument: str) -> None:
    assert not list(find_problems(argument, COMMANDS["config"], sweep=True))


def test_a_custom_group_is_no_misspelt_setting(tmp_path: Path) -> None:
    for group, page in (
        ("experiment/mine", "defaults: [{/tuning: slow}]"),
        ("tuning/slow", "seed: 1"),
        ("tuning/quick", "seed: 2"),
    ):
        file = tmp_path / f"{group}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# @package _global_\n{page}\n", encoding="utf-8")
    own = (f"--config-dir={tmp_path}", "+experiment=mine", "tuning=quick", "dataset=demo")
    done = command("run", "--cfg=job", *own)
    assert (done.returncode, done.stderr) == (0, "")
    assert "seed: 2\n" in done.stdout
    assert "did you mean limit?" in command("run", *own, "limt=3").stderr
