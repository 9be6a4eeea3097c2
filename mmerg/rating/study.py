"""The folder of a study. It can be published but for private/, and for clips and frames that others may not see.

study.json      the form, the blind items, and what each rater is shown in which order; nothing names a run
media/          clips or keyframes, under random names
ratings.jsonl   what raters answered, a line a click
key.json        which run wrote which reply, and the answers to silent checks; only `mmerg rate score` opens it
scores.json     written by it, with methods.md
private/        the secret token of each rater's link, and where the runs are
"""

from pathlib import Path
from typing import TypeVar

from pydantic import Field

from mmerg.errors import RunError
from mmerg.judging.judgement import digest_replies
from mmerg.rating.form import Form, Point
from mmerg.runs.folder import read_results
from mmerg.storage.files import describe_error
from mmerg.storage.record import Record, read_record

STUDY, KEY, MEDIA = "study.json", "key.json", "media"
RATINGS, SCORES, PRIVATE = "ratings.jsonl", "scores.json", "private/study.json"
HUMAN = "human"
Kind = TypeVar("Kind", bound=Record)


class ShownTurn(Record):
    """media: files of its clip or keyframes, by name."""

    speaker: str
    text: str
    media: tuple[str, ...] = ()


class StudyItem(Record):
    """What a rater sees. expect, why: the answers to practice and loud checks, never sent before they are given."""

    history: tuple[ShownTurn, ...]
    responder: str
    replies: tuple[str, ...]
    expect: dict[str, tuple[Point, ...]] = Field(default_factory=dict)
    why: str = ""


class Place(Record):
    """A place in a rater's order. swap: the second reply is shown first. again: the rater has seen the item before."""

    item: str
    swap: bool = False
    again: bool = False


class Study(Record):
    """practice: how many places at the start of each order are training. sampled: how the items were drawn."""

    settings: dict[str, object]
    sampled: str
    form: Form
    practice: int
    items: dict[str, StudyItem]
    orders: dict[str, tuple[Place, ...]]


class StudyCandidate(Record):
    """Who wrote replies: a run, or HUMAN. replies: digest of the run's (see `digest_replies`)."""

    name: str
    replies: str = ""


class KeyItem(Record):
    """candidates: who wrote the item's replies, by number; none for a check. expect: of a check, silent or loud."""

    sample: str
    dialogue: str
    candidates: tuple[int, ...] = ()
    expect: dict[str, tuple[Point, ...]] = Field(default_factory=dict)
    loud: bool = False


class Key(Record):
    candidates: tuple[StudyCandidate, ...]
    items: dict[str, KeyItem]


class Private(Record):
    """links: the token of each rater. runs: the folder of each run by its name."""

    links: dict[str, str]
    runs: dict[str, str]


def read_study(folder: Path) -> Study:
    """Raises RunError where the folder has no study of this version."""
    return _read(folder / STUDY, Study)


def read_key(folder: Path) -> Key:
    """Raises RunError where it is gone or damaged."""
    return _read(folder / KEY, Key)


def read_links(folder: Path) -> dict[str, str]:
    """The token of each rater's link. Raises RunError."""
    return _read(folder / PRIVATE, Private).links


def find_runs(folder: Path, key: Key) -> tuple[dict[int, Path], list[str]]:
    """The folder of each candidate's run, and why others are excluded: a run may be missing, or have changed."""
    runs, problems = {}, []
    known = _read(folder / PRIVATE, Private).runs if (folder / PRIVATE).exists() else {}
    for number, candidate in enumerate(key.candidates):
        if candidate.name == HUMAN:
            continue
        path = Path(known.get(candidate.name, candidate.name))
        try:
            if digest_replies(read_results(path).values()) == candidate.replies:
                runs[number] = path
            else:
                problems.append(f"the run {candidate.name} has changed: its replies are not the rated ones")
        except RunError as error:
            problems.append(f"the run {candidate.name} is missing or has changed: {error.what}")
    return runs, problems


def _read(file: Path, kind: type[Kind]) -> Kind:
    try:
        return read_record(file, kind)
    except (OSError, ValueError) as error:
        what = f"this folder is not a study, or is from another version of mmerg: {file.name}: {describe_error(error)}"
        raise RunError(what, where=str(file.parent), hint="create a study with mmerg rate new STUDY RUN…") from error
