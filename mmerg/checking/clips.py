"""Whether the clips of a corpus can be used: each file opened, its first frame decoded, its length as its header says.

A header may lie, so it acquits and never convicts: whatever looks wrong by it is taken as a run would take it, and the
run's own extractor says what is wrong. What lies behind the first frame of a clip that looks well is not decoded.

    own = wanted_clips(corpus)
    clips = [*own, *ended_clips(own, samples, last_turns=2)]
    flaws, seconds = examine(clips, FramesSettings(), store, lambda done, files: None)
    flaws                                # {Clip(…): Flaw("too_long", "…")}
    long_clips(corpus, seconds)          # {"test_dia0/3": (2.1, 9.8)}
"""

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mmerg.corpora.dialogue import LONGER, Clip, Corpus, Sample
from mmerg.engine.keyframes import recent_clips
from mmerg.errors import ClipError
from mmerg.frames.decode import MIN_SIDE, PAST_END
from mmerg.frames.extract import extract
from mmerg.frames.picture import cropped, fitted
from mmerg.frames.store import FrameStore
from mmerg.frames.video import Video
from mmerg.settings.model import FramesSettings

_SHORTEST = 0.2  # seconds; in a shorter span there may be no frame


class Flaw(NamedTuple):
    """What is wrong with a clip. reason: as in the ClipError of a run."""

    reason: str
    what: str


def wanted_clips(corpus: Corpus) -> dict[Clip, list[str]]:
    """The turns (`dialogue/3`) of each distinct clip of a corpus, in its order."""
    clips: dict[Clip, list[str]] = {}
    for dialogue in corpus.dialogues:
        for number, turn in enumerate(dialogue.turns, start=1):
            if turn.clip:
                clips.setdefault(turn.clip, []).append(f"{dialogue.id}/{number}")
    return clips


def ended_clips(own: Container[Clip], samples: Iterable[Sample], last_turns: int) -> list[Clip]:
    """The distinct clips of the samples' last turns that are not the corpus's own: they end where a target starts."""
    recent = dict.fromkeys(clip for sample in samples for clip in recent_clips(sample.scene, last_turns).values())
    return [clip for clip in recent if clip and clip not in own]


def examine(
    clips: Iterable[Clip], settings: FramesSettings, store: FrameStore, progress: Callable[[int, int], None]
) -> tuple[dict[Clip, Flaw], dict[Path, float]]:
    """The clips with a flaw, and the length of each file in seconds where its header tells it. `progress` gets how many
    files are done, of how many. Raises RunError where the store of decoded frames cannot be written."""
    files: dict[Path, list[Clip]] = {}
    for clip in clips:
        files.setdefault(clip.path, []).append(clip)
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        jobs = {pool.submit(_examine_file, spans, settings, store): path for path, spans in files.items()}
        for done, _ in enumerate(as_completed(jobs), start=1):
            progress(done, len(jobs))
        flaws = {clip: flaw for job in jobs for clip, flaw in job.result()[0].items()}
        return flaws, {path: seconds for job, path in jobs.items() if (seconds := job.result()[1])}
    finally:
        pool.shutdown(cancel_futures=True)  # where the user stops, only the files in hand are waited for


def long_clips(corpus: Corpus, seconds: Mapping[Path, float]) -> dict[str, tuple[float, float]]:
    """The turns (`dialogue/3`) whose clip is over 1.5 times as long as their row says, with the row's length and the
    clip's. A run takes no frame from behind that. seconds: the length of each file."""
    long: dict[str, tuple[float, float]] = {}
    for dialogue in corpus.dialogues:
        for number, turn in enumerate(dialogue.turns, start=1):
            if turn.clip and turn.start is not None and turn.end is not None:
                row, end = turn.end - turn.start, turn.clip.end or seconds.get(turn.clip.path, 0.0)
                if (length := end - (turn.clip.start or 0.0)) > LONGER * row:
                    long[f"{dialogue.id}/{number}"] = round(row, 2), round(length, 2)
    return long


def _examine_file(
    clips: Sequence[Clip], settings: FramesSettings, store: FrameStore
) -> tuple[Mapping[Clip, Flaw], float | None]:
    header = _header(clips[0].path)
    doubtful = [clip for clip in clips if header is None or _doubtful(clip, *header, settings)]
    taken = zip(doubtful, extract(doubtful, settings, store), strict=True)
    flaws = {clip: Flaw(found.reason, found.what) for clip, found in taken if isinstance(found, ClipError)}
    return flaws, header[0] if header else None


def _header(path: Path) -> tuple[float | None, float, int, int] | None:
    """The length in seconds by the file's header (None: no sensible one), and its first frame's time, width and height.
    None where this frame cannot be decoded."""
    try:
        with Video(path) as video:
            first = next(video.frames(), None)
            return (video.seconds, first.time, *first.picture().shape[1::-1]) if first else None
    except (ClipError, OSError, ValueError):  # ValueError: a null byte in the name
        return None


def _doubtful(
    clip: Clip, seconds: float | None, first: float, width: int, height: int, settings: FramesSettings
) -> bool:
    """Whether, by the header, a run may get no frames. first: the time of the first frame."""
    if seconds is None or (clip.end is not None and clip.end <= first):
        return True
    if clip.start is not None and clip.end is not None and clip.end > seconds + PAST_END:
        return True
    start = clip.start or 0.0
    end = seconds if clip.end is None else min(clip.end, seconds)
    asked = end - start if clip.start is None or clip.end is None else clip.end - start
    if not (start >= 0.0 and end - start >= _SHORTEST and asked <= settings.max_seconds):
        return True
    # A picture of the right shape that takes no memory: the crop's edges are rounded in one place.
    part = cropped(np.broadcast_to(np.uint8(0), (height, width, 3)), clip.crop)
    return min(fitted(part.shape[1], part.shape[0], settings.long_side)) < MIN_SIDE
