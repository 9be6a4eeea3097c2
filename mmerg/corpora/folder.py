"""Your own dialogues: a folder with `dialogues.jsonl`, a dialogue a line, and clips beside it (docs/datasets.md).

What is wrong with the file is said at once, up to ten lines of it. Opens no clip.

    demo = Folder(demo_root()).load()    # the one that comes with the package: five drawn dialogues
"""

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.dataclasses import dataclass as checked_dataclass

from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.files import MARK, Clips, find_and_read, root_folder, unusable
from mmerg.corpora.meld import MELD_LABELS
from mmerg.errors import CorpusError

EXAMPLE = (
    '{"id": "tea", "turns": [{"speaker": "Ana", "text": "I failed again.", "emotion": "sadness", "clip": "ana.mp4"}, '
    '{"speaker": "Ben", "text": "That must hurt."}]}'
)
LAYOUT = f"a line is: {EXAMPLE}"

Words = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
STRICT = ConfigDict(strict=True, extra="forbid", frozen=True, str_strip_whitespace=True)


class TurnLine(BaseModel):
    """A turn as written. `start` and `end` are seconds in the clip's file; without them it is the whole clip."""

    model_config = STRICT

    speaker: Words
    text: Words
    emotion: Words | None = None
    clip: Words | None = None
    start: Seconds | None = None
    end: Seconds | None = None

    @field_validator("clip")
    @classmethod
    def _inside(cls, clip: str | None) -> str | None:
        path = Path(os.path.normpath(clip or ""))
        if path.is_absolute() or path.parts[:1] == ("..",):
            raise ValueError(f"{clip!r} leaves the dataset's folder; give a path inside it")
        return str(path) if clip else None

    @model_validator(mode="after")
    def _span(self) -> Self:
        if self.clip is None and (self.start is not None or self.end is not None):
            raise ValueError("start and end are seconds in the clip, and this turn has no clip")
        if self.end is not None and self.end <= (self.start or 0.0):
            raise ValueError(f"end ({self.end:g} s) is not after start ({self.start or 0.0:g} s)")
        return self


class DialogueLine(BaseModel):
    """A dialogue as written, one line of the file."""

    model_config = STRICT

    id: Words
    turns: Annotated[tuple[TurnLine, ...], Field(min_length=1)]
    respond_as: Words | None = None


def demo_root() -> Path:
    """The folder of the demo corpus: five dialogues with drawn clips, in the package."""
    return Path(__file__).parent / "demo"


@checked_dataclass(frozen=True)
class Folder:
    """A folder dataset. labels: the emotions that turns may carry and a model may choose from; None: MELD's seven."""

    root: str | Path
    file: str = "dialogues.jsonl"
    labels: Sequence[str] | None = None

    def load(self) -> Corpus:
        """Read the file; a turn whose clip is missing goes on as text. Raises CorpusError where the file is missing or
        empty, and with up to ten lines that cannot be used."""
        root = root_folder(self.root, f"set dataset.root to the folder that holds {self.file}")
        path, data = find_and_read([root / self.file], f"no {self.file} in the dataset's folder", LAYOUT)
        labels = MELD_LABELS if self.labels is None else tuple(self.labels)
        here = path.resolve()
        clips = Clips()
        dialogues: list[Dialogue] = []
        for line in _lines(data, path, labels):
            turns: list[Turn] = []
            for number, turn in enumerate(line.turns, start=1):
                file = clips.find(f"{line.id}/{number}", turn.clip, [root]) if turn.clip else None
                clip = Clip(file.resolve(), turn.start, turn.end) if file else None
                turns.append(Turn(turn.speaker, turn.text, turn.emotion, clip))
            dialogues.append(Dialogue(line.id, tuple(turns), line.respond_as, conversation=f"{here}#{line.id}"))
        notes = {"clips_missing": len(clips.absent)} if clips.absent else {}
        digest = hashlib.sha256(data).hexdigest()
        return Corpus(root.resolve().name, path.stem, labels, tuple(dialogues), digest, notes, clips.absent)


def _lines(data: bytes, path: Path, labels: Sequence[str]) -> Iterator[DialogueLine]:
    """The lines one by one, as all of them at once take several times the room of what is made of them. Raises
    CorpusError after the last where any cannot be used."""
    problems: list[str] = []
    first_line: dict[str, int] = {}
    for number, raw in enumerate(io.BytesIO(data.removeprefix(MARK)), start=1):
        if not raw.strip():
            continue
        try:
            line = DialogueLine.model_validate_json(raw)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = [f"line {number}", *([".".join(map(str, first["loc"]))] if first["loc"] else ())]
            problems.append(": ".join([*place, first["msg"].removeprefix("Value error, ")]))
            continue
        problems += [
            f"line {number}: turns.{index}.emotion: {turn.emotion!r} is not one of {', '.join(labels)}; "
            "correct it, or name your own set with dataset.labels=[...]"
            for index, turn in enumerate(line.turns)
            if turn.emotion is not None and turn.emotion not in labels
        ]
        if line.id in first_line:
            problems.append(f"line {number}: id: {line.id!r} is the id of line {first_line[line.id]} already")
        first_line.setdefault(line.id, number)
        if not problems:
            yield line
    if problems:
        raise unusable(f"{path.name} cannot be used as it is", problems, str(path), LAYOUT)
    if not first_line:
        raise CorpusError(f"{path.name} holds no dialogue", where=str(path), hint=LAYOUT)
