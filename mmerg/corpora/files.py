"""Read a dataset's own files: bytes with our error, lines of mixed encoding, tables with damaged rows.

Leaves the meaning of columns to the readers. Damage costs the line it is on, and is counted.

    table = read_table(Path("test_sent_emo.csv"), ("Utterance", "Speaker"))
    table.rows[0].line, table.rows[0].cells["Speaker"]
"""

from __future__ import annotations

import csv
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from mmerg.errors import ConfigError, CorpusError

C1_AS_CP1252 = {code: bytes([code]).decode("cp1252", "replace") for code in range(0x80, 0xA0)}
FileId = tuple[int, int]  # device and inode
MAX_PROBLEMS = 10  # that a message tells
MAX_JOINED_LINES = 5  # an utterance quoted over more lines than this is a lost quote
AS_PUBLISHED = "take the file as published"
MARK = b"\xef\xbb\xbf"  # a byte order mark


@dataclass(frozen=True)
class Row:
    """One record: the line of the file it starts on (from 1) and its cells, stripped, by column name."""

    line: int
    cells: dict[str, str]


@dataclass(frozen=True)
class Table:
    """The records that could be read, the file's bytes, and counts of what was repaired or left out."""

    data: bytes
    rows: tuple[Row, ...]
    notes: Counter[str] = field(default_factory=Counter)


def root_folder(root: str | Path, hint: str) -> Path:
    """The dataset's folder, `~` expanded. Raises CorpusError, with `hint`, where there is none."""
    folder = Path(os.path.expanduser(root))  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    if not is_folder(folder):
        what = f"{folder} is not a folder" if os.path.lexists(folder) else f"{folder} does not exist"
        raise CorpusError(f"no dataset folder: {what}", where=str(folder), hint=hint)
    return folder


# False also for a name that the system refuses, for which the methods of Path raise.
is_file, is_folder = os.path.isfile, os.path.isdir


def first_file(places: Sequence[Path]) -> Path | None:
    """The first of the places where there is a file."""
    return next(filter(is_file, places), None)


def find_file(places: Sequence[Path], what: str, hint: str, archives: Sequence[Path] = ()) -> Path:
    """The first of the places where there is a file. Raises CorpusError where there is none, which tells what their
    folders hold and which of the archives is to be unpacked."""
    if found := first_file(places):
        return found
    if found := next(filter(is_folder, places), None):  # unpackers make such folders
        hint = f"put the file of that name in its place, at {found}"
        raise CorpusError(f"{found.name} is a folder, not a file", where=holdings(found), hint=hint)
    folders = list(dict.fromkeys(place.parent for place in places))
    where = f"looked in {', '.join(map(str, folders))}; {'; '.join(map(holdings, filter(is_folder, folders)))}"
    packed = first_file(archives)
    raise CorpusError(what, where=where, hint=f"unpack {packed}; {hint}" if packed else hint)


def holdings(folder: Path) -> str:
    """What the folder holds, for an error: the first names in order, a slash after a folder's."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name + "/" * is_folder(Path(e.path)) for e in entries if not e.name.startswith("."))
    except OSError as error:
        return f"{folder} cannot be listed ({error.strerror})"
    return f"{folder} holds {', '.join(names[:12]) or 'nothing'}{', ...' if len(names) > 12 else ''}"


def listing(folder: Path, what: str) -> list[str]:
    """The names in a folder, in order. Raises CorpusError, naming `what` is there, where it cannot be listed."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  (names, not paths)
    except OSError as error:
        hint = "check that you may read the folder"
        raise CorpusError(f"cannot list {what}: {error.strerror}", where=str(folder), hint=hint) from error


def read_bytes(path: Path) -> bytes:
    """The file's bytes. Raises CorpusError where the system refuses."""
    try:
        return path.read_bytes()
    except OSError as error:
        hint = "check that it is a file and that you may read it"
        raise CorpusError(f"cannot read {path.name}: {error.strerror}", where=str(path), hint=hint) from error


def known_as(file: Path, names: dict[FileId, Path]) -> Path | None:
    """The first of its names by which a file was asked for, None where there is no file or it may not be looked at.

    Two names of one file (links) must be known to be one when a clip is ended at the target's start. `names` is kept
    from call to call. Raises CorpusError for a name that this system's encoding of names cannot spell.
    """
    try:
        status = os.stat(file)  # noqa: PTH116  (as os.path: a null byte is a ValueError here, too)
    except UnicodeEncodeError as error:
        if sys.getfilesystemencoding() != "utf-8":  # in UTF-8 only a lone surrogate cannot be spelt
            what = f"the name {file.name!a} cannot be spelt in {error.encoding}, as this locale asks of file names"
            raise CorpusError(what, where=ascii(str(file)), hint="export LC_ALL=C.UTF-8, or PYTHONUTF8=1") from error
        return None
    except (OSError, ValueError):
        return None
    return names.setdefault((status.st_dev, status.st_ino), file) if stat.S_ISREG(status.st_mode) else None


def refuse_other(key: str, value: object, known: Iterable[str]) -> None:
    """Raises ConfigError where the setting is none of the words that are known."""
    if value not in (words := tuple(known)):
        raise ConfigError(f"{key} is {value!r}", where=key, hint=f"one of {', '.join(words)}")


def unusable(what: str, problems: Sequence[str], where: str, hint: str) -> CorpusError:
    """The error for what has several problems: up to ten of them, a line each."""
    lines = [what, *(f"  {problem}" for problem in problems[:MAX_PROBLEMS])]
    more = len(problems) - MAX_PROBLEMS
    return CorpusError("\n".join(lines + [f"  and {more} more"] * (more > 0)), where=where, hint=hint)


def found(notes: Counter[str]) -> dict[str, int]:
    """The counts that are not 0, by name."""
    return {name: count for name, count in sorted(notes.items()) if count}


def decode_lines(data: bytes, notes: Counter[str]) -> list[str]:
    """The lines of a UTF-8 file, some of which may be cp1252; a byte order mark and any line ending are taken off.

    Each line falls back by itself, so that one wrong byte does not spoil the rest. C1 controls (U+0080 to U+009F) are
    what a cp1252 file becomes when read as Latin-1 and saved as UTF-8: they go back through cp1252. Counts
    `lines_cp1252` and `characters_repaired`.
    """
    lines: list[str] = []
    for raw in data.removeprefix(MARK).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            line = raw.decode("cp1252", "replace")
            notes["lines_cp1252"] += 1
        repaired = line if line.isascii() else line.translate(C1_AS_CP1252)
        if repaired != line:
            notes["characters_repaired"] += sum(a != b for a, b in zip(line, repaired, strict=True))
        lines.append(repaired)
    return lines


def text_lines(data: bytes, path: Path, notes: Counter[str]) -> list[str]:
    """As `decode_lines`. Raises CorpusError for a file that is empty, or in UTF-16 by its byte order mark."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = f"save it as UTF-8, or {AS_PUBLISHED}"
        raise CorpusError(f"{path.name} is in UTF-16, not UTF-8", where=str(path), hint=hint)
    if not data.removeprefix(MARK).strip():
        raise CorpusError(f"{path.name} is empty", where=str(path), hint=AS_PUBLISHED)
    return decode_lines(data, notes)


def read_table(path: Path, columns: Sequence[str]) -> Table:
    """Read a comma-separated file with a header line that names at least `columns`.

    A record that is misquoted, or has too few or too many cells, is left out and counted (`rows_malformed`).
    Raises CorpusError where the file cannot be read, is empty or in UTF-16, and where a column is missing or there
    twice.
    """
    data = read_bytes(path)
    notes: Counter[str] = Counter()
    lines = text_lines(data, path, notes)
    header = [name.strip() for name in _fields(lines[0]) or []]
    for verb, names, often in (
        ("lacks", [name for name in columns if name not in header], ""),
        ("has", [name for name in columns if header.count(name) > 1], " more than once"),
    ):
        if names:
            raise CorpusError(
                f"{path.name} {verb} the column{'s' * (len(names) > 1)} {', '.join(names)}{often}",
                where=f"{path}, line 1; it has: {', '.join(header)[:300] or 'nothing'}",
                hint=f"{AS_PUBLISHED}; needed, once each, are {', '.join(columns)}",
            )
    rows: list[Row] = []
    at = 1
    while at < len(lines):
        fields, used = _record(lines, at, len(header))
        if fields is not None:
            rows.append(Row(at + 1, dict(zip(header, (cell.strip() for cell in fields), strict=False))))
        elif lines[at].strip():
            notes["rows_malformed"] += 1
        at += used
    return Table(data, tuple(rows), notes)


def _record(lines: list[str], at: int, width: int) -> tuple[list[str] | None, int]:
    """The record that starts on line `at`, and how many lines it takes; a bad one is None and takes its own line."""
    for used in range(1, min(MAX_JOINED_LINES, len(lines) - at) + 1):
        fields = _fields("\n".join(lines[at : at + used]))
        if fields is None:
            continue  # a quote is open: the field may go on in the next line
        whole = len(fields) >= width and not any(cell.strip() for cell in fields[width:])
        return (fields[:width], used) if whole else (None, 1)
    return None, 1


def _fields(text: str) -> list[str] | None:
    try:
        return next(csv.reader(StringIO(text, newline="\n"), strict=True), [])
    except csv.Error:
        return None
