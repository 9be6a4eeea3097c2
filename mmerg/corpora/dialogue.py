"""The data model of corpora: readers return a `Corpus` of dialogues, and `cut_sample` makes samples from them.

sample = cut_sample(dialogue, target=len(dialogue.turns) - 1, labels=("joy", "sadness"))
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field

OVERLONG = 1.5  # times the duration of its turn: a clip that is longer shows other turns at its end
NonBlank = Annotated[str, Field(pattern=r"\S")]


@dataclass(frozen=True, slots=True)
class Crop:
    """A rectangle of the picture, in fractions (0 to 1) of its width and height from the top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Clip:
    """A span of a video file, and optionally a part of its picture."""

    path: Path
    start: float | None = None  # seconds in the file; None: from its beginning
    end: float | None = None  # seconds; None: to its end. With `end` alone, the file may be shorter
    crop: Crop | None = None

    def __str__(self) -> str:
        start = "start" if self.start is None else self.start
        end = "end" if self.end is None else self.end
        return f"{self.path} [{start} to {end}]"


@dataclass(frozen=True, slots=True)
class Turn:
    """An utterance u_i by a speaker s_i."""

    speaker: NonBlank
    text: NonBlank
    emotion: str | None = None
    clip: Clip | None = None
    start: float | None = None  # seconds on the clock of its dialogue
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns of a conversation in order. Of the other fields only `respond_as` reaches a scene."""

    id: NonBlank
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]
    respond_as: NonBlank | None = None  # the speaker of the next reply, if the data does not contain it
    responders: tuple[NonBlank, ...] = ()  # the speakers whose turns may be targets; empty if all may
    situation: str | None = None
    script: str | None = None  # the play that is performed
    episode: str | None = None  # on whose clock the times of the turns are
    conversation: str | None = None  # its name, the same in all splits and variants of the data


@dataclass(frozen=True)
class Corpus:
    """A split of a dataset."""

    # `mmerg.corpora.reading` validates a corpus and its parts with this.
    __pydantic_config__ = ConfigDict(strict=True, revalidate_instances="always", allow_inf_nan=False)

    name: str
    split: str
    labels: Annotated[tuple[NonBlank, ...], Field(min_length=1)]  # that a turn may have and a model may choose
    dialogues: tuple[Dialogue, ...]
    fingerprint: NonBlank  # a digest of the files that the reader read
    notes: Mapping[str, int] = field(default_factory=dict)  # repairs and skipped parts, by kind ("labels_missing")
    absent: Mapping[str, str] = field(default_factory=dict)  # the missing clip file of each turn ("test_dia0/3")

    @property
    def notes_text(self) -> str:
        """The notes as the end of a line, such as ", labels_missing 3"; "" if there are none."""
        return "".join(f", {name} {count}" for name, count in self.notes.items())


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a model may see of a sample: the history D = {(s_1,u_1), …, (s_n,u_n)} with its clips, the speaker of
    the reply, and the labels to choose from (MERG, arXiv 2604.18988, section 3)."""

    id: str
    history: tuple[Turn, ...]
    responder: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A scene and its hidden target turn."""

    scene: Scene
    dialogue_id: str
    target: Turn | None = None  # None if the data does not contain the reply
    dropped: tuple[int, ...] = ()  # history turns (from 1) whose clip was removed, as it could show the target
    situation: str | None = None  # of the dialogue; only sources see it
    conversation: str = ""  # of the dialogue, or else its id; only sources see it

    @property
    def id(self) -> str:
        return self.scene.id


def cut_sample(dialogue: Dialogue, target: int, labels: tuple[str, ...], history: int | None = None) -> Sample:
    """Builds the sample whose target is the turn at index `target`; `len(turns)` is the reply after the last turn.

    history: the number of turns before the target that are shown; None shows all. History turns lose their gold
    emotion, and their clips end where the target starts, so that neither words, labels nor frames of the target reach a
    prompt. Overlap is common: IEMOCAP turns overlap by 0.6 s in the median.
    """
    gold = dialogue.turns[target] if target < len(dialogue.turns) else None
    first = 0 if history is None else max(0, target - history)
    turns = dialogue.turns[first:target]
    clips = [_cut_clip(dialogue, index, target) if gold else turn.clip for index, turn in enumerate(turns, first)]
    shown = tuple(replace(turn, emotion=None, clip=clip) for turn, clip in zip(turns, clips, strict=True))
    dropped = tuple(number for number, turn in enumerate(turns, start=1) if turn.clip and not clips[number - 1])
    responder = gold.speaker if gold else (dialogue.respond_as or "")
    scene = Scene(f"{dialogue.id}/{target + 1}", shown, responder, labels)
    return Sample(scene, dialogue.id, gold, dropped, dialogue.situation, dialogue.conversation or dialogue.id)


def _cut_clip(dialogue: Dialogue, index: int, target: int) -> Clip | None:
    """Cuts off the clip of a turn where the target starts; None if no part of it is surely before the target."""
    turn, gold = dialogue.turns[index], dialogue.turns[target]
    clip = turn.clip
    if clip is None:
        return None
    clip_start = clip.start or 0.0
    ends = [] if clip.end is None else [clip.end]
    if gold.clip and gold.clip.path == clip.path:
        if gold.clip.start is None:
            return None
        ends.append(gold.clip.start)
    if turn.start is not None and gold.start is not None:  # not `turn.end`: a file may go on after its turn
        ends.append(clip_start + gold.start - turn.start)
    if turn.start is not None and turn.end is not None:
        ends.append(clip_start + (turn.end - turn.start) * (1.0 if gold.start is None else OVERLONG))
    if not ends:
        same_file = [other.clip for other in dialogue.turns if other.clip and other.clip.path == clip.path]
        later = [other.clip for other in dialogue.turns[index + 1 : target] if other.clip in same_file]
        ends += [other.start for other in later if other and other.start is not None and other.start > clip_start]
        if not ends and (clip.start is not None or len(same_file) > 1):  # the film may continue with the target
            return None
    end = min(ends, default=None)
    return None if end is not None and end <= clip_start else replace(clip, end=end)
