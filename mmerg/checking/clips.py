"""Which clips give no frames. Each clip that a sample shows is extracted as a run does, and the run reuses the frames.

bad = find_bad_clips(samples, FramesSettings(), store, lambda done, files: None)    # {Clip(…): ClipError(…)}
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mmerg.corpora.dialogue import Clip, Sample
from mmerg.engine.keyframes import recent_clips
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings


def find_bad_clips(
    samples: Iterable[Sample], settings: FramesSettings, store: FrameStore, progress: Callable[[int, int], None]
) -> dict[Clip, ClipError]:
    """The clips of the samples' last turns that give no frames, and why. `progress` gets the number of files that are
    done and of all files. Raises RunError if the store cannot be written."""
    files: dict[Path, dict[Clip, None]] = defaultdict(dict)
    for sample in samples:
        for clip in recent_clips(sample.scene, settings.last_turns).values():
            if clip:
                files[clip.path][clip] = None

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
