"""The answers of raters: `ratings.jsonl`, a line per click, on disk before the click counts as saved.

An incomplete last line after a crash is removed when the file is next opened; the page sends that answer again. The
last of several answers of a rater to a question at a place counts.
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
from mmerg.rating.study import RATINGS, Place, Study
from mmerg.runs.folder import lock_folder
from mmerg.storage.files import describe_error, wrap_os_errors
from mmerg.storage.record import Record

LONGEST = 2000  # characters of a comment
AGAIN, OK = "again", "ok"  # a submitted item must be answered again, as a loud check failed, or is done
QUIET = timedelta(hours=1)  # without entries; after it, a rater's open items go to others


class Entry(Record):
    """A click. id: of the client, so that one sent twice counts once. place: in the rater's order, from 0. question: of
    the form, or comment, submit (value ok, or again after a failed loud check), consent, take (an item that another
    rater dropped; value: RATER/PLACE). value: as shown: first is the reply on the left. ms: since the item was
    shown, without time in which the page was hidden. browser: a random name of the browser."""

    id: str = Field(pattern=r"^[\w.-]{1,64}$")
    rater: str = ""
    place: int = Field(ge=0)
    item: str = ""
    question: str
    value: Point | str
    ms: int = Field(default=0, ge=0)
    browser: str = Field(default="", max_length=32)
    at: str = ""


class Log:
    """The entries of a study so far, in order."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.orders = {rater: list(order) for rater, order in study.orders.items()}
        self.ids: set[str] = set()
        self.entries: list[Entry] = []
        self.answers: dict[tuple[str, int], dict[str, Point | str]] = {}
        self.last: dict[str, str] = {}

    def add(self, entry: Entry) -> None:
        self.ids.add(entry.id)
        self.entries.append(entry)
        self.last[entry.rater] = max(entry.at, self.last.get(entry.rater, ""))
        if entry.question == TAKE:
            rater, _, place = str(entry.value).partition("/")
            self.orders[entry.rater].append(self.shown(rater, int(place)))
        else:
            self.answers.setdefault((entry.rater, entry.place), {})[entry.question] = entry.value

    def submitted(self, rater: str) -> list[int]:
        """The places that a rater has finished."""
        places = range(len(self.orders[rater]))
        return [place for place in places if self.answers.get((rater, place), {}).get(SUBMIT) == OK]

    def shown(self, rater: str, place: int) -> Place:
        """Raises RunError for an unknown rater or place."""
        order = self.orders.get(rater, [])
        if not 0 <= place < len(order):
            raise RunError(f"rater {rater!r:.40} has no place {place}", where="ratings")
        return order[place]

    def check(self, entry: Entry) -> Entry:
        """The entry with its item. Raises RunError for a rater, place, question or value that is not in the study."""
        shown, questions = self.shown(entry.rater, entry.place), self.study.form.questions
        where = f"rater {entry.rater}, place {entry.place}"
        if entry.item not in ("", shown.item):
            raise RunError(f"the item is {entry.item!r:.40}, but the study has {shown.item} at this place", where=where)
        if entry.question in questions:
            points = (*questions[entry.question].points, CANNOT)
            if entry.value not in points:
                what = f"{entry.value!r:.40} is not on the scale of {entry.question}"
                raise RunError(what, where=where, hint=f"one of {', '.join(map(str, points))}")
        elif entry.question not in (COMMENT, CONSENT, SUBMIT) or len(str(entry.value)) > LONGEST:
            what = f"there is no question {entry.question!r:.40}, or its text is longer than {LONGEST} characters"
            raise RunError(what, where=where, hint=f"one of {', '.join((*questions, COMMENT))}")
        return entry.model_copy(update={"item": shown.item})

    def failed(self, rater: str, place: int) -> bool:
        """Whether the answers at a place contradict the item's expected ones."""
        shown, answers = self.shown(rater, place), self.answers.get((rater, place), {})
        expected = self.study.items[shown.item].expect
        return any(as_drawn(answers.get(name, CANNOT), shown) not in points for name, points in expected.items())

    def dropped(self, rater: str) -> str | None:
        """An open item, as RATER/PLACE, of another, inactive rater that `rater` has not seen; None without one. A
        rater who has not started counts as inactive since the first entry of anybody. Repeats are not passed on."""
        quiet = (datetime.now(UTC) - QUIET).isoformat(timespec="milliseconds")
        start = self.entries[0].at if self.entries else quiet
        seen = {shown.item for shown in self.orders[rater]}
        taken = {str(entry.value) for entry in self.entries if entry.question == TAKE}
        for other, order in self.study.orders.items():
            if other != rater and self.last.get(other, start) < quiet:
                done = set(self.submitted(other))
                for place, shown in enumerate(order):
                    name = f"{other}/{place}"
                    if place not in done and not shown.again and shown.item not in seen and name not in taken:
                        return name
        return None


def as_drawn(value: Point | str, shown: Place) -> Point | str:
    """An answer in the item's own order of replies."""
    swapped: Mapping[Point | str, Choice] = {"first": "second", "second": "first"}
    return swapped.get(value, value) if shown.swap else value


class Store:
    """The open file. A context manager; several threads may call `save`."""

    def __init__(self, folder: Path, study: Study) -> None:
        self.folder, self._study = folder, study
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        """Raises RunError if another process writes the study, or a line cannot be read."""
        self._hold = lock_folder(self.folder)
        self._hold.__enter__()
        self.log, whole = read_log(self.folder, self._study)
        with wrap_os_errors(self.folder / RATINGS):
            self._out = open(self.folder / RATINGS, "ab", 0, opener=partial(os.open, mode=0o600))
            self._out.truncate(whole)
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self._hold.__exit__(None, None, None)

    def save(self, entry: Entry) -> None:
        """Writes the entry, unless it exists, and waits until it is on disk. Raises RunError."""
        with self._guard:
            if entry.id not in self.log.ids:
                self._write(self.log.check(entry))

    def take(self, rater: str) -> int | None:
        """Adds an item that others dropped (see `Log.dropped`) to the rater's order, and returns its place; None if
        there is none. Raises RunError."""
        with self._guard:
            if (dropped := self.log.dropped(rater)) is None:
                return None
            place = len(self.log.orders[rater])
            self._write(Entry(id=token_hex(8), rater=rater, place=place, question=TAKE, value=dropped))
            return place

    def _write(self, entry: Entry) -> None:
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


def read_log(folder: Path, study: Study) -> tuple[Log, int]:
    """All entries, and the length of the complete lines in bytes. Raises RunError for a line that is no entry of the
    study; ignores an incomplete last line."""
    log, whole = Log(study), 0
    file = folder / RATINGS
    for number, line in enumerate(file.read_bytes().splitlines(keepends=True) if file.exists() else (), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            entry = Entry.model_validate_json(line)
            log.add(entry if entry.question == TAKE else log.check(entry))
        except (ValueError, RunError) as error:
            reason = error.what if isinstance(error, RunError) else describe_error(error)
            hint = "remove the line, or restore the study"
            raise RunError(
                f"line {number} is not a rating of this study: {reason}", where=str(file), hint=hint
            ) from error
        whole += len(line)
    return log, whole
