"""The command on a synthetic Session 5: the default protocol's 31 samples, real keyframes, and messages that help."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.runs.events import FramesTaken
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from tests.engine.parts import ROOT
from tests.processes import forked
from tests.run_folders import all_events
from tests.scripted_ollama import scripted_ollama

from .iemocap_builder import Builder, Talk, improvised, played, session5
from .test_iemocap_clips import DRAWN, draw


def run(root: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mmerg.run", "dataset=iemocap", f"dataset.root={root}", "backbone=qwen2.5vl-7b"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return forked(
        [*command, f"backend.hosts=[{url}]", f"runs={root}/runs", *more],
        cwd=root, env=environment
    )  # fmt: skip


def folder(root: Path) -> Path:
    [path] = (root / "runs").glob("iemocap-merg-*")
    return path


def test_session_5_gives_a_sample_a_dialogue(tmp_path: Path) -> None:
    Builder([*session5(undecided=5), played("Ses02M_script01_1")]).write(tmp_path)
    with scripted_ollama() as server:
        done = run(tmp_path, server.url, "frames=none")
    assert done.returncode == 0, done.stderr
    assert "iemocap session5: 31 dialogues" in done.stdout
    results = read_results(folder(tmp_path))
    assert len(results) == len({result.dialogue for result in results.values()}) == 31
    assert sorted(result.gold_response or "" for result in results.values()) == ["Three."] * 26 + ["Two."] * 5
    protocol = read_manifest(folder(tmp_path)).protocol
    assert (protocol.samples, protocol.left_out) == (31, {"targets over max_per_dialogue": 26})


def test_every_turn_of_a_long_film_is_looked_at(tmp_path: Path) -> None:
    base = Builder([Talk("Ses05F_impro01", DRAWN), improvised("Ses02F_impro01")]).write(tmp_path)
    draw(base / "Session5/dialog/avi/DivX/Ses05F_impro01.avi")
    with scripted_ollama() as server:
        done = run(tmp_path, server.url, "protocol=every", "backbone.concurrency=3")
    assert done.returncode == 0, done.stderr
    taken = [event for event in all_events(folder(tmp_path)) if isinstance(event, FramesTaken)]
    assert len(taken) == len(DRAWN) - 1
    for event in taken:
        target = DRAWN[int(event.sample.partition("/")[2]) - 1]
        times = [frame.time for turn in event.turns for frame in turn.frames]
        assert times
        assert max(times) < target.start


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("dataset.sessions=[3]", "no folder Session3 for IEMOCAP's session 3"),
        ("dataset.sessions=[7]", "IEMOCAP has sessions 1 to 5; asked for: 7"),
        ("dataset.sessions=[]", "IEMOCAP has sessions 1 to 5; asked for: none"),
        ("dataset.label_set=seven", "dataset.label_set is 'seven'"),
        ("dataset.reader.speaker_side=top", "dataset.reader.speaker_side is 'top'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, setting: str, complaint: str) -> None:
    Builder().write(tmp_path)
    done = run(tmp_path, "http://127.0.0.1:9", setting)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
