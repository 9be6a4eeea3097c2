"""A video file as players show it: frames turned and mirrored, in their proportions, timed on the clock of the file.

That clock starts with the first stream, so a picture that begins 2 s after the sound has its first frame at 2 s.
Headers are not believed: frames are counted as they come, and their times are those of their timestamps.

    with Video(Path("dia0_utt1.mp4")) as video:
        for frame in video.frames():
            frame.time, frame.picture()
"""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from mmerg.errors import ClipError
from mmerg.frames.picture import Picture, on_white

CHANGES = (2, 3)  # FFmpeg's types of frames that change others: P and B
MOST_THREADS = 16  # FFmpeg uses no more for one file
_loading = threading.Lock()


@dataclass(frozen=True)
class Decoded:
    """A frame that is shown from `time` for `duration` (seconds)."""

    time: float
    duration: float
    frame: Any  # PyAV's VideoFrame, whose stubs type its side data wrongly
    pixel: float  # its width over its height

    def picture(self) -> Picture:
        """Its pixels. Transparent ones are on white."""
        frame = self.frame
        size = _in_proportion(frame.width, frame.height, self.pixel)
        alpha = any(component.is_alpha for component in frame.format.components)
        pixels = frame.to_ndarray(width=size[0], height=size[1], format="bgra" if alpha else "bgr24")
        return _turned(on_white(pixels) if alpha else pixels, frame)


class Video:
    """An open file. seconds: its length by its header (None: no sensible one). count: its frames by its header (0:
    unknown). claimed_end: when these end, in an avi, which counts frames that are only repeated, too. fps: usual frames
    a second. size: width and height of its frames as stored. Raises ClipError `unreadable` where it is no video."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        with _loading:
            av = importlib.import_module("av")
            av.logging.set_level(None)
            # PyAV raises for any side data that it does not know, such as EXIF.
            kinds = importlib.import_module("av.sidedata.sidedata").Type
            kinds._missing_ = classmethod(lambda cls, _: cls.VIDEO_HINT)
        self._error = av.FFmpegError
        with ExitStack() as stack:
            # Opened here and read by FFmpeg: a file that names other files or addresses (a playlist) cannot reach them.
            file = stack.enter_context(path.open("rb"))
            try:
                container = av.open(file, options={"protocol_whitelist": "none"}, metadata_errors="replace")
            except (self._error, ValueError) as error:
                raise _unreadable(path) from error
            self._container = stack.enter_context(container)
            self._stream = container.streams.best("video")
            if self._stream is None or self._stream.codec_context is None:  # None: of a codec that nobody knows
                raise _unreadable(path)
            self._opened = stack.pop_all()
        self._stream.codec_context.thread_count = max(1, min(threads, MOST_THREADS))
        self.size = self._stream.codec_context.width, self._stream.codec_context.height
        rate = float(self._stream.average_rate or 0)
        self.fps = rate if 1.0 <= rate <= 240.0 else 25.0
        self._begin = (self._container.start_time or 0) / 1e6
        base, begin = self._stream.time_base, self._stream.start_time or 0
        own = self._stream.duration  # of the stream, from its own start
        end = float((begin + own) * base) if own else ((self._container.duration or 0) / 1e6 + self._begin)
        seconds = end - self._begin
        self.seconds = seconds if seconds > 0 else None
        self.count = self._stream.frames or round((float(own * base) if own else 0.0) * self.fps)
        counted = self._stream.frames if container.format.name == "avi" else 0
        self.claimed_end = float(counted * base) if counted else math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def frames(self) -> Iterator[Decoded]:
        """Every frame that can be decoded, in order of time; damaged ones are left out."""
        last, gap, whole = -math.inf, 1.0 / self.fps, False
        pixel = float(self._stream.sample_aspect_ratio or 1)
        for frame in self._decoded():
            time = math.nan if frame.time is None else frame.time - self._begin
            if not last < time < math.inf:  # no timestamp, or one that goes back
                time = last + gap if last > -math.inf else 0.0
            last = time
            lasts = float((frame.duration or 0) * frame.time_base) if frame.time_base else 0.0
            # A cut before the first key frame leaves changes to a picture that is not there, which decoders make grey.
            whole = whole or frame.key_frame or frame.pict_type not in CHANGES
            # Where a frame is corrupt, the decoder has filled what it lacks with grey, black or another frame.
            if whole and not frame.is_corrupt:
                yield Decoded(time, lasts or gap, frame, pixel)

    def _decoded(self) -> Iterator[Any]:
        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets, None)
            except (self._error, IndexError):  # the file ends within a packet
                return
            if packet is None:
                return
            with suppress(self._error):  # a damaged packet
                yield from packet.decode()


def _unreadable(path: Path) -> ClipError:
    what, hint = "no frame of the file can be decoded", "play it; copy or download it again"
    return ClipError("unreadable", what, where=str(path), hint=hint)


def _in_proportion(width: int, height: int, pixel: float) -> tuple[int, int]:
    """(width, height) where pixels are `pixel` times as wide as high; nothing is enlarged."""
    if not 0.1 <= pixel <= 10.0:
        return width, height
    return round(width * min(pixel, 1.0)), round(height / max(pixel, 1.0))


def _turned(picture: Picture, frame: Any) -> Picture:
    """The picture by the display matrix of its frame: quarter turns and mirrors."""
    data = next((data for data in frame.side_data if data.type.name == "DISPLAYMATRIX"), None)
    if data is None:
        return picture
    (a, b), (c, d) = np.frombuffer(bytes(data), np.int32).reshape(3, 3)[:2, :2].tolist()
    if abs(b) > abs(a):  # x' = c y, y' = b x
        picture, a, d = picture.transpose(1, 0, 2), c, b
    return cast(Picture, np.ascontiguousarray(picture[:: -1 if d < 0 else 1, :: -1 if a < 0 else 1]))
