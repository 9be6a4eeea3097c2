"""A store of raters' answers in `ratings.jsonl`: a line per click, on disk before the click counts as saved.

If a crash leaves an incomplete last line, it is removed when the file is next opened, and the page sends that answer
again. If a rater answers a question at a place several times, the last answer counts.
"""

import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Self

from pydantic import Field

from mmerg.errors import RunError
from mmerg.rating.form import CANNOT, COMMENT, CONSENT, SUBMIT, TAKE, Choice, Point
from mmerg.rating.study import RATINGS, ShownItem, Study
from mmerg.runs.folder import lock_folder
from mmerg.storage.files import describe_error, wrap_os_errors
from mmerg.storage.record import Record

LONGEST = 2000  # characters of a comment
AGAIN, OK = "again", "ok"  # values of submit: a loud check failed and must be answered again, or the item is done
INACTIVE = timedelta(hours=1)  # after this time without an entry, a rater's open items go to others


class RatingEntry(Record):
    """A click of a rater.

    question: one of the form, or comment, submit (value: ok, or again), consent, or take, which adds an item that
    another rater dropped (value: RATER/PLACE).
    """

    id: str = Field(pattern=r"^[\w.-]{1,64}$")  # made by the page, so that an entry that is sent twice counts once
    rater: str = ""
    place: int = Field(ge=0)  # the position in the rater's order, from 0
    item: str = ""
    question: str
    value: Point | str  # relative to the order shown: first is the reply on the left
    ms: int = Field(default=0, ge=0)  # milliseconds since the item was shown, less those in which the page was hidden
    browser: str = Field(default="", max_length=32)  # a random name of the browser
    at: str = ""  # UTC


class RatingLog:
    """The entries of a study, in order."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.orders = {rater: list(order) for rater, order in study.orders.items()}  # with items taken from others
        self.ids: set[str] = set()
        self.entries: list[RatingEntry] = []
        self.answers: dict[tuple[str, int], dict[str, Point | str]] = {}  # the last, by rater and place, and question
        self.last: dict[str, str] = {}  # the time of each rater's last entry

    def add(self, entry: RatingEntry) -> None:
        """Adds an entry that `check` has accepted."""
        self.ids.add(entry.id)
        self.entries.append(entry)
        self.last[entry.rater] = max(entry.at, self.last.get(entry.rater, ""))
        if entry.question == TAKE:
            rater, _, place = str(entry.value).partition("/")
            self.orders[entry.rater].append(self.get_shown(rater, int(place)))
        else:
            self.answers.setdefault((entry.rater, entry.place), {})[entry.question] = entry.value

    def list_submitted(self, rater: str) -> list[int]:
        """Lists the places that a rater has finished."""
        places = range(len(self.orders[rater]))
        return [place for place in places if self.answers.get((rater, place), {}).get(SUBMIT) == OK]

    def get_shown(self, rater: str, place: int) -> ShownItem:
        """Returns what a rater is shown at a place. Raises RunError if there is no such rater or place."""
        order = self.orders.get(rater, [])
        if not 0 <= place < len(order):
            raise RunError(f"rater {rater!r:.40} has no place {place}", where="ratings")
        return order[place]

    def check(self, entry: RatingEntry) -> RatingEntry:
        """Checks an entry, and returns it with its item. Raises RunError if the study has no such place or question, or
        the value is not allowed."""
        shown, questions = self.get_shown(entry.rater, entry.place), self.study.form.questions
        where = f"rater {entry.rater}, place {entry.place}"
        if entry.question in questions:
            points = (*questions[entry.question].points, CANNOT)
            if entry.value not in points:
                what = f"{entry.value!r:.40} is not on the scale of {entry.question}"
                raise RunError(what, where=where, hint=f"one of {', '.join(map(str, points))}")
        elif entry.question not in (COMMENT, CONSENT, SUBMIT) or len(str(entry.value)) > LONGEST:
            what = f"there is no question {entry.question!r:.40}, or its text is longer than {LONGEST} characters"
            raise RunError(what, where=where, hint=f"one of {', '.join((*questions, COMMENT))}")
        return entry.model_copy(update={"item": shown.item})

    def fails_check(self, rater: str, place: int) -> bool:
        """Returns True if an answer at a place is not one of those that the item expects."""
        shown, answers = self.get_shown(rater, place), self.answers.get((rater, place), {})
        expected = self.study.items[shown.item].expect
        return any(to_item_order(answers.get(name, CANNOT), shown) not in points for name, points in expected.items())

    def find_dropped(self, rater: str) -> str | None:
        """Finds an open item of an inactive rater that `rater` has not seen, as RATER/PLACE; None if there is none.
        Raters who have not started are inactive since the first entry of anybody. Repeats are not passed on."""
        limit = (datetime.now(UTC) - INACTIVE).isoformat(timespec="milliseconds")
        start = self.entries[0].at if self.entries else limit
        seen = {shown.item for shown in self.orders[rater]}
        taken = {str(entry.value) for entry in self.entries if entry.question == TAKE}
        for other, order in self.study.orders.items():
            if other != rater and self.last.get(other, start) < limit:
                done = set(self.list_submitted(other))
                for place, shown in enumerate(order):
                    name = f"{other}/{place}"
                    if place not in done and not shown.again and shown.item not in seen and name not in taken:
                        return name
        return None


def to_item_order(value: Point | str, shown: ShownItem) -> Point | str:
    """Translates an answer between the order shown and the order of replies in the item, in either direction."""
    swapped: Mapping[Point | str, Choice] = {"first": "second", "second": "first"}
    return swapped.get(value, value) if shown.swap else value


class RatingStore:
    """The open file of a study's ratings, as a context manager. Several threads may use it at once."""

    def __init__(self, folder: Path, study: Study) -> None:
        self.folder, self._study = folder, study
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Opens the file. Raises RunError if another process writes to the study, or a line is not an entry of it."""
        self._folder_lock = lock_folder(self.folder)
        self._folder_lock.__enter__()
        self.log, complete = read_log(self.folder, self._study)
        with wrap_os_errors(self.folder / RATINGS):
            self._out = open(self.folder / RATINGS, "ab", 0, opener=partial(os.open, mode=0o600))
            self._out.truncate(complete)
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self._folder_lock.__exit__(None, None, None)

    def save(self, entry: RatingEntry) -> None:
        """Writes an entry, unless it exists, and waits until it is on disk. Raises RunError if the entry is not valid
        or cannot be written."""
        with self._lock:
            if entry.id not in self.log.ids:
                self._write(self.log.check(entry))

    def take(self, rater: str) -> int | None:
        """Adds an item that another rater dropped (see `RatingLog.find_dropped`) to the rater's order. Returns its
        place; None if there is no such item. Raises RunError if it cannot be written."""
        with self._lock:
            if (dropped := self.log.find_dropped(rater)) is None:
                return None
            place = len(self.log.orders[rater])
            self._write(RatingEntry(id=token_hex(8), rater=rater, place=place, question=TAKE, value=dropped))
            return place

    def _write(self, entry: RatingEntry) -> None:
        entry = entry.model_copy(update={"at": entry.at or datetime.now(UTC).isoformat(timespec="milliseconds")})
        with wrap_os_errors(self.folder / RATINGS):
            line, end = entry.model_dump_json().encode() + b"\n", self._out.tell()
            try:
                while line:
                    line = line[self._out.write(line) :]
                os.fsync(self._out.fileno())
            except OSError:
                self._out.truncate(end)  # nothing may follow an incomplete line
                raise
        self.log.add(entry)


def read_log(folder: Path, study: Study) -> tuple[RatingLog, int]:
    """Reads all entries, and the length of the complete lines in bytes. Ignores an incomplete last line. Raises
    RunError if a line is not an entry of the study."""
    log, complete = RatingLog(study), 0
    file = folder / RATINGS
    for number, line in enumerate(file.read_bytes().splitlines(keepends=True) if file.exists() else (), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            entry = RatingEntry.model_validate_json(line)
            log.add(entry if entry.question == TAKE else log.check(entry))
        except (ValueError, RunError) as error:
            reason = error.what if isinstance(error, RunError) else describe_error(error)
            hint = "remove the line, or restore the study"
            raise RunError(
                f"line {number} is not a rating of this study: {reason}", where=str(file), hint=hint
            ) from error
        complete += len(line)
    return log, complete
