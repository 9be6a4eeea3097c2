"""The folder of a study. You may publish it without private/, and without clips and frames that others may not see.

study.json      the form, the items, and what each rater is shown in which order; names no run
media/          clips or keyframes, with random names
ratings.jsonl   the answers of raters, a line per click
key.json        which run wrote which reply, and the answers to silent checks; only `mmerg rate score` reads it
scores.json     written by `mmerg rate score`, with methods.md
private/        the secret token of each rater's link, and the paths of the runs
"""

from pathlib import Path

from pydantic import Field

from mmerg.errors import RunError
from mmerg.judging.judgement import digest_replies
from mmerg.rating.form import Point, StudyForm, StudyItem
from mmerg.runs.folder import read_results
from mmerg.storage.record import Record, RecordType, read_record

STUDY, KEY, MEDIA = "study.json", "key.json", "media"
RATINGS, SCORES, PRIVATE = "ratings.jsonl", "scores.json", "private/study.json"
HUMAN = "human"


class ShownItem(Record):
    """A place in a rater's order."""

    item: str  # its code
    swap: bool = False  # the second reply is shown first
    again: bool = False  # the rater has seen the item before


class Study(Record):
    """A study as its raters see it."""

    settings: dict[str, object]  # those that decided it
    sampled: str  # how its samples were drawn
    form: StudyForm
    practice: int  # the number of practice items at the start of each order
    items: dict[str, StudyItem]  # by code
    orders: dict[str, tuple[ShownItem, ...]]  # by rater


class StudyCandidate(Record):
    """An author of replies: a run, or the human speaker."""

    name: str  # of the run, or HUMAN
    replies: str = ""  # the digest of the run's replies (see `digest_replies`)


class KeyItem(Record):
    """What raters do not see of an item."""

    sample: str
    dialogue: str
    candidates: tuple[int, ...] = ()  # numbers of the authors of its replies; none for a check
    expect: dict[str, tuple[Point, ...]] = Field(default_factory=dict)  # correct answers to a check
    loud: bool = False  # the check tells the rater about a wrong answer


class Key(Record):
    """What raters do not see of a study."""

    candidates: tuple[StudyCandidate, ...]
    items: dict[str, KeyItem]  # by code, without practice items


class Secrets(Record):
    """What must not be published."""

    links: dict[str, str]  # the token of each rater
    runs: dict[str, str]  # the folder of each run, by name


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
    """Finds the folder of each candidate's run, by number of the candidate; and the reasons why others are excluded."""
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


def _read(file: Path, kind: type[RecordType]) -> RecordType:
    hint = "create a study with mmerg rate new STUDY RUN…"
    try:
        return read_record(file, kind, hint)
    except FileNotFoundError as error:
        raise RunError(f"this folder is not a study: there is no {file.name}", where=str(file), hint=hint) from error
