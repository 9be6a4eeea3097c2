"""Frames look, and are timed, as in a player."""

import struct
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from mmerg.corpora.dialogue import Clip
from mmerg.frames.extract import extract
from mmerg.frames.picture import Picture, from_jpeg
from mmerg.frames.store import FrameStore
from mmerg.frames.video import Video
from mmerg.settings.model import FramesSettings

SETTINGS = FramesSettings(method="uniform")
RED = (40, 40, 220)


def corner(colour: tuple[int, int, int] = RED) -> Picture:
    """A white picture with a square of `colour` at the top left."""
    picture = np.full((96, 128, 3), 255, np.uint8)
    picture[:48, :48] = colour
    return picture


def film(path: Path, times: Iterable[float], pixel: Fraction = Fraction(1), sound: bool = False) -> Path:
    """Write a film whose picture changes at `times` (seconds): its square is red, then green, blue and black. sound:
    adds a second of sound from 0 s."""
    colours = [RED, (40, 220, 40), (220, 40, 40), (0, 0, 0)]
    with av.open(path, "w") as container:
        stream = container.add_stream("mpeg4", rate=25, width=128, height=96, pix_fmt="yuv420p")
        stream.codec_context.sample_aspect_ratio = pixel
        stream.codec_context.time_base = Fraction(1, 1000)
        if sound:
            voice = container.add_stream("aac", rate=16000, layout="mono")
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 16000), np.float32), "fltp", "mono")
            silence.sample_rate, silence.pts = 16000, 0
            container.mux([*voice.encode(silence), *voice.encode(None)])
        for time, colour in zip(times, colours, strict=False):
            frame = av.VideoFrame.from_ndarray(corner(colour), "bgr24")
            frame.pts, frame.time_base = round(time * 1000), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def colour(store: FrameStore, sha256: str) -> str:
    """The colour of the square in a frame."""
    blue, green, red = from_jpeg(store.read(sha256))[24, 24].astype(int)
    return max((red, "red"), (green, "green"), (blue, "blue"))[1] if max(red, green, blue) > 100 else "black"


@pytest.mark.parametrize(
    ("matrix", "place"),
    [
        ((-1, 0, 0, 1), (0, 1)),
        ((-1, 0, 0, -1), (1, 1)),
        ((0, 1, -1, 0), (0, 1)),  # a telephone held upright
        ((0, -1, -1, 0), (1, 1)),
    ],
)
def test_the_display_matrix_rotates_and_mirrors(
    tmp_path: Path, matrix: tuple[int, int, int, int], place: tuple[int, int]
) -> None:
    """The square is stored at the top left, and shown in this row and column."""
    path = film(tmp_path / "turned.mp4", [0.0, 0.5])
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 44
    a, b, c, d = matrix
    data[at : at + 36] = struct.pack(">9i", a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    path.write_bytes(data)
    with Video(path) as video:
        picture = next(video.frames()).picture().astype(int)
    height, width = picture.shape[:2]
    assert (width > height) == (a != 0)
    redness = picture[[height // 8, -height // 8]][:, [width // 8, -width // 8]] @ [-1, 0, 1]
    assert divmod(int(redness.argmax()), 2) == place


@pytest.mark.parametrize("kind", ["jpg", "png"])
def test_a_picture_with_exif_is_read_like_a_clip(tmp_path: Path, kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # a telephone held upright
    Image.new("RGB", (64, 40)).save(tmp_path / f"face.{kind}", exif=exif)
    with Video(tmp_path / f"face.{kind}") as video:
        assert next(video.frames()).picture().shape == (64, 40, 3)


@pytest.mark.parametrize(("pixel", "size"), [(Fraction(2), (128, 48)), (Fraction(1, 2), (64, 96))])
def test_pixels_that_are_not_square_are_made_square(tmp_path: Path, pixel: Fraction, size: tuple[int, int]) -> None:
    with Video(film(tmp_path / "wide.mp4", [0.0, 0.5], pixel)) as video:
        assert next(video.frames()).picture().shape[1::-1] == size


@pytest.mark.parametrize(
    ("start", "end", "colours"),
    [
        (1.0, 2.0, ["red"]),  # nothing changes
        (3.5, 4.0, ["green"]),
        (3.0, 8.0, ["green", "blue"]),
    ],
)
def test_a_frame_is_shown_until_the_next_one(
    tmp_path: Path, store: FrameStore, start: float, end: float, colours: list[str]
) -> None:
    [frames] = extract([Clip(film(tmp_path / "slides.mkv", [0.0, 3.0, 6.0, 9.0]), start, end)], SETTINGS, store)
    assert isinstance(frames, tuple), frames
    assert [colour(store, frame.sha256) for frame in frames] == colours
    assert all(start <= frame.time < end for frame in frames)


def test_times_start_with_the_sound_if_the_picture_starts_later(tmp_path: Path, store: FrameStore) -> None:
    path = film(tmp_path / "call.mp4", [2.0, 2.5, 3.0, 3.5], sound=True)
    before, after = extract([Clip(path, 0.0, 2.0), Clip(path, 2.0, 3.0)], SETTINGS, store)
    assert not isinstance(before, tuple)
    assert before.reason == "empty"
    assert isinstance(after, tuple)
    assert [colour(store, frame.sha256) for frame in after] == ["red", "green"]
    assert [frame.time for frame in after] == pytest.approx([2.0, 2.5])


def test_a_span_past_the_end_of_an_avi_gives_no_frames(tmp_path: Path, store: FrameStore) -> None:
    """Its header counts a frame for each tick of its clock, however few frames there are."""
    path = film(tmp_path / "a.avi", [0.0, 3.0, 6.0])
    past, inside = extract([Clip(path, 4.0, 9.0), Clip(path, 4.0, 6.0)], SETTINGS, store)
    assert not isinstance(past, tuple)
    assert past.reason == "past_end"
    assert isinstance(inside, tuple)
    assert [colour(store, frame.sha256) for frame in inside] == ["green"]


def test_frames_before_the_first_key_frame_are_skipped(tmp_path: Path) -> None:
    """A file that was cut without decoding may start within a group of pictures, which the decoder shows in grey."""
    path = film(tmp_path / "cut.mkv", [0.0, 0.04, 0.08, 0.12])
    with av.open(path) as whole, av.open(tmp_path / "rest.mkv", "w") as cut:
        stream = cut.add_stream_from_template(whole.streams.video[0])
        for packet in list(whole.demux(whole.streams.video[0]))[1:]:
            if packet.dts is not None:
                packet.stream = stream
                cut.mux(packet)
    with Video(tmp_path / "rest.mkv") as video:
        assert list(video.frames()) == []


def test_a_playlist_cannot_read_other_files(tmp_path: Path, store: FrameStore) -> None:
    film(tmp_path / "secret.ts", [0.0, 0.5])
    (tmp_path / "list.mp4").write_text("#EXTM3U\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n", encoding="utf-8")
    (tmp_path / "concat.mp4").write_text("ffconcat version 1.0\nfile secret.ts\n", encoding="utf-8")
    for outcome in extract([Clip(tmp_path / "list.mp4"), Clip(tmp_path / "concat.mp4")], SETTINGS, store):
        assert not isinstance(outcome, tuple)
        assert outcome.reason == "unreadable"
