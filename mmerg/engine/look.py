"""From a scene's clips to what the agents see: keyframes of the last turns, as images or as measured descriptions.

A model with eyes gets JPEGs (all in one grid if it takes one image only), one without gets what image processing
measures. A turn whose clip is missing or bad goes on as text, and the trace says why.

    state = Looker(settings, 8, 2, store).look(scene, vision=True, max_images=8, emit=trace.emit)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from mmerg.backends.protocol import Image
from mmerg.corpora.dialogue import Scene
from mmerg.engine.plan import Ahead, looked_at
from mmerg.engine.prompts import form
from mmerg.engine.state import Keyframe, State
from mmerg.errors import ClipError
from mmerg.frames.describe import measure, sentence
from mmerg.frames.picture import montage
from mmerg.frames.store import Frame, FrameSettings, FrameStore
from mmerg.runs import events
from mmerg.runs.events import OVER_BUDGET, Emit

COULD_SHOW_TARGET = "could_show_target"  # nothing of the clip is surely before the target


@dataclass(frozen=True)
class Looker:
    """Takes keyframes for samples: at most max_frames of the last turns' clips. `ahead` knows what other samples of the
    run will look at in the same files."""

    settings: FrameSettings
    max_frames: int
    last_turns: int
    store: FrameStore
    ahead: Ahead = field(default_factory=Ahead)

    def look(self, scene: Scene, dropped: Sequence[int] = (), *, vision: bool, max_images: int, emit: Emit) -> State:
        """The state that a sample's work starts from. `dropped` names turns whose clip could show the target;
        `max_images` is what the model takes in one call."""
        clips = looked_at(scene, self.last_turns)
        with_clip = {n: clip for n, clip in clips.items() if clip}
        found = self.ahead.extract(list(with_clip.values()), self.settings, self.store)
        taken = dict(zip(with_clip, found, strict=True))
        problems = {n: found.reason for n, found in taken.items() if isinstance(found, ClipError)}
        problems |= dict.fromkeys(dropped, COULD_SHOW_TARGET)
        good = {n: frames for n, frames in taken.items() if not isinstance(frames, ClipError)}
        kept = budget(good, min(self.max_frames, max_images) if vision and max_images > 1 else self.max_frames)
        problems |= dict.fromkeys(good.keys() - kept.keys(), OVER_BUDGET)

        keyframes: list[Keyframe] = []
        images: list[Image] = []
        for number, frames in kept.items():
            try:
                jpegs = [self.store.read(frame.sha256) for frame in frames]
            except ClipError as error:  # the store was emptied in this moment
                problems[number] = error.reason
                continue
            texts = [""] * len(frames) if vision else map(sentence, measure(jpegs, [frame.time for frame in frames]))
            keyframes += [Keyframe(number, frame, text) for frame, text in zip(frames, texts, strict=True)]
            images += [Image(frame.sha256, data) for frame, data in zip(frames, jpegs, strict=True)]
        if vision and len(images) > max_images:
            grid = montage([image.data for image in images], self.settings.long_side * 2, self.settings.jpeg_quality)
            images = [Image(sha256(grid).hexdigest(), grid)]
        state = State(scene, tuple(keyframes), tuple(images) if vision else ())
        turns = tuple(_told(n, keyframes, problems.get(n, "")) for n in sorted(clips.keys() | problems.keys()))
        emit(events.FramesTaken(sample=scene.id, form=form(state), turns=turns))
        return state


def budget(frames: dict[int, tuple[Frame, ...]], bound: int) -> dict[int, tuple[Frame, ...]]:
    """At most `bound` frames in all, the latest turns served first; a turn cut short keeps an even spread."""
    kept: dict[int, tuple[Frame, ...]] = {}
    for number in sorted(frames, reverse=True):
        have = frames[number]
        take = min(len(have), bound - sum(map(len, kept.values())))
        if take > 0:
            kept[number] = tuple(have[(2 * i + 1) * len(have) // (2 * take)] for i in range(take))
    return dict(sorted(kept.items()))


def _told(turn: int, keyframes: Sequence[Keyframe], problem: str) -> events.TurnFrames:
    own = [keyframe for keyframe in keyframes if keyframe.turn == turn]
    descriptions = tuple(keyframe.description for keyframe in own if keyframe.description)
    frames = tuple(keyframe.frame for keyframe in own)
    return events.TurnFrames(turn=turn, frames=frames, descriptions=descriptions, problem=problem)
