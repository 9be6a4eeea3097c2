"""Turns, clips, dialogues and samples: what a corpus reader returns and all else uses.

sample = cut(dialogue, target=len(dialogue.turns) - 1, labels=("joy", "sadness"))
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field

LONGER = 1.5  # a clip that is longer than its turn by this factor shows other turns at its end
Words = Annotated[str, Field(pattern=r"\S")]


@dataclass(frozen=True, slots=True)
class Crop:
    """A part of the picture, as fractions (0 to 1) of its width and height from the top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Clip:
    """A span of a video file (seconds in the file; None is its start or end), and a part of the picture. If only `end`
    is given, the file may be shorter."""

    path: Path
    start: float | None = None
    end: float | None = None
    crop: Crop | None = None

    def __str__(self) -> str:
        start, end = ("start" if self.start is None else self.start), ("end" if self.end is None else self.end)
        return f"{self.path} [{start} to {end}]"


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance u_i by one speaker s_i. start, end: seconds on the dialogue's own clock."""

    speaker: Words
    text: Words
    emotion: str | None = None
    clip: Clip | None = None
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Turns in order. Of the other fields only `respond_as` reaches a scene.

    respond_as: who speaks next if the data holds no reply. responders: the speakers whose turns may be targets (empty:
    all). script: the play that is performed. episode: the episode whose clock the times use. conversation: the name of
    the whole conversation, the same in all splits and variants of the data.
    """

    id: Words
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]
    respond_as: Words | None = None
    responders: tuple[Words, ...] = ()
    situation: str | None = None
    script: str | None = None
    episode: str | None = None
    conversation: str | None = None


@dataclass(frozen=True)
class Corpus:
    """A split of a dataset. fingerprint: a digest of its files. notes: counts of what was repaired or left out. absent:
    the missing clip file of each turn that lacks its clip ("test_dia0/3")."""

    # `mmerg.corpora.reading` validates a corpus and its parts with this.
    __pydantic_config__ = ConfigDict(strict=True, revalidate_instances="always", allow_inf_nan=False)

    name: str
    split: str
    labels: Annotated[tuple[Words, ...], Field(min_length=1)]
    dialogues: tuple[Dialogue, ...]
    fingerprint: Words
    notes: Mapping[str, int] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def noted(self) -> str:
        """The notes as the end of a line: ", labels_missing 3"."""
        return "".join(f", {name} {count}" for name, count in self.notes.items())


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a model may see of a sample: the history D = {(s_1,u_1), …, (s_n,u_n)} with its clips, who replies, and
    the labels to choose from (MERG, arXiv 2604.18988, section 3)."""

    id: str
    history: tuple[Turn, ...]
    responder: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A scene and its hidden target turn (None if the data holds no reply). dropped: the history turns (from 1) whose
    clip was left out because it could show the target. situation, conversation: for sources; a dialogue without a
    conversation has its id there."""

    scene: Scene
    dialogue_id: str
    target: Turn | None = None
    dropped: tuple[int, ...] = ()
    situation: str | None = None
    conversation: str = ""

    @property
    def id(self) -> str:
        return self.scene.id


def cut(dialogue: Dialogue, target: int, labels: tuple[str, ...], history: int | None = None) -> Sample:
    """Build the sample whose target is turn number `target` (from 0; `len(turns)` is the reply after the last turn).

    history: the number of turns before the target that are shown (None: all). History turns lose their gold emotion,
    and their clips end where the target starts, so that neither words, labels nor frames of the target reach a prompt.
    Overlap is common: IEMOCAP turns overlap by 0.6 s in the median.
    """
    gold = dialogue.turns[target] if target < len(dialogue.turns) else None
    first = 0 if history is None else max(0, target - history)
    turns = dialogue.turns[first:target]
    clips = [
        _before_target(dialogue, number, target) if gold else turn.clip for number, turn in enumerate(turns, first)
    ]
    kept = tuple(replace(turn, emotion=None, clip=clip) for turn, clip in zip(turns, clips, strict=True))
    dropped = tuple(number for number, turn in enumerate(turns, start=1) if turn.clip and not clips[number - 1])
    responder = gold.speaker if gold else (dialogue.respond_as or "")
    scene = Scene(f"{dialogue.id}/{target + 1}", kept, responder, labels)
    return Sample(scene, dialogue.id, gold, dropped, dialogue.situation, dialogue.conversation or dialogue.id)


def _before_target(dialogue: Dialogue, number: int, target: int) -> Clip | None:
    """The clip of a turn, cut off where the target starts, or None if no part of it is surely before the target."""
    turn, gold = dialogue.turns[number], dialogue.turns[target]
    clip = turn.clip
    if clip is None:
        return None
    begins = clip.start or 0.0
    ends = [] if clip.end is None else [clip.end]
    if gold.clip and gold.clip.path == clip.path:
        if gold.clip.start is None:
            return None
        ends.append(gold.clip.start)
    if turn.start is not None and gold.start is not None:  # `turn.end` does not count, as files are cut wrongly
        ends.append(begins + gold.start - turn.start)
    if turn.start is not None and turn.end is not None:
        ends.append(begins + (turn.end - turn.start) * (1.0 if gold.start is None else LONGER))
    if not ends:
        same = [other.clip for other in dialogue.turns if other.clip and other.clip.path == clip.path]
        later = [other.clip for other in dialogue.turns[number + 1 : target] if other.clip in same]
        ends += [other.start for other in later if other and other.start is not None and other.start > begins]
        if not ends and (clip.start is not None or len(same) > 1):  # the film may continue with the target
            return None
    end = min(ends, default=None)
    return None if end is not None and end <= begins else replace(clip, end=end)
