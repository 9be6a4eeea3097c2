"""One pass over a video file that gathers candidate frames for every span wanted of it.

Nothing is sought: a short clip is one group of pictures, and a seek past the end of a truncated file gives a stale
frame. Headers are not believed: frames are counted as they come, and have the times of their timestamps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.picture import Picture, cropped, cv2, fitted, halved
from mmerg.settings.model import FramesSettings

MIN_SIDE = 32  # pixels; vision encoders work on patches of 14 to 28
_USUAL_FPS = 25.0


@dataclass(frozen=True)
class Candidate:
    """A frame that may become a keyframe: its time in the file (seconds), and its size as a keyframe (pixels). The
    picture is cropped, at least of that size and under twice the wanted long side."""

    time: float
    picture: Picture
    size: tuple[int, int]


def candidates(
    clips: Sequence[Clip], settings: FramesSettings, threads: int = 1
) -> Iterator[tuple[Clip, list[Candidate] | ClipError]]:
    """Each of `clips`, which are of one file, as it ends, with evenly spread candidates in order of time, or why there
    are none. A span is half open: it holds no frame at its end.

    Holds no more pictures than the spans open at one time need. `threads` are for the decoder. Errors (as values):
    unreadable, empty, outside, too_long, too_small; of the whole file, for every span.
    """
    gathers = [_Gather(clip, settings) for clip in clips]
    for gather in _pass(gathers, threads):
        yield gather.clip, gather.found()
    # The header promised far more than there was (a truncated file): spread the candidates over what there is.
    again = [_Gather(gather.clip, settings, gather.extent) for gather in gathers if gather.sparse]
    for gather in _pass(again, threads) if again else ():
        yield gather.clip, gather.found()


def _pass(gathers: Sequence[_Gather], threads: int) -> Iterator[_Gather]:
    """Grab frames until every span has ended; give back each gather once it is complete and not sparse."""
    # The backend is named, or OpenCV would try others (image sequences, cameras) with the name.
    capture = cv2.VideoCapture(str(gathers[0].clip.path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, threads])
    try:
        fps = capture.get(cv2.CAP_PROP_FPS)
        fps = fps if 1.0 <= fps <= 240.0 else _USUAL_FPS
        claimed = capture.get(cv2.CAP_PROP_FRAME_COUNT)
        for gather in gathers:
            gather.plan(claimed / fps)
        yield from (gather for gather in gathers if gather.closed)
        ahead = sorted((gather for gather in gathers if not gather.closed), key=lambda one: one.opens, reverse=True)
        inside: list[_Gather] = []
        last, count, buffer, position = -math.inf, 0, None, cv2.CAP_PROP_POS_MSEC
        while (ahead or inside) and capture.grab():
            time = capture.get(position) / 1000.0
            if not last < time < math.inf:  # no timestamp, or one that goes back
                time = last + 1.0 / fps if count else 0.0
            last, count = time, count + 1
            while ahead and ahead[-1].opens <= time:
                inside.append(ahead.pop())
            keen = [gather for gather in inside if gather.wants(time)]
            if keen:
                whole, buffer = capture.retrieve(buffer)  # a fresh 720p array costs more than the conversion
                for gather in keen if whole else ():
                    gather.add(time, buffer)
            yield from (gather for gather in inside if gather.closed)
            inside = [gather for gather in inside if not gather.closed]
        for gather in (*inside, *reversed(ahead)):
            gather.end_of_file(last, 1.0 / fps, cut_off=count < claimed)
            if not gather.sparse:
                yield gather
    finally:
        capture.release()


class _Gather:
    """What one span has seen so far. Complete once `closed`; `sparse` asks for a second pass with `extent` known, the
    seconds that the span really covers."""

    def __init__(self, clip: Clip, settings: FramesSettings, extent: float | None = None) -> None:
        self.clip, self.settings, self.extent = clip, settings, extent
        self.opens = -math.inf if clip.start is None else clip.start
        self.begin = clip.start  # without a start: the time of the first frame, once there is one
        # Candidates to aim for: more cost more than they improve, but a short expression must not fall between two.
        self.density = max(40 if settings.method == "apex" else 16, 4 * settings.per_clip)
        self.step = 1.0 / _USUAL_FPS
        self.slot = -1
        self.kept: list[Candidate] = []
        self.error: ClipError | None = None
        self.closed = self.sparse = False

    def plan(self, claimed: float) -> None:
        """Space the candidates over what the header claims of the span (0 or less: unknown). A claim may be wrong, so
        only one of more than twice the limit closes the span as too long without decoding."""
        start = self.clip.start or 0.0
        end = math.inf if self.clip.end is None else self.clip.end
        known = claimed > start
        extent = self.extent or (min(end, claimed) if known else end) - start
        if extent < math.inf:
            self.step = extent / self.density
        if known and extent > 2.0 * self.settings.max_seconds:
            self._too_long(f"the file claims {extent:.0f} s")

    def wants(self, time: float) -> bool:
        """Whether the frame at `time`, which is not before the span, is to be added; closes the span once past it."""
        if self.clip.end is not None and time >= self.clip.end:
            self.closed = True
            return False
        if self.begin is None:
            self.begin = time
        if time - self.begin >= self.settings.max_seconds:
            self._too_long(f"it goes on for more than {self.settings.max_seconds:g} s")
            return False
        return self._slot(time) > self.slot

    def add(self, time: float, whole: Picture) -> None:
        """Keep the part of the frame that is wanted, at a bounded size."""
        part = cropped(whole, self.clip.crop)
        size = fitted(part.shape[1], part.shape[0], self.settings.long_side)
        if min(size) < MIN_SIDE:
            what = f"a frame of {size[0]}x{size[1]} pixels is left, under {MIN_SIDE} on its short side"
            self._fail("too_small", what, "raise frames.long_side, or take the whole picture")
            return
        self.kept.append(Candidate(time, halved(part, 2 * self.settings.long_side), size))
        if len(self.kept) >= 2 * self.density:  # the header claimed too little
            self.kept = self.kept[::2]
            self.step *= 2.0
        self.slot = self._slot(time)

    def end_of_file(self, last: float, gap: float, *, cut_off: bool) -> None:
        """The file is over, its last frame at `last`; `gap` is the usual time between two frames (seconds). Where fewer
        frames came than claimed, the last one may be a torn packet: it is left out if there are others."""
        if cut_off and len(self.kept) > 1 and self.kept[-1].time == last:
            self.kept.pop()
        if last == -math.inf:
            self._fail("unreadable", "no frame of the file can be decoded", "play it; copy or download it again")
        elif self.opens >= last + gap:
            what = f"the span starts at {self.opens:g} s, after the file's end at {last + gap:.2f} s"
            self._fail("outside", what, "check the times in the corpus")
        elif self.extent is None and self.kept and len(self.kept) < self.density // 2:
            self.extent = last + gap - (self.begin or 0.0)
            self.sparse = self.extent < self.step * self.density / 2.0
        self.closed = True

    def found(self) -> list[Candidate] | ClipError:
        """The candidates or the error, handed over: the pictures are not held any longer."""
        if self.error is None and not self.kept:
            self._fail("empty", "no frame lies in the span", "check the times in the corpus")
        kept, self.kept = self.kept, []
        return self.error or kept

    def _slot(self, time: float) -> int:
        return math.floor((time - (self.begin or 0.0)) / self.step + 1e-6)

    def _too_long(self, what: str) -> None:
        self._fail("too_long", what, "the clip is cut wrongly; if it is not, raise frames.max_seconds")

    def _fail(self, reason: str, what: str, hint: str) -> None:
        self.error = ClipError(reason, what, where=describe(self.clip), hint=hint)
        self.closed = True


def describe(clip: Clip) -> str:
    """The file and the span in words, for messages."""
    start, end = ("start" if clip.start is None else clip.start), ("end" if clip.end is None else clip.end)
    return f"{clip.path} [{start} to {end}]"
