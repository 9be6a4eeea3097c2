"""From a scene's clips to what the agents see: keyframes of the last turns, as images or as measured descriptions.

A model with eyes gets JPEGs (all in one grid if it takes one image only), one without gets what image processing
measures. A turn whose clip is missing or bad goes on as text, and the trace says why.

    state = Looker(settings, 8, 3, store).look(scene, vision=True, max_images=8, emit=trace.emit)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from mmerg.backends.protocol import Image
from mmerg.dialogue import Sample
from mmerg.engine.prompts import form
from mmerg.engine.refine import Emit
from mmerg.engine.state import Keyframe, State
from mmerg.errors import ClipError
from mmerg.frames.describe import measure, sentence
from mmerg.frames.extract import extract
from mmerg.frames.frame import Frame, FrameSettings
from mmerg.frames.montage import montage
from mmerg.frames.store import FrameStore
from mmerg.records import events


@dataclass(frozen=True)
class Looker:
    """Takes keyframes for samples. max_frames bounds a sample, last_turns says how far back clips are looked at."""

    settings: FrameSettings
    max_frames: int
    last_turns: int
    store: FrameStore

    def look(self, sample: Sample, *, vision: bool, max_images: int, emit: Emit) -> State:
        """The state that a sample's work starts from; `max_images` is what the model takes in one call."""
        scene = sample.scene
        first = max(0, len(scene.history) - self.last_turns)
        numbered = [(n, turn.clip) for n, turn in enumerate(scene.history[first:], start=first + 1)]
        with_clip = [(n, clip) for n, clip in numbered if clip]
        taken = dict(
            zip(
                (n for n, _ in with_clip),
                extract([clip for _, clip in with_clip], self.settings, self.store),
                strict=True,
            )
        )
        bound = min(self.max_frames, max_images) if vision and max_images > 1 else self.max_frames
        kept = budget({n: frames for n, frames in taken.items() if not isinstance(frames, ClipError)}, bound)
        keyframes: list[Keyframe] = []
        for number, frames in kept.items():
            descriptions = self._describe(frames) if not vision else ("",) * len(frames)
            keyframes += [Keyframe(number, f, text) for f, text in zip(frames, descriptions, strict=True)]
        state = State(scene, tuple(keyframes), self._images(keyframes, max_images) if vision else ())
        problems = {n: found.reason for n, found in taken.items() if isinstance(found, ClipError)}
        problems |= dict.fromkeys(sample.dropped, "could_show_target")
        emit(_event(state, [n for n, _ in numbered], problems))
        return state

    def _describe(self, frames: Sequence[Frame]) -> tuple[str, ...]:
        measured = measure([self.store.read(frame.sha256) for frame in frames], [frame.time for frame in frames])
        return tuple(map(sentence, measured))

    def _images(self, keyframes: Sequence[Keyframe], max_images: int) -> tuple[Image, ...]:
        images = tuple(Image(k.frame.sha256, self.store.read(k.frame.sha256)) for k in keyframes)
        if len(images) <= max_images:
            return images
        grid = montage([image.data for image in images], self.settings.long_side * 2, self.settings.jpeg_quality)
        return (Image(sha256(grid).hexdigest(), grid),)


def budget(frames: dict[int, tuple[Frame, ...]], bound: int) -> dict[int, tuple[Frame, ...]]:
    """At most `bound` frames in all, the latest turns served first; a turn cut short keeps an even spread."""
    kept: dict[int, tuple[Frame, ...]] = {}
    for number in sorted(frames, reverse=True):
        have = frames[number]
        take = min(len(have), bound - sum(map(len, kept.values())))
        if take > 0:
            kept[number] = tuple(have[(2 * i + 1) * len(have) // (2 * take)] for i in range(take))
    return dict(sorted(kept.items()))


def _event(state: State, numbers: Sequence[int], problems: dict[int, str]) -> events.FramesTaken:
    turns = []
    for number in sorted({*numbers, *problems}):
        mine = [k for k in state.keyframes if k.turn == number]
        turns.append(
            events.TurnFrames(
                turn=number,
                frames=tuple(k.frame for k in mine),
                descriptions=tuple(k.description for k in mine if k.description),
                problem=problems.get(number, ""),
            )
        )
    return events.FramesTaken(sample=state.scene.id, form=form(state), turns=tuple(turns))
