"""Which clips give no frames, and which are much longer than their turns. A header may be wrong, so clips that look bad
by it, and those that samples show, are extracted as a run does. The run reuses the frames.

times = read_times(corpus, lambda done, files: None)
doubtful = find_doubtful_spans(corpus, times)
bad = find_bad_clips(samples, doubtful, FramesSettings(), store, lambda done, files: None)  # {Clip(…): ClipError(…)}
find_long_clips(corpus, times)                                                    # {"test_dia0/3": (2.1, 9.8)}
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
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
    """When the picture of each file starts, and when it ends by the header, in seconds. Leaves out unreadable files."""

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
        for done, (path, found) in enumerate(zip(paths, pool.map(read, paths), strict=True), start=1):
            progress(done, len(paths))
            if found:
                times[path] = found
    return times


def find_doubtful_spans(corpus: Corpus, times: Times) -> list[Clip]:
    """The clips whose span ends before the picture starts, or lies past the clip's end."""
    doubtful: dict[Clip, None] = {}
    for clip in (turn.clip for dialogue in corpus.dialogues for turn in dialogue.turns):
        if clip and clip.path in times:
            first, last = times[clip.path]
            start, end = clip.start, clip.end
            early = end is not None and end <= first
            if early or (start is not None and (start >= last or (end is not None and end > last + PAST_END))):
                doubtful[clip] = None
    return list(doubtful)


def find_long_clips(corpus: Corpus, times: Times) -> dict[str, tuple[float, float]]:
    """The turns ("dialogue/3") with a clip over 1.5 times as long as their row says, with both lengths. A run uses no
    frame after that."""
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
    """Those of the doubtful clips, and of the clips of the samples' last turns, that give no frames, and why. Raises
    RunError if the store cannot be written."""
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

    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        jobs = [pool.submit(find, list(clips)) for clips in files.values()]
        for done, _ in enumerate(as_completed(jobs), start=1):
            progress(done, len(jobs))
        return {clip: error for job in jobs for clip, error in job.result().items()}
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C, only files in progress are finished
