"""The user's own dialogues: a folder with `dialogues.jsonl`, one dialogue per line, and clips (docs/datasets.md).

One error lists up to ten wrong lines. No clip is opened.

    demo = Folder(demo_root()).load()    # the package's demo: five dialogues with animated clips
"""

import hashlib
import io
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.dataclasses import dataclass as checked_dataclass

from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.files import Clips, build_corpus_error, find, nonzero, read_utf8, root_folder
from mmerg.corpora.meld import MELD_LABELS
from mmerg.storage.files import describe_error, get_name

EXAMPLE = (
    '{"id": "tea", "turns": [{"speaker": "Ana", "text": "I failed again.", "emotion": "sadness", "clip": "ana.mp4"}, '
    '{"speaker": "Ben", "text": "That must hurt."}]}'
)
LAYOUT = f"a line is: {EXAMPLE}"

Text = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
STRICT = ConfigDict(strict=True, extra="forbid", frozen=True, str_strip_whitespace=True)


class TurnLine(BaseModel):
    """A turn in a line of the file."""

    model_config = STRICT

    speaker: Text
    text: Text
    emotion: Text | None = None
    clip: Text | None = None
    start: Seconds | None = None  # in the file of the clip; without start and end, the whole file
    end: Seconds | None = None

    @field_validator("emotion")
    @classmethod
    def _require_label(cls, emotion: str | None, info: ValidationInfo) -> str | None:
        labels: Sequence[str] = info.context or ()
        if emotion is not None and emotion not in labels:
            hint = "correct it, or set your own labels with dataset.labels=[...]"
            raise ValueError(f"{emotion!r} is not one of {', '.join(labels)}; {hint}")
        return emotion

    @field_validator("clip")
    @classmethod
    def _require_inside(cls, clip: str | None) -> str | None:
        path = Path(os.path.normpath((clip or "").replace("\\", "/")))  # a Windows path has backslashes
        if path.is_absolute() or path.parts[:1] == ("..",):
            raise ValueError(f"{clip!r} leaves the dataset's folder; give a path inside it")
        return str(path) if clip else None

    @model_validator(mode="after")
    def _check_span(self) -> Self:
        if self.clip is None and (self.start is not None or self.end is not None):
            raise ValueError("start and end are seconds in the clip, and this turn has no clip")
        if self.end is not None and self.end <= (self.start or 0.0):
            raise ValueError(f"end ({self.end:g} s) is not after start ({self.start or 0.0:g} s)")
        return self


class DialogueLine(BaseModel):
    """A line of the file: one dialogue."""

    model_config = STRICT

    id: Text
    turns: Annotated[tuple[TurnLine, ...], Field(min_length=1)]
    respond_as: Text | None = None


def demo_root() -> Path:
    return Path(__file__).parent / "demo"


@checked_dataclass(frozen=True)
class Folder:
    """The reader of a folder."""

    root: str | Path
    file: str = "dialogues.jsonl"
    labels: Sequence[str] | None = None  # that turns may have and a model may choose; None: MELD's seven

    def load(self) -> Corpus:
        """Reads the file. A turn whose clip is missing has only its text. Raises CorpusError without a file or lines,
        or if lines are wrong (up to ten are listed)."""
        root = root_folder(self.root, f"set dataset.root to the folder that holds {self.file}")
        path = find([root / self.file], f"no {self.file} in the dataset's folder", LAYOUT)
        data = read_utf8(path)
        labels = MELD_LABELS if self.labels is None else self.labels
        digest, notes = hashlib.sha256(data).hexdigest(), Counter[str]()
        clips = Clips([root], notes)
        dialogues: list[Dialogue] = []
        for line in _read_lines(data, path, labels):
            turns: list[Turn] = []
            for number, turn in enumerate(line.turns, start=1):
                file = clips.find(f"{line.id}/{number}", turn.clip) if turn.clip else None
                start = 0.0 if turn.start is None and turn.end is not None else turn.start
                clip = Clip(file, start, turn.end) if file else None
                turns.append(Turn(turn.speaker, turn.text, turn.emotion, clip))
            conversation = f"{digest[:16]}#{line.id}"  # the same wherever the folder is
            dialogues.append(Dialogue(line.id, tuple(turns), line.respond_as, conversation=conversation))
        return Corpus(get_name(root), path.stem, tuple(labels), tuple(dialogues), digest, nonzero(notes), clips.absent)


def _read_lines(data: bytes, path: Path, labels: Sequence[str]) -> Iterator[DialogueLine]:
    """Yields the lines one by one. Raises CorpusError after the last line if any is wrong."""
    problems: list[str] = []
    line_numbers: dict[str, int] = {}
    for number, raw in enumerate(io.BytesIO(data), start=1):
        if not raw.strip():
            continue
        try:
            line = DialogueLine.model_validate_json(raw, context=labels)
        except ValidationError as error:
            problems.append(f"line {number}: {describe_error(error)}")
            continue
        if line.id in line_numbers:
            problems.append(f"line {number}: id: {line.id!r} is already the id of line {line_numbers[line.id]}")
        line_numbers.setdefault(line.id, number)
        if not problems:
            yield line
    if problems or not line_numbers:
        what = f"{path.name} cannot be used as it is"
        raise build_corpus_error(what, problems or ["it has no dialogue"], str(path), LAYOUT)
