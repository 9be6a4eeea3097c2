"""A run over a synthetic Session 5: the default protocol's 31 samples, and keyframes of one long film."""

from pathlib import Path

from mmerg.experiment.launch import launch
from mmerg.runs.events import FramesTaken
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from tests.composed import settings_of
from tests.run_folders import all_events

from .iemocap_builder import Builder, Talk, improvised, played, session5
from .test_iemocap_clips import DRAWN, draw


def run(root: Path, *more: str) -> Path:
    base = ("dataset=iemocap", f"dataset.root={root}", "backend=dry", f"runs={root}/runs", "memory=none")
    [ended] = launch(settings_of(*base, *more))
    return Path(ended.run)


def test_session_5_gives_a_sample_a_dialogue(tmp_path: Path) -> None:
    Builder([*session5(undecided=5), played("Ses02M_script01_1")]).write(tmp_path)
    folder = run(tmp_path, "frames=none", "system=one_pass")
    results = read_results(folder)
    assert len(results) == len({result.dialogue for result in results.values()}) == 31
    assert sorted(result.gold_response or "" for result in results.values()) == ["Three."] * 26 + ["Two."] * 5
    protocol = read_manifest(folder).protocol
    assert (protocol.samples, protocol.left_out) == (31, {"targets over max_per_dialogue": 26})


def test_every_turn_of_a_long_film_is_looked_at(tmp_path: Path) -> None:
    base = Builder([Talk("Ses05F_impro01", DRAWN), improvised("Ses02F_impro01")]).write(tmp_path)
    draw(base / "Session5/dialog/avi/DivX/Ses05F_impro01.avi")
    folder = run(tmp_path, "protocol=every", "backbone.concurrency=3", "system=one_pass")
    taken = [event for event in all_events(folder) if isinstance(event, FramesTaken)]
    assert len(taken) == len(DRAWN) - 1
    for event in taken:
        target = DRAWN[int(event.sample.partition("/")[2]) - 1]
        times = [frame.time for turn in event.turns for frame in turn.frames]
        assert times
        assert max(times) < target.start
