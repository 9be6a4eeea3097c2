"""A misspelt setting is named with what was meant, before Hydra advises to add it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.config import refuse_misspelt
from mmerg.errors import ConfigError
from tests.engine.parts import ROOT


@pytest.mark.parametrize(
    ("argument", "name", "what", "hint"),
    [
        ("limt=3", "config", "limt", "did you mean limit?"),
        ("limt=1,2", "config", "limt", "did you mean limit?"),
        ("datset=demo", "config", "datset", "did you mean dataset?"),
        ("frames.max_frame=3", "config", "frames.max_frame", "did you mean frames.max_frames?"),
        ("dataset.memory.rot=x", "config", "dataset.memory.rot", "did you mean dataset.memory.root?"),
        ("shet=3", "data", "shet", "did you mean sheet?"),
        ("judge.repeat=3", "judge", "judge.repeat", "did you mean judge.repeats?"),
        ("dataset=demo", "doctor", "dataset", "settings: backbone, backend"),
    ],
)
def test_what_was_meant(argument: str, name: str, what: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_misspelt(["backbone=smollm2-135m", argument], name)
    assert caught.value.what == f"there is no setting {what}"
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "argument",
    [
        *("limit=3", "dataset=demo", "frames.max_frames=3", "dataset.memory.root=x", "system.stages.mpa.sampling.x=1"),
        *("+experiment=table1", "experiment=table1", "+limt=3", "~limt", "hydra.verbose=true", "-m", "--cfg=job"),
        *("hydra/launcher=basic", "dataset@other=demo", "rows.a.b=1", "backend.adapter.x=1", "", "=", "limt"),
    ],
)
def test_the_rest_is_left_to_hydra(argument: str) -> None:
    assert refuse_misspelt([argument], "config") == 0


@given(st.text(max_size=12))
def test_no_argument_is_too_odd(text: str) -> None:
    for argument in (text, f"{text}=1", f"frames.{text}=1"):
        with suppress(ConfigError):
            assert refuse_misspelt([argument], "config") == 0


def test_the_command_says_it() -> None:
    command = [sys.executable, "-m", "mmerg.run", "dataset=demo", "limt=3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = "error: there is no setting limt\n  where: command line\n  next:  did you mean limit?\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
