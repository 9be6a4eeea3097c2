"""A run's images in its report."""

import hashlib
from pathlib import Path

from mmerg.reporting.folder import report_folder
from mmerg.reporting.frames import Frames
from mmerg.reporting.write import write_report
from mmerg.runs.events import EVENT
from mmerg.runs.samples import recording
from tests.reporting.conftest import say_nothing
from tests.reporting.parts import Told, build, jpeg, sha
from tests.run_folders import all_events


def test_what_is_no_frame_of_the_run_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "frames").mkdir()
    secret, linked = tmp_path / "secret", "0" * 64
    secret.write_bytes(b"secret")
    (tmp_path / "frames" / f"{linked}.jpg").symlink_to(secret)
    (tmp_path / "frames" / "notes.jpg").write_bytes(b"mine")
    with report_folder(tmp_path / "report") as folder:
        frames = Frames(tmp_path / "frames", folder)
        assert not [name for name in (linked, "notes", "../secret", "f" * 64, "") if frames.has(name)]


def test_a_grid_of_frames_is_shown(tmp_path: Path) -> None:
    """A model that takes one image gets all keyframes in a grid."""
    run = build(tmp_path / "run", [Told("a/1")])
    grid = jpeg(9)
    name = hashlib.sha256(grid).hexdigest()
    (run / "frames" / f"{name}.jpg").write_bytes(grid)
    events = [
        event.model_dump_json().replace(f'"images":["{sha(1)}"', f'"images":["{name}"') for event in all_events(run)
    ]
    with recording(run, "a/1") as emit:
        for event in events:
            emit(EVENT.validate_json(event))
    write_report([run], run / "report", say=say_nothing)
    assert (run / "report" / "frames" / f"{name}.jpg").is_file()
    [page] = (run / "report" / "samples").iterdir()
    assert "the grid of frames" in page.read_text(encoding="utf-8")
