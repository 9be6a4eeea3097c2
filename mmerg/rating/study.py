"""The folder of a study. It can be published but for private/, and for clips and frames that others may not see.

study.json      the form, the blind items, and what each rater is shown in which order; nothing names a run
media/          clips or keyframes, under random names
ratings.jsonl   what raters answered, a line a click
key.json        which run wrote which reply, and the answers to silent checks; only `mmerg rate score` opens it
scores.json     written by it, with methods.md
private/        links.json, the secret token of each rater's link
"""

from pathlib import Path
from typing import TypeVar

from pydantic import Field, TypeAdapter

from mmerg.errors import RunError
from mmerg.judging.judgement import replies_digest
from mmerg.rating.form import Form, Point
from mmerg.runs.folder import read_results
from mmerg.storage.files import why
from mmerg.storage.record import Record, read_record

STUDY, KEY, LINKS, MEDIA, RATINGS, SCORES = (
    *("study.json", "key.json", "private/links.json", "media"),
    *("ratings.jsonl", "scores.json"),
)
HUMAN = "human"
Kind = TypeVar("Kind", bound=Record)


class Turn(Record):
    """media: files of its clip or keyframes, by name."""

    speaker: str
    text: str
    media: tuple[str, ...] = ()


class Item(Record):
    """What a rater sees. expect, why: of practice and loud checks, whose answers are told; never sent before."""

    history: tuple[Turn, ...]
    responder: str
    replies: tuple[str, ...]
    expect: dict[str, tuple[Point, ...]] = Field(default_factory=dict)
    why: str = ""


class Shown(Record):
    """A place in a rater's order. swap: the second reply is shown first. again: the rater has seen the item before."""

    item: str
    swap: bool = False
    again: bool = False


class Study(Record):
    """practice: how many places at the start of each order are training. sampled: how the items were drawn.
    settings: those of `mmerg rate new`."""

    format: int = 1
    settings: dict[str, object]
    sampled: str
    form: Form
    practice: int
    items: dict[str, Item]
    orders: dict[str, tuple[Shown, ...]]


class Candidate(Record):
    """Who wrote replies: a run, or HUMAN. replies: digest of the run's (see `replies_digest`)."""

    name: str
    path: str = ""
    replies: str = ""

    @property
    def problem(self) -> str:
        """Why what is beside the run is not of the replies that were rated; "" where it is. Raises RunError."""
        if not self.path or not (path := Path(self.path)).is_dir():
            return f"the run {self.name} is not at its place any more: {self.path}" if self.path else "no run"
        if replies_digest(read_results(path).values()) != self.replies:
            return f"the run {self.name} has changed since: its replies are not those that were rated"
        return ""


class KeyItem(Record):
    """candidates: who wrote the item's replies, by number. expect: of a check, silent or loud."""

    sample: str
    dialogue: str
    candidates: tuple[int, ...] = ()
    expect: dict[str, tuple[Point, ...]] = Field(default_factory=dict)
    loud: bool = False


class Key(Record):
    candidates: tuple[Candidate, ...]
    items: dict[str, KeyItem]


def read_study(folder: Path) -> Study:
    """Raises RunError where the folder has no study of this version."""
    return _read(folder / STUDY, Study)


def read_key(folder: Path) -> Key:
    """Raises RunError where it is gone or damaged."""
    return _read(folder / KEY, Key)


def read_links(folder: Path) -> dict[str, str]:
    """The token of each rater's link. Raises RunError."""
    try:
        return TypeAdapter(dict[str, str]).validate_json((folder / LINKS).read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"the links cannot be read: {why(error)}", where=str(folder / LINKS)) from error


def _read(file: Path, kind: type[Kind]) -> Kind:
    try:
        return read_record(file, kind)
    except (OSError, ValueError) as error:
        what = f"this is no study of this version of mmerg: {file.name}: {why(error)}"
        raise RunError(what, where=str(file.parent), hint="mmerg rate new STUDY RUN… makes one") from error
