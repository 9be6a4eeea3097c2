"""Clips that give no frames, and clips that are much longer than their turns.

As headers may be wrong, clips that look bad by their header, and clips that samples show, are extracted as in a run,
which then uses these frames again.

times = read_times(corpus, lambda done, files: None)
doubtful = find_doubtful_spans(corpus, times)
bad = find_bad_clips(samples, doubtful, FramesSettings(), store, lambda done, files: None)  # {Clip(…): ClipError(…)}
find_long_clips(corpus, times)                                                    # {"test_dia0/3": (2.1, 9.8)}
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mmerg.corpora.dialogue import OVERLONG, Clip, Corpus, Sample
from mmerg.engine.keyframes import get_recent_clips
from mmerg.errors import ClipError
from mmerg.frames.decode import PAST_END
from mmerg.frames.extract import extract
from mmerg.frames.store import FrameStore
from mmerg.frames.video import Video
from mmerg.settings.model import FramesSettings

Progress = Callable[[int, int], None]  # gets the number of files that are done and of all files
Times = Mapping[Path, tuple[float, float]]


def read_times(corpus: Corpus, progress: Progress) -> Times:
    """Reads the start of the picture in each file, and its end by the header, in seconds. Skips unreadable files."""

    def read(path: Path) -> tuple[float, float] | None:
        try:
            with Video(path) as video:
                first = next(video.frames(), None)
                return (first.time, video.seconds) if first and video.seconds else None
        except (ClipError, OSError, ValueError):  # ValueError: a null byte in the name
            return None

    paths = list({turn.clip.path: None for dialogue in corpus.dialogues for turn in dialogue.turns if turn.clip})
    times: dict[Path, tuple[float, float]] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for done, (path, span) in enumerate(zip(paths, pool.map(read, paths), strict=True), start=1):
            progress(done, len(paths))
            if span:
                times[path] = span
    return times


def find_doubtful_spans(corpus: Corpus, times: Times) -> list[Clip]:
    """Finds the clips whose span ends before the picture of the file starts, or exceeds its end."""
    doubtful: dict[Clip, None] = {}
    for clip in (turn.clip for dialogue in corpus.dialogues for turn in dialogue.turns):
        if clip and clip.path in times:
            picture_start, picture_end = times[clip.path]
            early = clip.end is not None and clip.end <= picture_start
            late = clip.start is not None and clip.start >= picture_end
            too_long = clip.start is not None and clip.end is not None and clip.end > picture_end + PAST_END
            if early or late or too_long:
                doubtful[clip] = None
    return list(doubtful)


def find_long_clips(corpus: Corpus, times: Times) -> dict[str, tuple[float, float]]:
    """Finds the turns ("dialogue/3") whose clip is over 1.5 times as long as their row, with the length of the row and
    of the clip in seconds. A run uses no frame after 1.5 times the row."""
    long: dict[str, tuple[float, float]] = {}
    for dialogue in corpus.dialogues:
        for number, turn in enumerate(dialogue.turns, start=1):
            clip = turn.clip
            if clip and clip.path in times and turn.start is not None and turn.end is not None:
                row, length = turn.end - turn.start, (clip.end or times[clip.path][1]) - (clip.start or 0.0)
                if length > OVERLONG * row:
                    long[f"{dialogue.id}/{number}"] = round(row, 2), round(length, 2)
    return long


def find_bad_clips(
    samples: Iterable[Sample],
    doubtful: Iterable[Clip],
    settings: FramesSettings,
    store: FrameStore,
    progress: Progress,
) -> dict[Clip, ClipError]:
    """Finds the clips that give no frames, with the errors. Tries the doubtful clips, and those of the last turns of
    samples. Raises RunError if the store cannot be written."""
    files: dict[Path, dict[Clip, None]] = defaultdict(dict)
    for clip in doubtful:
        files[clip.path][clip] = None
    for sample in samples:
        for shown in get_recent_clips(sample.scene, settings.last_turns).values():
            if shown:
                files[shown.path][shown] = None

    def find(clips: Sequence[Clip]) -> dict[Clip, ClipError]:
        outcomes = zip(clips, extract(clips, settings, store), strict=True)
        return {clip: outcome for clip, outcome in outcomes if isinstance(outcome, ClipError)}

    bad: dict[Clip, ClipError] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for done, found in enumerate(pool.map(find, map(list, files.values())), start=1):
            progress(done, len(files))
            bad |= found
    return bad
