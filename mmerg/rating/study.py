"""The folder of a study. You may publish it without private/, and without clips and frames that others may not see.

study.json      the form, the items, and what each rater is shown in which order; names no run
media/          clips or keyframes, with random names
ratings.jsonl   the answers of raters, a line per click
key.json        which run wrote which reply, and the answers to silent checks; only `mmerg rate score` reads it
scores.json     written by `mmerg rate score`, with methods.md
private/        the secret token of each rater's link, and the paths of the runs
"""

from pathlib import Path
from typing import TypeVar

from pydantic import Field

from mmerg.errors import RunError
from mmerg.judging.judgement import digest_replies
from mmerg.rating.form import Point, StudyForm
from mmerg.runs.folder import read_results
from mmerg.storage.files import describe_error
from mmerg.storage.record import Record, read_record

STUDY, KEY, MEDIA = "study.json", "key.json", "media"
RATINGS, SCORES, PRIVATE = "ratings.jsonl", "scores.json", "private/study.json"
HUMAN = "human"
Kind = TypeVar("Kind", bound=Record)


class ShownTurn(Record):
    """A turn as a rater sees it. media: the names of the files of its clip or keyframes."""

    speaker: str
    text: str
    media: tuple[str, ...] = ()


class StudyItem(Record):
    """An item as a rater sees it. expect: the correct answers to a practice item or loud check, which the page never
    gets. why: the feedback, which the page gets once the rater has answered."""

    history: tuple[ShownTurn, ...]
    responder: str
    replies: tuple[str, ...]
    expect: dict[str, tuple[Point, ...]] = Field(default_factory=dict)
    why: str = ""


class ShownItem(Record):
    """A place in a rater's order. item: the code of the item. swap: the second reply is shown first. again: the rater
    has seen the item before."""

    item: str
    swap: bool = False
    again: bool = False


class Study(Record):
    """A study as its raters see it. settings: those that decided it. sampled: a description of how its samples were
    drawn. practice: the number of practice items at the start of each order. items: by code. orders: by rater."""

    settings: dict[str, object]
    sampled: str
    form: StudyForm
    practice: int
    items: dict[str, StudyItem]
    orders: dict[str, tuple[ShownItem, ...]]


class StudyCandidate(Record):
    """An author of replies: a run, or the human speaker. name: that of the run, or HUMAN. replies: the digest of the
    run's replies (see `digest_replies`)."""

    name: str
    replies: str = ""


class KeyItem(Record):
    """What raters do not see of an item. candidates: the numbers of the authors of its replies; none for a check.
    expect: the correct answers to a check. loud: the check tells the rater about a wrong answer."""

    sample: str
    dialogue: str
    candidates: tuple[int, ...] = ()
    expect: dict[str, tuple[Point, ...]] = Field(default_factory=dict)
    loud: bool = False


class Key(Record):
    """What raters do not see of a study. items: by code, without practice items."""

    candidates: tuple[StudyCandidate, ...]
    items: dict[str, KeyItem]


class Secrets(Record):
    """What must not be published. links: the token of each rater. runs: the folder of each run, by name."""

    links: dict[str, str]
    runs: dict[str, str]


def read_study(folder: Path) -> Study:
    """Reads the study in a folder. Raises RunError if there is none, or it is of another version."""
    return _read(folder / STUDY, Study)


def read_key(folder: Path) -> Key:
    """Reads the key of a study. Raises RunError if the file is missing or damaged."""
    return _read(folder / KEY, Key)


def read_links(folder: Path) -> dict[str, str]:
    """Reads the token of each rater's link. Raises RunError if the file is missing or damaged."""
    return _read(folder / PRIVATE, Secrets).links


def find_runs(folder: Path, key: Key) -> tuple[dict[int, Path], list[str]]:
    """Finds the folder of each candidate's run, by number of the candidate; and the reasons why others are excluded: a
    run may be missing, or have changed."""
    runs: dict[int, Path] = {}
    problems: list[str] = []
    paths = _read(folder / PRIVATE, Secrets).runs if (folder / PRIVATE).exists() else {}
    for number, candidate in enumerate(key.candidates):
        if candidate.name == HUMAN:
            continue
        path = Path(paths.get(candidate.name, candidate.name))
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
