"""Video files as players show them: rotated, mirrored, with square pixels, and timed by the clock of the file.

The clock starts with the first stream, so a picture that begins 2 s after the sound has its first frame at 2 s. Headers
are not trusted: frames are counted as they are decoded, and their times are their timestamps.

    with Video(Path("dia0_utt1.mp4")) as video:
        for frame in video.frames():
            frame.time, frame.picture()
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from mmerg.errors import ClipError
from mmerg.frames.picture import Picture, put_on_white

DEPENDENT_TYPES = (2, 3)  # FFmpeg's types of the frames that depend on other frames: P and B
MOST_THREADS = 16  # FFmpeg uses at most this many for one file


@dataclass(frozen=True)
class DecodedFrame:
    """A frame shown from `time` for `duration` (seconds)."""

    time: float
    duration: float
    frame: Any  # PyAV's VideoFrame; its stubs have a wrong type for side data
    pixel: float  # the width of a pixel over its height

    def picture(self) -> Picture:
        """Returns the pixels of the frame, on white if it is transparent."""
        frame = self.frame
        size = _square_pixels(frame.width, frame.height, self.pixel)
        alpha = any(component.is_alpha for component in frame.format.components)
        pixels = frame.to_ndarray(width=size[0], height=size[1], format="bgra" if alpha else "bgr24")
        return _orient(put_on_white(pixels) if alpha else pixels, frame)


class Video:
    """An open video. Raises ClipError `unreadable` if the file is not a video.

    size: of frames as stored, in pixels. fps: their average number per second. seconds: the end by the header; 0 if
    unknown.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        av = importlib.import_module("av")
        av.logging.set_level(None)
        # PyAV raises for unknown side data such as EXIF.
        kinds = importlib.import_module("av.sidedata.sidedata").Type
        kinds._missing_ = classmethod(lambda cls, _: cls.VIDEO_HINT)
        self._error = av.FFmpegError
        with ExitStack() as stack:
            # FFmpeg gets an open file, so that a playlist cannot reach other files or addresses.
            file = stack.enter_context(path.open("rb"))
            try:
                container = av.open(file, options={"protocol_whitelist": "none"}, metadata_errors="replace")
            except (self._error, ValueError) as error:
                raise _unreadable(path) from error
            self._container = stack.enter_context(container)
            self._stream = container.streams.best("video")
            if self._stream is None or self._stream.codec_context is None:  # None: an unknown codec
                raise _unreadable(path)
            self._opened = stack.pop_all()
        self._stream.codec_context.thread_count = max(1, min(threads, MOST_THREADS))
        self.size = self._stream.codec_context.width, self._stream.codec_context.height
        rate = float(self._stream.average_rate or 0)
        self.fps = rate if 1.0 <= rate <= 240.0 else 25.0
        self._start = (self._container.start_time or 0) / 1e6
        self.seconds = (self._container.duration or 0) / 1e6
        if self._stream.duration:
            end = ((self._stream.start_time or 0) + self._stream.duration) * self._stream.time_base
            self.seconds = float(end) - self._start

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def frames(self) -> Iterator[DecodedFrame]:
        """Yields all frames that can be decoded and are not damaged, in order of time."""
        last, gap, whole = -math.inf, 1.0 / self.fps, False
        pixel = float(self._stream.sample_aspect_ratio or 1)
        for frame in self._decode():
            time = math.nan if frame.time is None else frame.time - self._start
            if not last < time < math.inf:  # a missing or decreasing timestamp
                time = last + gap if last > -math.inf else 0.0
            last = time
            duration = float((frame.duration or 0) * frame.time_base) if frame.time_base else 0.0
            # After a cut within a group of pictures, the first frames depend on a missing one and come out grey.
            whole = whole or frame.key_frame or frame.pict_type not in DEPENDENT_TYPES
            # The decoder fills the gaps of a corrupt frame with grey, black or another frame.
            if whole and not frame.is_corrupt:
                yield DecodedFrame(time, duration or gap, frame, pixel)

    def _decode(self) -> Iterator[Any]:
        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets, None)
            except (self._error, IndexError):  # the file is cut off
                return
            if packet is None:
                return
            with suppress(self._error):  # a damaged packet
                yield from packet.decode()


def _unreadable(path: Path) -> ClipError:
    what, hint = "no frame of the file can be decoded", "play it; copy or download it again"
    return ClipError("unreadable", what, where=str(path), hint=hint)


def _square_pixels(width: int, height: int, pixel: float) -> tuple[int, int]:
    """Returns the size (width, height) in square pixels, never larger than stored. pixel: its width over its height."""
    if not 0.1 <= pixel <= 10.0:
        return width, height
    return round(width * min(pixel, 1.0)), round(height / max(pixel, 1.0))


def _orient(picture: Picture, frame: Any) -> Picture:
    """Rotates (by quarter turns) and mirrors a picture by the display matrix of its frame."""
    data = next((data for data in frame.side_data if data.type.name == "DISPLAYMATRIX"), None)
    if data is None:
        return picture
    (a, b), (c, d) = np.frombuffer(bytes(data), np.int32).reshape(3, 3)[:2, :2].tolist()
    if abs(b) > abs(a):  # x' = c y, y' = b x
        picture, a, d = picture.transpose(1, 0, 2), c, b
    return cast(Picture, np.ascontiguousarray(picture[:: -1 if d < 0 else 1, :: -1 if a < 0 else 1]))
