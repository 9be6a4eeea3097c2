"""Which clips a run will look at, so that a file is decoded once for all samples that use it.

Where many turns share one file (an IEMOCAP dialogue is one avi of minutes), a pass for each sample would decode the
file from its start again and again. The first sample that touches such a file has everything taken from it.

    planned = clips_by_file(samples, last_turns=2)    # {Path("Ses05F_impro01.avi"): (Clip(...), Clip(...))}
    Ahead(planned).extract(clips, FrameSettings(), store)
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mmerg.corpora.dialogue import Clip, Sample, Scene
from mmerg.errors import ClipError, Failure, SampleError
from mmerg.frames.extract import Found, extract
from mmerg.frames.store import FrameSettings, FrameStore
from mmerg.storage.snapshot import Snapshot


def looked_at(scene: Scene, last_turns: int) -> dict[int, Clip | None]:
    """The clips of the last turns, by turn number from 1; None for a turn that has none."""
    first = max(0, len(scene.history) - last_turns)
    return {number: turn.clip for number, turn in enumerate(scene.history[first:], start=first + 1)}


def clips_by_file(samples: Iterable[Sample], last_turns: int) -> dict[Path, tuple[Clip, ...]]:
    """All distinct clips that the samples look at, for files of which there is more than one."""
    files: dict[Path, dict[Clip, None]] = {}
    for sample in samples:
        for clip in looked_at(sample.scene, last_turns).values():
            if clip:
                files.setdefault(clip.path, {})[clip] = None
    return {path: tuple(clips) for path, clips in files.items() if len(clips) > 1}


def files_there(samples: Iterable[Sample], last_turns: int) -> Snapshot:
    """The files that the samples look at, as they are now."""
    clips = (clip for sample in samples for clip in looked_at(sample.scene, last_turns).values())
    return Snapshot.of(clip.path for clip in clips if clip)


class Ahead:
    """Takes the clips of planned files ahead of their use: each file once, whichever thread comes first.

    What was taken is found again in the store; what failed is kept here, as a span outside its file would cost a whole
    pass once more. `there` are the files as they were when the run began: one that is gone or changed since, as with a
    disk that is not mounted any more, fails its sample, which would else be another one.
    """

    def __init__(self, planned: Mapping[Path, tuple[Clip, ...]] | None = None, there: Snapshot | None = None) -> None:
        self.planned, self.there = planned or {}, there or Snapshot()
        self._locks = {path: threading.Lock() for path in self.planned}
        self._taken: set[Path] = set()
        self._failed: dict[Clip, ClipError] = {}

    def extract(self, clips: Sequence[Clip], settings: FrameSettings, store: FrameStore) -> list[Found]:
        """As `mmerg.frames.extract.extract`; the first call for a planned file takes all of the plan's clips of it.

        Raises SampleError (clip_gone) where a file that was there is gone or has another size.
        """
        for path in dict.fromkeys(clip.path for clip in clips if clip.path in self.planned):
            with self._locks[path]:
                if path not in self._taken:
                    found = self._extract(self.planned[path], settings, store)
                    self._failed |= {clip: one for clip, one in found.items() if isinstance(one, ClipError)}
                    self._taken.add(path)
        taken = self._extract([clip for clip in clips if clip not in self._failed], settings, store)
        return [taken[clip] if clip in taken else self._failed[clip] for clip in clips]

    def _extract(self, clips: Sequence[Clip], settings: FrameSettings, store: FrameStore) -> dict[Clip, Found]:
        found = dict(zip(clips, extract(clips, settings, store), strict=True))
        for path in self.there.changed({clip.path for clip in clips}):
            what = f"a clip was there when the run began and {'has changed' if path.exists() else 'is gone'}"
            hint = "put it back or mount its disk; the same command with only_failed=true does this sample again"
            raise SampleError(Failure.CLIP_GONE, what, where=str(path), hint=hint)
        return found
