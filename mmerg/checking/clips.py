"""Whether the clips of a corpus can be used: each file opened, its first frame decoded, its length as its header says.

A header may lie, so it acquits and never convicts: whatever looks wrong by it is taken as a run would take it, and the
run's own extractor says what is wrong. What lies behind the first frame of a clip that looks well is not decoded.

    own = wanted_clips(corpus)
    wanted = [*own, *ended_clips(own, samples, last_turns=2)]
    examine(wanted, FramesSettings(), store, lambda done, files: None)    # {Clip(…): Flaw("too_long", "…")}
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mmerg.corpora.dialogue import Clip, Corpus, Sample
from mmerg.engine.look import recent_clips
from mmerg.errors import ClipError
from mmerg.frames.decode import MIN_SIDE
from mmerg.frames.extract import extract
from mmerg.frames.picture import cropped, cv2, fitted
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings

LONG, PAST_END = HARMLESS = "long", "past_end"  # frames are taken, but the clip is worth a look
_TIMES_AS_LONG, _SECONDS_MORE = 3.0, 5.0  # over this a clip is far longer than its turn
_SHORTEST = 0.2  # seconds; in a shorter span there may be no frame


@dataclass(frozen=True)
class Wanted:
    """A clip and its turns (`dialogue/3`). seconds: the length of the last turn by its times, or at a word a second."""

    clip: Clip
    turns: tuple[str, ...]
    seconds: float
    timed: bool


class Flaw(NamedTuple):
    """What is wrong with a clip. reason: as in the ClipError of a run, or a HARMLESS one."""

    reason: str
    what: str


def wanted_clips(corpus: Corpus) -> list[Wanted]:
    """The distinct clips of a corpus with their turns, in its order."""
    clips: dict[Clip, Wanted] = {}
    for dialogue in corpus.dialogues:
        for number, turn in enumerate(dialogue.turns, start=1):
            if turn.clip is None:
                continue
            timed = turn.start is not None and turn.end is not None
            seconds = turn.end - turn.start if timed else float(len(turn.text.split()))  # type: ignore[operator]
            before = clips[turn.clip].turns if turn.clip in clips else ()
            clips[turn.clip] = Wanted(turn.clip, (*before, f"{dialogue.id}/{number}"), seconds, timed)
    return list(clips.values())


def ended_clips(own: Iterable[Wanted], samples: Iterable[Sample], last_turns: int) -> list[Wanted]:
    """The distinct clips of the samples' last turns that are not the corpus's own: they end where a target starts."""
    known = {one.clip for one in own}
    recent = dict.fromkeys(clip for sample in samples for clip in recent_clips(sample.scene, last_turns).values())
    return [Wanted(clip, (), math.inf, timed=False) for clip in recent if clip and clip not in known]


def listed(wanted: Iterable[Wanted]) -> dict[Clip, Flaw]:
    """The clips whose file is missing, unreadable or empty, without opening any."""
    flaws: dict[Clip, Flaw] = {}
    for one in wanted:
        try:
            if not os.stat(one.clip.path).st_size:  # noqa: PTH116  (as os.path: a null byte is a ValueError here, too)
                flaws[one.clip] = Flaw("unreadable", "the file is empty")
        except (FileNotFoundError, NotADirectoryError, ValueError):
            flaws[one.clip] = Flaw("missing", "there is no such file")
        except OSError as error:
            flaws[one.clip] = Flaw("unreadable", f"the file cannot be read: {error.strerror}")
    return flaws


def examine(
    wanted: Iterable[Wanted], settings: FramesSettings, store: FrameStore, progress: Callable[[int, int], None]
) -> dict[Clip, Flaw]:
    """The clips with a flaw. `progress` gets how many files are done, of how many. Raises RunError where the store of
    decoded frames cannot be written."""
    files: dict[Path, list[Wanted]] = {}
    for one in wanted:
        files.setdefault(one.clip.path, []).append(one)
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        jobs = [pool.submit(_examine_file, spans, settings, store) for spans in files.values()]
        for done, _ in enumerate(as_completed(jobs), start=1):
            progress(done, len(jobs))
        return {clip: flaw for job in jobs for clip, flaw in job.result().items()}
    finally:
        pool.shutdown(cancel_futures=True)  # where the user stops, only the files in hand are waited for


def _examine_file(spans: Sequence[Wanted], settings: FramesSettings, store: FrameStore) -> Mapping[Clip, Flaw]:
    header = _header(spans[0].clip.path)
    doubtful = [one.clip for one in spans if header is None or _doubtful(one.clip, *header, settings)]
    taken = dict(zip(doubtful, extract(doubtful, settings, store), strict=True))
    flaws: dict[Clip, Flaw] = {}
    for one in spans:
        frames = taken.get(one.clip)
        if isinstance(frames, ClipError):
            flaws[one.clip] = Flaw(frames.reason, frames.what)
        elif header and header[0] and (odd := _odd(one, header[0])):
            flaws[one.clip] = odd
    return flaws


def _header(path: Path) -> tuple[float | None, int, int] | None:
    """The length in seconds by the file's header (None: no sensible one), and its first frame's width and height. None
    where this frame cannot be decoded."""
    if any("\ud800" <= letter <= "\udfff" for letter in str(path)) or "\0" in str(path):
        return None  # OpenCV crashes on a name that is not proper Unicode
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    try:
        fps, frames = capture.get(cv2.CAP_PROP_FPS), capture.get(cv2.CAP_PROP_FRAME_COUNT)
        whole, picture = capture.read()
    finally:
        capture.release()
    if not whole:
        return None
    seconds = frames / fps if 1.0 <= fps <= 240.0 and frames > 0 else None
    return seconds, picture.shape[1], picture.shape[0]


def _doubtful(clip: Clip, seconds: float | None, width: int, height: int, settings: FramesSettings) -> bool:
    """Whether, by the header, a run may get no frames."""
    if seconds is None:
        return True
    start = clip.start or 0.0
    end = seconds if clip.end is None else min(clip.end, seconds)
    asked = end - start if clip.start is None or clip.end is None else clip.end - start
    if not (start >= 0.0 and end - start >= _SHORTEST and asked <= settings.max_seconds):
        return True
    # A picture of the right shape that takes no memory: the crop's edges are rounded in one place.
    part = cropped(np.broadcast_to(np.uint8(0), (height, width, 3)), clip.crop)
    return min(fitted(part.shape[1], part.shape[0], settings.long_side)) < MIN_SIDE


def _odd(one: Wanted, claimed: float) -> Flaw | None:
    """Why a clip is worth a look although it gives frames. claimed: its seconds by its header."""
    clip = one.clip
    if clip.end is not None and clip.end > claimed + 1.0:
        return Flaw(PAST_END, f"the span ends at {clip.end:g} s, and the file at {claimed:.1f} s, by its container")
    alone = clip.start is None and clip.end is None and (one.timed or len(one.turns) == 1)
    if alone and claimed > _TIMES_AS_LONG * one.seconds + _SECONDS_MORE:
        says = f"{one.seconds:.1f} s by its times" if one.timed else f"{one.seconds:.0f} words"
        return Flaw(LONG, f"{claimed:.1f} s by its container; the turn is {says}")
    return None
