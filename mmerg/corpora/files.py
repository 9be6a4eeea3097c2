"""What the readers share: finding files and clips, lines of mixed encoding, tables with damaged rows, errors.

Damage costs the line it is on, and is counted in `notes`.

    path, data = find_and_read([Path("test_sent_emo.csv")], "no csv for the test split", "set dataset.root")
    for line, cells in read_table(data, path, ("Utterance", "Speaker"), notes): ...
"""

import csv
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path

from mmerg.errors import ConfigError, CorpusError

C1 = re.compile("[\x80-\x9f]")
MAX_PROBLEMS = 10  # that a message tells
MAX_JOINED_LINES = 5  # an utterance quoted over more lines than this is a lost quote
AS_PUBLISHED = "take the file as published"
MARK = b"\xef\xbb\xbf"  # a byte order mark

# False also for a name that the system refuses, for which the methods of Path raise.
is_file, is_folder = os.path.isfile, os.path.isdir


def refuse_other(key: str, value: object, known: Iterable[str]) -> None:
    """Raises ConfigError where the setting is none of the words that are known."""
    if value not in (words := tuple(known)):
        raise ConfigError(f"{key} is {value!r}", where=key, hint=f"one of {', '.join(words)}")


def unusable(what: str, problems: Sequence[str], where: str, hint: str) -> CorpusError:
    """The error for what has several problems: up to ten of them, a line each."""
    lines = [what, *(f"  {problem}" for problem in problems[:MAX_PROBLEMS])]
    more = len(problems) - MAX_PROBLEMS
    return CorpusError("\n".join(lines + [f"  and {more} more"] * (more > 0)), where=where, hint=hint)


def counted(notes: Counter[str]) -> dict[str, int]:
    """The counts that are not 0, by name."""
    return dict(sorted((+notes).items()))


def root_folder(root: str | Path, hint: str) -> Path:
    """The dataset's folder, `~` expanded. Raises CorpusError, with `hint`, where there is none."""
    folder = Path(os.path.expanduser(root))  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    if not is_folder(folder):
        what = f"{folder} is not a folder" if os.path.lexists(folder) else f"{folder} does not exist"
        raise CorpusError(f"no dataset folder: {what}", where=str(folder), hint=hint)
    return folder


def first_file(places: Iterable[Path]) -> Path | None:
    """The first of the places where there is a file."""
    return next(filter(is_file, places), None)


def find_and_read(places: Sequence[Path], what: str, hint: str, archives: Sequence[Path] = ()) -> tuple[Path, bytes]:
    """The first of the places where there is a file, and its bytes. Raises CorpusError where there is none, which tells
    what is there and which archive is to be unpacked, and where it cannot be read."""
    if path := first_file(places):
        return path, read_bytes(path)
    if path := next(filter(is_folder, places), None):  # unpackers make such folders
        hint = f"put the file of that name in its place, at {path}"
        raise CorpusError(f"{path.name} is a folder, not a file", where=holdings(path), hint=hint)
    folders = list(dict.fromkeys(place.parent for place in places))
    where = f"looked in {', '.join(map(str, folders))}; {'; '.join(map(holdings, filter(is_folder, folders)))}"
    packed = first_file(archives)
    raise CorpusError(what, where=where, hint=f"unpack {packed}; {hint}" if packed else hint)


def read_bytes(path: Path) -> bytes:
    """The file's bytes. Raises CorpusError where the system refuses."""
    try:
        return path.read_bytes()
    except OSError as error:
        hint = "check that it is a file and that you may read it"
        raise CorpusError(f"cannot read {path.name}: {error.strerror}", where=str(path), hint=hint) from error


def holdings(folder: Path) -> str:
    """What the folder holds, for an error: the first names in order, a slash after a folder's."""
    try:
        names = sorted(name + "/" * is_folder(folder / name) for name in os.listdir(folder) if name[0] != ".")  # noqa: PTH208
    except OSError as error:
        return f"{folder} cannot be listed ({error.strerror})"
    return f"{folder} holds {', '.join(names[:12]) or 'nothing'}{', ...' if len(names) > 12 else ''}"


class Clips:
    """Finds the clips of turns. absent: those that are not there, as `Corpus.absent` has them.

    Two names of one file (links) give one path: it must be seen that a clip is the target's own file.
    """

    def __init__(self) -> None:
        self.absent: dict[str, str] = {}
        self._paths: dict[tuple[int, int], Path] = {}  # by device and inode

    def find(self, turn: str, name: str, folders: Iterable[Path]) -> Path | None:
        """The file `name` ("": the turn names none) of a turn ("dia0/3") in the first folder that has it. Raises
        CorpusError for a folder that may not be searched and for a name that the system's encoding cannot spell."""
        path = next(filter(None, (self._path(folder / name) for folder in folders)), None) if name else None
        if path is None:
            self.absent[turn] = name
        return path

    def _path(self, file: Path) -> Path | None:
        try:
            status = os.stat(file)  # noqa: PTH116  (as os.path: a null byte is a ValueError here, too)
        except UnicodeEncodeError as error:
            if sys.getfilesystemencoding() == "utf-8":  # which spells all but lone surrogates
                return None
            what = f"the name {file.name!a} cannot be spelt in {error.encoding}, as this locale asks of file names"
            raise CorpusError(what, where=ascii(str(file)), hint="export LC_ALL=C.UTF-8, or PYTHONUTF8=1") from error
        except PermissionError as error:
            hint = "check that you may enter the folder"
            raise CorpusError(f"cannot look for {file.name}: {error.strerror}", where=str(file), hint=hint) from error
        except (OSError, ValueError):
            return None
        return self._paths.setdefault((status.st_dev, status.st_ino), file) if stat.S_ISREG(status.st_mode) else None


def decode_lines(data: bytes, notes: Counter[str]) -> list[str]:
    """The lines of a UTF-8 file, some of which may be cp1252; a byte order mark and any line ending are taken off.

    Each line falls back by itself (`lines_cp1252`). C1 controls (U+0080 to U+009F) are what a cp1252 file becomes when
    read as Latin-1 and saved as UTF-8: they go back through cp1252 (`characters_repaired`).
    """
    lines: list[str] = []
    for raw in data.removeprefix(MARK).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            line = raw.decode("cp1252", "replace")
            notes["lines_cp1252"] += 1
        line, repaired = C1.subn(lambda control: control[0].encode("latin-1").decode("cp1252", "replace"), line)
        notes["characters_repaired"] += repaired
        lines.append(line)
    return lines


def text_lines(data: bytes, path: Path, notes: Counter[str]) -> list[str]:
    """As `decode_lines`. Raises CorpusError for a file that is empty, or in UTF-16 by its byte order mark."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = f"save it as UTF-8, or {AS_PUBLISHED}"
        raise CorpusError(f"{path.name} is in UTF-16, not UTF-8", where=str(path), hint=hint)
    if not data.removeprefix(MARK).strip():
        raise CorpusError(f"{path.name} is empty", where=str(path), hint=AS_PUBLISHED)
    return decode_lines(data, notes)


def read_table(
    data: bytes, path: Path, columns: Sequence[str], notes: Counter[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """The records of a comma-separated file: the line each starts on (from 1) and its cells, stripped, by column.

    One that is misquoted, or has too few or too many cells, is left out and counted (`rows_malformed`). Raises
    CorpusError as `text_lines` does, and where one of `columns` is missing or there twice.
    """
    lines = text_lines(data, path, notes)
    header = [name.strip() for name in _cells(lines[0]) or []]
    missing = [name for name in columns if name not in header]
    if names := missing or [name for name in columns if header.count(name) > 1]:
        verb, often = ("lacks", "") if missing else ("has", " more than once")
        what = f"{path.name} {verb} the column{'s' * (len(names) > 1)} {', '.join(names)}{often}"
        where = f"{path}, line 1; it has: {', '.join(header)[:300] or 'nothing'}"
        raise CorpusError(what, where=where, hint=f"{AS_PUBLISHED}; needed, once each, are {', '.join(columns)}")
    at = 1
    while at < len(lines):
        cells, used = None, 0
        while cells is None and used < min(MAX_JOINED_LINES, len(lines) - at):
            used += 1  # a quote is open: the cell may go on in the next line
            cells = _cells("\n".join(lines[at : at + used]))
        if cells and len(cells) >= len(header) and not any(cells[len(header) :]):
            yield at + 1, dict(zip(header, cells, strict=False))
            at += used
        else:
            notes["rows_malformed"] += bool(lines[at].strip())
            at += 1


def _cells(text: str) -> list[str] | None:
    """The cells of a record, stripped; None where it is misquoted."""
    try:
        return [cell.strip() for cell in next(csv.reader(StringIO(text, newline="\n"), strict=True), [])]
    except csv.Error:
        return None
