"""Keyframes of the last turns of a scene, as images or as descriptions.

A model with vision gets JPEGs, or one grid of them if it takes a single image. Other models get descriptions that are
measured by image processing. A turn with a missing or bad clip has text only, and the trace gives the reason. Grey
pictures, and frames of another conversation, are controls: they test if a model uses its images.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from mmerg.backends.protocol import Image
from mmerg.corpora.dialogue import Clip, Sample, Scene
from mmerg.engine.prompts import get_frames_form
from mmerg.engine.state import State
from mmerg.errors import ClipError, ConfigError, Failure, SampleError
from mmerg.frames.describe import describe_frames
from mmerg.frames.extract import Outcome, extract
from mmerg.frames.picture import make_montage, to_jpeg
from mmerg.frames.store import Frame, FrameStore, Keyframe
from mmerg.runs import events
from mmerg.runs.events import OVER_BUDGET, Emit
from mmerg.settings.model import FramesSettings
from mmerg.storage.files import Snapshot

COULD_SHOW_TARGET = "could_show_target"  # it is unknown which part of the clip precedes the target


def get_recent_clips(scene: Scene, last_turns: int) -> dict[int, Clip | None]:
    """Returns the clips of the last turns by turn number, from 1; None for a turn without a clip."""
    first = max(0, len(scene.history) - last_turns)
    return {number: turn.clip for number, turn in enumerate(scene.history[first:], start=first + 1)}


def shuffle_clips(samples: Sequence[Sample], settings: FramesSettings) -> tuple[Sample, ...]:
    """Returns, with `show=shuffled`, the samples with the clips of another conversation's last turns; else the same
    samples. The latest clip replaces the latest. Which conversation it is depends only on the samples' ids. Raises
    ConfigError if only one conversation has clips."""
    if settings.show != "shuffled":
        return tuple(samples)
    clips = {sample.id: _present_clips(sample.scene, settings.last_turns) for sample in samples}
    with_clips = [sample for sample in samples if clips[sample.id]]
    ring = sorted(with_clips, key=lambda sample: sha256(sample.id.encode()).digest())
    if len({sample.conversation for sample in ring}) == 1:
        what, hint = "the frames of a single conversation cannot be shuffled", "use frames=blank"
        raise ConfigError(what, where="frames.show=shuffled", hint=hint)
    changed: dict[str, Sample] = {}
    for place, sample in enumerate(ring):
        others = (*ring[place + 1 :], *ring[:place])
        donor = next(other for other in others if other.conversation != sample.conversation)
        donated = list(clips[donor.id].values())
        new_clips = {turn: donated[-1 - n % len(donated)] for n, turn in enumerate(reversed(clips[sample.id]))}
        turns = enumerate(sample.scene.history, start=1)
        history = tuple(replace(turn, clip=new_clips.get(number, turn.clip)) for number, turn in turns)
        changed[sample.id] = replace(sample, scene=replace(sample.scene, history=history))
    return tuple(changed.get(sample.id, sample) for sample in samples)


def _present_clips(scene: Scene, last_turns: int) -> dict[int, Clip]:
    return {number: clip for number, clip in get_recent_clips(scene, last_turns).items() if clip}


def group_clips_by_file(samples: Iterable[Sample], last_turns: int) -> dict[Path, tuple[Clip, ...]]:
    """Returns the distinct clips of each file with several clips, so that the file can be decoded once for all. A
    dialogue of IEMOCAP is one AVI of several minutes, and each decoding starts at its beginning."""
    files: dict[Path, dict[Clip, None]] = {}
    for sample in samples:
        for clip in _present_clips(sample.scene, last_turns).values():
            files.setdefault(clip.path, {})[clip] = None
    return {path: tuple(clips) for path, clips in files.items() if len(clips) > 1}


def snapshot_clips(samples: Iterable[Sample], last_turns: int) -> Snapshot:
    """Returns a snapshot of the files from which the samples' clips are read."""
    return Snapshot.take(clip.path for sample in samples for clip in _present_clips(sample.scene, last_turns).values())


class ClipPrefetcher:
    """An extractor of frames from clips. All clips of a planned file are extracted in one pass, at its first use; later
    reads use the store.

    planned: by file. snapshot: the files at the start of the run; if one is missing or changes, its sample fails.
    """

    def __init__(
        self, planned: Mapping[Path, tuple[Clip, ...]] | None = None, snapshot: Snapshot | None = None
    ) -> None:
        self.planned, self.snapshot = planned or {}, snapshot or Snapshot()
        self._locks = {path: threading.Lock() for path in self.planned}
        self._extracted: set[Path] = set()

    def extract(self, clips: Sequence[Clip], settings: FramesSettings, store: FrameStore) -> list[Outcome]:
        """Extracts frames, as `mmerg.frames.extract.extract` does. Raises SampleError (clip_gone) if a file is missing
        or has another size than at the start of the run."""
        for path in dict.fromkeys(clip.path for clip in clips if clip.path in self.planned):
            with self._locks[path]:
                if path not in self._extracted:
                    self._extract(self.planned[path], settings, store)
                    self._extracted.add(path)
        return self._extract(clips, settings, store)

    def _extract(self, clips: Sequence[Clip], settings: FramesSettings, store: FrameStore) -> list[Outcome]:
        outcomes = extract(clips, settings, store)
        for path in self.snapshot.find_changed({clip.path for clip in clips}):
            what = f"a clip {'has changed' if path.exists() else 'has disappeared'} since the run started"
            hint = "restore the file or mount its disk, then run the same command again to retry the sample"
            raise SampleError(Failure.CLIP_GONE, what, where=str(path), hint=hint)
        return outcomes


@dataclass(frozen=True)
class KeyframeSampler:
    """A sampler of keyframes. All samples of a run share the prefetcher."""

    settings: FramesSettings
    store: FrameStore
    prefetcher: ClipPrefetcher = field(default_factory=ClipPrefetcher)

    def initial_state(
        self, scene: Scene, dropped: Sequence[int] = (), *, vision: bool, max_images: int, emit: Emit
    ) -> State:
        """Returns the state of a sample before its first stage, and emits which frames it has. dropped: turns whose
        clip could show the target. max_images: the most images that the model takes in one call."""
        clips = _present_clips(scene, self.settings.last_turns)
        outcomes = self.prefetcher.extract(list(clips.values()), self.settings, self.store)
        extracted = dict(zip(clips, outcomes, strict=True))
        problems = dict.fromkeys(get_recent_clips(scene, self.settings.last_turns), "")
        problems |= {n: error.reason for n, error in extracted.items() if isinstance(error, ClipError)}
        problems |= dict.fromkeys(dropped, COULD_SHOW_TARGET)
        good = {n: frames for n, frames in extracted.items() if not isinstance(frames, ClipError)}
        most = self.settings.max_frames
        kept = limit_frames(good, min(most, max_images) if vision and max_images > 1 else most)
        problems |= dict.fromkeys(good.keys() - kept.keys(), OVER_BUDGET)

        keyframes: list[Keyframe] = []
        images: list[Image] = []
        blank = self.settings.show == "blank"
        for number, kept_frames in kept.items():
            frames = tuple(map(self._make_grey, kept_frames)) if blank else kept_frames
            try:
                jpegs = [self.store.read(frame.sha256) for frame in frames]
            except ClipError as error:  # the store has been emptied since
                problems[number] = error.reason
                continue
            times = [frame.time for frame in frames]
            texts = [""] * len(frames) if vision else describe_frames(jpegs, times)
            keyframes += [Keyframe(number, frame, text) for frame, text in zip(frames, texts, strict=True)]
            images += [Image(frame.sha256, data) for frame, data in zip(frames, jpegs, strict=True)]
        if vision and len(images) > max_images:
            jpegs = [image.data for image in images]
            grid = make_montage(jpegs, self.settings.long_side * 2, self.settings.jpeg_quality)
            images = [Image(sha256(grid).hexdigest(), grid)]
        state = State(scene, tuple(keyframes), tuple(images) if vision else ())
        turns = tuple(_turn_frames(turn, keyframes, problem) for turn, problem in sorted(problems.items()))
        emit(events.FramesTaken(sample=scene.id, form=get_frames_form(state), turns=turns))
        return state

    def _make_grey(self, frame: Frame) -> Frame:
        grey = np.full((frame.height, frame.width, 3), 128, np.uint8)
        return frame.model_copy(update={"sha256": self.store.write(to_jpeg(grey, self.settings.jpeg_quality))})


def limit_frames(frames: dict[int, tuple[Frame, ...]], bound: int) -> dict[int, tuple[Frame, ...]]:
    """Returns at most `bound` frames by turn. The latest turns get theirs first. A turn that loses frames keeps its
    apex and an even spread of the rest."""
    kept: dict[int, tuple[Frame, ...]] = {}
    for number in sorted(frames, reverse=True):
        available = frames[number]
        count = min(len(available), bound - sum(map(len, kept.values())))
        apex = [frame for frame in available if frame.role.startswith("apex")][:count]
        rest = [frame for frame in available if frame not in apex]
        n = count - len(apex)
        spread = [rest[(2 * i + 1) * len(rest) // (2 * n)] for i in range(n)]
        if count > 0:
            kept[number] = tuple(sorted(apex + spread, key=lambda frame: frame.time))
    return dict(sorted(kept.items()))


def _turn_frames(turn: int, keyframes: Sequence[Keyframe], problem: str) -> events.TurnFrames:
    of_turn = [keyframe for keyframe in keyframes if keyframe.turn == turn]
    descriptions = tuple(keyframe.description for keyframe in of_turn if keyframe.description)
    frames = tuple(keyframe.frame for keyframe in of_turn)
    return events.TurnFrames(turn=turn, frames=frames, descriptions=descriptions, problem=problem)
