"""The candidate frames of all wanted spans of a video file, collected in one pass.

It does not seek: a short clip is a single group of pictures, and after the end of a truncated file a seek returns an
earlier frame.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.picture import Picture, crop_picture, fit_size, halve_picture
from mmerg.frames.video import DecodedFrame, Video
from mmerg.settings.model import FramesSettings

PAST_END = 1.0  # seconds by which a span may end after its file
MIN_SIDE = 32  # pixels; runners of Qwen-VL crash below 28, newer ones below 32
_USUAL_FPS = 25.0  # spaces the candidates if the header has no length


@dataclass(frozen=True)
class Candidate:
    """A frame that may become a keyframe."""

    time: float  # seconds in the file
    picture: Picture  # cropped, at least of `size`, and with a long side under twice `frames.long_side`
    size: tuple[int, int]  # width and height of the keyframe in pixels


class _SpanFrames:
    """The candidates of a span: one frame in each step of time. Once `closed`, it needs no more frames. file_end: the
    end of the file by its header (seconds), which sets the step; 0 or less if unknown."""

    def __init__(self, clip: Clip, settings: FramesSettings, file_end: float) -> None:
        self.clip, self.settings = clip, settings
        self.start = clip.start  # if None, the first frame sets it
        self.end = math.inf if clip.end is None else clip.end
        # More candidates would cost more than they improve, but a short expression must not fall between two of them.
        self.density = max(40 if settings.method == "apex" else 16, 4 * settings.per_clip)
        self.last_step = -1  # the number of the step of the latest candidate
        self.candidates: list[Candidate] = []
        self.error: ClipError | None = None
        self.closed = False
        seconds = min(self.end, file_end if file_end > 0.0 else math.inf) - (clip.start or 0.0)
        self.step = seconds / self.density if 0.0 < seconds < math.inf else 1.0 / _USUAL_FPS

    def wants(self, time: float) -> bool:
        """Returns True if the frame at `time` is to be added. Closes the span if `time` is after its end."""
        if self.clip.start is not None and time < self.clip.start:
            return False
        if time >= self.end:
            self.closed = True
            return False
        if self.start is None:
            self.start = time
        if time - self.start >= self.settings.max_seconds:
            what = f"it is longer than {self.settings.max_seconds:g} s"
            self._fail("too_long", what, "the clip is cut wrongly; if it is not, raise frames.max_seconds")
            return False
        return self._number_step(time) > self.last_step

    def missed(self, before: DecodedFrame | None, time: float) -> bool:
        """Returns True if the frame `before` the frame at `time` is still shown at the start of the span and for a step
        after that, as in screen recordings and slides."""
        start = self.clip.start
        if start is None or before is None or self.last_step >= 0 or self.closed:
            return False
        return before.time < start < time and time >= min(start + self.step, self.end)

    def add(self, time: float, whole: Picture) -> None:
        """Adds the cropped frame as a candidate, shrunk to a bounded size."""
        part = crop_picture(whole, self.clip.crop)
        size = fit_size(part.shape[1], part.shape[0], self.settings.long_side)
        if min(size) < MIN_SIDE:
            what = f"the frame would have {size[0]}x{size[1]} pixels, under {MIN_SIDE} on its short side"
            self._fail("too_small", what, "raise frames.long_side, or use the whole picture")
            return
        self.candidates.append(Candidate(time, halve_picture(part, 2 * self.settings.long_side), size))
        if len(self.candidates) >= 2 * self.density:  # the header claimed too short a length
            self.candidates = self.candidates[::2]
            self.step *= 2.0
        self.last_step = self._number_step(time)

    def end_of_file(self, end: float) -> None:
        """Closes the span. end: the end of the file's last frame, in seconds; 0 if no frame can be decoded."""
        start, stop = self.clip.start, self.clip.end
        if end == 0.0:
            self._fail("unreadable", "no frame of the file can be decoded", "play it; copy or download it again")
        elif start is not None and start >= end:
            what = f"the span starts at {start:g} s, after the file's end at {end:.2f} s"
            self._fail("outside", what, "check the times in the corpus")
        elif start is not None and stop is not None and stop > end + PAST_END:
            # The times may belong to another recording, so these frames may show another turn.
            what = f"the span ends at {stop:g} s, after the file's end at {end:.2f} s"
            self._fail("past_end", what, "check the times in the corpus, and whether the file is whole")
        self.closed = True

    def outcome(self) -> list[Candidate] | ClipError:
        """Returns the candidates, or the error if there are none."""
        if self.error is None and not self.candidates:
            self._fail("empty", "no frame lies in the span", "check the times in the corpus")
        return self.error or self.candidates

    def _number_step(self, time: float) -> int:
        return math.floor((time - (self.start or 0.0)) / self.step + 1e-6)

    def _fail(self, reason: str, what: str, hint: str) -> None:
        self.error = ClipError(reason, what, where=str(self.clip), hint=hint)
        self.closed = True


def decode(
    clips: Sequence[Clip], settings: FramesSettings, threads: int = 1
) -> Iterator[tuple[Clip, list[Candidate] | ClipError]]:
    """Yields each of `clips`, all of one file, with its candidates in order of time, or else with an error (unreadable,
    empty, outside, past_end, too_long, too_small). A span is half open. Clips are yielded as their spans end, so that
    only the pictures of open spans are in memory. threads: of the decoder."""
    try:
        video = Video(clips[0].path, threads)
    except (ClipError, OSError):
        for clip in clips:
            span = _SpanFrames(clip, settings, 0.0)
            span.end_of_file(0.0)
            yield clip, span.outcome()
        return
    with video:
        spans = [_SpanFrames(clip, settings, video.seconds) for clip in clips]
        before, frames = None, video.frames()
        while True:
            yield from ((span.clip, span.outcome()) for span in spans if span.closed)
            spans = [span for span in spans if not span.closed]
            frame = next(frames, None) if spans else None
            if frame is None:
                break
            for span in spans:
                if before and span.missed(before, frame.time):
                    span.add(span.clip.start or 0.0, before.picture())
            wanting = [span for span in spans if span.wants(frame.time)]
            if wanting:
                picture = frame.picture()
                for span in wanting:
                    span.add(frame.time, picture)
            before = frame
        end = before.time + before.duration if before else 0.0
        for span in spans:
            if before and span.missed(before, end):
                span.add(span.clip.start or 0.0, before.picture())
            span.end_of_file(end)
            yield span.clip, span.outcome()
