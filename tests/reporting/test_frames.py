"""Faces that OpenCV finds are unrecognisable in a report's copies; a run's own frames are never changed."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from mmerg.corpora.dialogue import Clip
from mmerg.corpora.folder import demo_root
from mmerg.frames.describe import Face, measure
from mmerg.frames.extract import extract
from mmerg.frames.picture import from_jpeg
from mmerg.frames.store import FrameStore
from mmerg.reporting.folder import report_folder
from mmerg.reporting.frames import Faces, Frames, blur
from mmerg.reporting.write import write_report
from mmerg.runs.events import EVENT
from mmerg.runs.folder import read_results
from mmerg.runs.samples import recording
from mmerg.settings.model import FramesSettings
from tests.reporting.conftest import say_nothing
from tests.reporting.parts import Told, build, jpeg, sha
from tests.run_folders import all_events


@pytest.fixture(scope="module")
def face(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A frame of the demo corpus with a face that is found."""
    store = FrameStore(tmp_path_factory.mktemp("store"))
    [found] = extract([Clip(demo_root() / "fine_1.mp4")], FramesSettings(per_clip=1), store)
    assert isinstance(found, tuple), found
    data = store.read(found[0].sha256)
    assert measure([data], [0.0])[0].faces
    return data


def kept(folder: Path, *data: bytes) -> list[str]:
    names = [hashlib.sha256(one).hexdigest() for one in data]
    folder.mkdir()
    for name, one in zip(names, data, strict=True):
        (folder / f"{name}.jpg").write_bytes(one)
    return names


def test_a_face_is_no_longer_found_and_all_else_stays(face: bytes, tmp_path: Path) -> None:
    [name, plain] = kept(tmp_path / "frames", face, jpeg(1))
    with report_folder(tmp_path / "report") as folder:
        frames = Frames(tmp_path / "frames", folder, "blur")
        frames.add([name, plain, name])
    copy = (tmp_path / "report" / "frames" / f"{name}.jpg").read_bytes()
    assert measure([copy], [0.0])[0].faces == ()
    assert frames.counts == {"faces": 1, "blurred": 1, "plain": 1}
    assert (tmp_path / "report" / "frames" / f"{plain}.jpg").read_bytes() == jpeg(1)
    assert (tmp_path / "frames" / f"{name}.jpg").read_bytes() == face
    before, after = from_jpeg(face).astype(int), from_jpeg(copy).astype(int)
    assert before.shape == after.shape
    [box] = measure([face], [0.0])[0].faces
    height, width = before.shape[:2]
    outside = np.ones((height, width), bool)
    rows = slice(max(0, int((box.y - box.height) * height / 100)), int((box.y + 2 * box.height) * height / 100))
    outside[rows, max(0, int((box.x - box.width) * width / 100)) : int((box.x + 2 * box.width) * width / 100)] = False
    assert outside.any()
    assert np.abs(before - after)[outside].mean() < 5  # it was made a JPEG twice


def test_a_blurred_face_is_a_few_blocks(face: bytes) -> None:
    picture = from_jpeg(face)
    before = picture.copy()
    copy = blur(picture, [Face(x=-5, y=90, width=30, height=30)])  # reaches out of the picture on two sides
    assert np.array_equal(picture, before)
    height, width = picture.shape[:2]
    part = copy[int(0.82 * height) :, : int(0.33 * width)]
    assert len(np.unique(part.reshape(-1, 3), axis=0)) <= 25
    assert np.array_equal(copy[:, width // 2 :], picture[:, width // 2 :])


def test_what_is_no_picture_or_no_frame_of_the_run(tmp_path: Path) -> None:
    [name] = kept(tmp_path / "frames", b"no picture")
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    linked = "0" * 64
    (tmp_path / "frames" / f"{linked}.jpg").symlink_to(secret)
    (tmp_path / "frames" / "notes.jpg").write_bytes(b"mine")
    with report_folder(tmp_path / "report") as folder:
        frames = Frames(tmp_path / "frames", folder, "blur")
        held = [frames.has(one) for one in (name, linked, "notes", "../secret", "f" * 64, "")]
        frames.add([name])
    assert held == [True, False, False, False, False, False]
    shown = (tmp_path / "report" / "frames" / f"{name}.jpg").read_bytes()
    assert np.ptp(from_jpeg(shown)) == 0  # a grey picture: nobody could say whose face would be on it
    assert frames.counts == {"unreadable": 1}


def test_a_report_without_blurred_faces_is_replaced_by_one_with_them(face: bytes, tmp_path: Path) -> None:
    run = build(tmp_path / "run", [Told("a/1")])
    (run / "frames" / f"{sha(1)}.jpg").write_bytes(face)
    wanted: tuple[Faces, ...] = ("keep", "blur", "keep")
    for faces in wanted:
        write_report([run], run / "report", faces=faces, say=say_nothing)
        shown = (run / "report" / "frames" / f"{sha(1)}.jpg").read_bytes()
        assert (shown == face) == (faces == "keep")
        told = (run / "report" / "index.html").read_text(encoding="utf-8")
        assert ("1 face in 1 frame. In 2 frames none was found" in told) == (faces == "blur")
    assert (run / "frames" / f"{sha(1)}.jpg").read_bytes() == face
    assert list(read_results(run)) == ["a/1"]


@pytest.mark.parametrize("faces", ["keep", "blur"])
def test_a_grid_of_frames_is_left_out_where_faces_are_blurred(tmp_path: Path, faces: Faces) -> None:
    """A model that takes one image gets all keyframes in a grid, in which faces are too small to be found."""
    run = build(tmp_path / "run", [Told("a/1")])
    grid = jpeg(9)
    name = hashlib.sha256(grid).hexdigest()
    (run / "frames" / f"{name}.jpg").write_bytes(grid)
    told = [
        event.model_dump_json().replace(f'"images":["{sha(1)}"', f'"images":["{name}"') for event in all_events(run)
    ]
    with recording(run, "a/1") as emit:
        for event in told:
            emit(EVENT.validate_json(event))
    write_report([run], run / "report", faces=faces, say=say_nothing)
    assert (run / "report" / "frames" / f"{name}.jpg").is_file() == (faces == "keep")
    [page] = (run / "report" / "samples").iterdir()
    assert ("the grid of frames" in page.read_text(encoding="utf-8")) == (faces == "keep")
