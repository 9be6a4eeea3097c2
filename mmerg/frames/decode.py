"""Collects candidate frames for all wanted spans of a video file in one pass.

It does not seek: a short clip is one group of pictures, and a seek past the end of a truncated file returns an old
frame.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.picture import Picture, crop_picture, fit_size, halve_picture
from mmerg.frames.video import Decoded, Video
from mmerg.settings.model import FramesSettings

PAST_END = 1.0  # seconds by which a span may exceed its file
MIN_SIDE = 32  # pixels; Qwen-VL runners crash below 28, newer ones below 32
_USUAL_FPS = 25.0  # the spacing of candidates if a header gives no length


@dataclass(frozen=True)
class Candidate:
    """A frame that may become a keyframe. time: seconds in the file. size: as a keyframe, in pixels. The cropped
    picture is at least of this size, and smaller than twice the wanted long side."""

    time: float
    picture: Picture
    size: tuple[int, int]


class _Gather:
    """The candidates of one span so far. closed: no more frames are needed."""

    def __init__(self, clip: Clip, settings: FramesSettings, claimed: float) -> None:
        """claimed: the length of the file by its header in seconds, by which candidates are spaced; 0 or less if
        unknown. As it may be wrong, only a claim of more than twice the limit is refused without decoding."""
        self.clip, self.settings = clip, settings
        self.begin = clip.start  # without a start: later, the time of the first frame
        self.end = math.inf if clip.end is None else clip.end
        # More candidates cost more than they improve, but a short expression must not fall between two.
        self.density = max(40 if settings.method == "apex" else 16, 4 * settings.per_clip)
        self.slot = -1
        self.kept: list[Candidate] = []
        self.error: ClipError | None = None
        self.closed = False
        start = clip.start or 0.0
        known = claimed > start
        seconds = (min(self.end, claimed) if known else self.end) - start
        # A part of a very short span may round to 0.
        self.step = max(seconds / self.density, 1e-9) if seconds < math.inf else 1.0 / _USUAL_FPS
        if known and seconds > 2.0 * settings.max_seconds:
            self._too_long(f"the file claims {seconds:.0f} s")

    def wants(self, time: float) -> bool:
        """Whether to add the frame at `time`. Closes the span if it is past."""
        if self.clip.start is not None and time < self.clip.start:
            return False
        if time >= self.end:
            self.closed = True
            return False
        if self.begin is None:
            self.begin = time
        if time - self.begin >= self.settings.max_seconds:
            self._too_long(f"it is longer than {self.settings.max_seconds:g} s")
            return False
        return self._slot(time) > self.slot

    def missed(self, before: Decoded | None, time: float) -> bool:
        """Whether the frame `before` the one at `time` is still shown when the span starts and for a step after that,
        as in screen recordings and slides."""
        start = self.clip.start
        if start is None or before is None or self.slot >= 0 or self.closed:
            return False
        return before.time < start < time and time >= min(start + self.step, self.end)

    def add(self, time: float, whole: Picture) -> None:
        """Keep the wanted part of the frame at a bounded size."""
        part = crop_picture(whole, self.clip.crop)
        size = fit_size(part.shape[1], part.shape[0], self.settings.long_side)
        if min(size) < MIN_SIDE:
            what = f"a frame of {size[0]}x{size[1]} pixels is left, under {MIN_SIDE} on its short side"
            self._fail("too_small", what, "raise frames.long_side, or use the whole picture")
            return
        self.kept.append(Candidate(time, halve_picture(part, 2 * self.settings.long_side), size))
        if len(self.kept) >= 2 * self.density:  # the header claimed too little
            self.kept = self.kept[::2]
            self.step *= 2.0
        self.slot = self._slot(time)

    def end_of_file(self, last: float, end: float, *, cut_off: bool) -> None:
        """Close the span. The file ends at `end`, and its last frame was at `last` (seconds). cut_off: it has fewer
        frames than it claims, so the last may be damaged and is left out if there are others."""
        if cut_off and len(self.kept) > 1 and self.kept[-1].time == last:
            self.kept.pop()
        start, stop = self.clip.start, self.clip.end
        if last == -math.inf:
            self._fail("unreadable", "no frame of the file can be decoded", "play it; copy or download it again")
        elif start is not None and start >= end:
            what = f"the span starts at {start:g} s, after the file's end at {end:.2f} s"
            self._fail("outside", what, "check the times in the corpus")
        elif start is not None and stop is not None and stop > end + PAST_END and not cut_off:
            # The times belong to another recording, so these frames may show another turn.
            what = f"the span ends at {stop:g} s, after the file's end at {end:.2f} s"
            self._fail("past_end", what, "check the times in the corpus")
        self.closed = True

    def outcome(self) -> list[Candidate] | ClipError:
        """The candidates, or the error if there are none."""
        if self.error is None and not self.kept:
            self._fail("empty", "no frame lies in the span", "check the times in the corpus")
        return self.error or self.kept

    def _slot(self, time: float) -> int:
        return math.floor((time - (self.begin or 0.0)) / self.step + 1e-6)

    def _too_long(self, what: str) -> None:
        self._fail("too_long", what, "the clip is cut wrongly; if it is not, raise frames.max_seconds")

    def _fail(self, reason: str, what: str, hint: str) -> None:
        self.error = ClipError(reason, what, where=str(self.clip), hint=hint)
        self.closed = True


def decode(
    clips: Sequence[Clip], settings: FramesSettings, threads: int = 1
) -> Iterator[tuple[Clip, list[Candidate] | ClipError]]:
    """Each of `clips`, all of one file, with its candidates in order of time or an error (unreadable, empty, outside,
    past_end, too_long, too_small).

    A span is half open. Spans are yielded as they end, so that only the pictures of open spans are in memory. threads:
    of the decoder.
    """
    try:
        video = Video(clips[0].path, threads)
    except (ClipError, OSError):
        for clip in clips:
            gather = _Gather(clip, settings, 0.0)
            gather.end_of_file(-math.inf, 0.0, cut_off=False)
            yield clip, gather.outcome()
        return
    with video:
        gathers = [_Gather(clip, settings, video.seconds or 0.0) for clip in clips]
        count, before, frames = 0, None, video.frames()
        while True:
            yield from ((gather.clip, gather.outcome()) for gather in gathers if gather.closed)
            gathers = [gather for gather in gathers if not gather.closed]
            frame = next(frames, None) if gathers else None
            if frame is None:
                break
            count += 1
            for gather in gathers:
                if before and gather.missed(before, frame.time):
                    gather.add(gather.clip.start or 0.0, before.picture())
            if wanting := [gather for gather in gathers if gather.wants(frame.time)]:
                picture = frame.picture()
                for gather in wanting:
                    gather.add(frame.time, picture)
            before = frame
        last, end = (before.time, before.time + before.duration) if before else (-math.inf, 0.0)
        cut_off = count < video.count and end < video.claimed_end - 0.5 / video.fps
        for gather in gathers:
            if before and gather.missed(before, end):
                gather.add(gather.clip.start or 0.0, before.picture())
            gather.end_of_file(last, end, cut_off=cut_off)
            yield gather.clip, gather.outcome()
