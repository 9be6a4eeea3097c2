"""Helpers for readers: finding files and clips, decoding lines of mixed encodings, and reading tables.

Rows that cannot be used are skipped and counted in `notes`.

    path = find([Path("test_sent_emo.csv")], "no csv for the test split", "set dataset.root")
    for cells in read_table(read_bytes(path), path, ("Utterance", "Speaker"), notes): ...
"""

import csv
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unicodedata import normalize

from mmerg.errors import CorpusError

C1 = re.compile("[\x80-\x9f]")
# Text in GBK, Mac Roman or another code page that is read as cp1252 shows what English text does not: other signs,
# letters that no English loanword has, accented capitals side by side or within a word, or three accented letters in a
# row ("you¡¯re", "ÎÒÊ§", "IÕm", "nõ", "êáëü").
GARBLED = re.compile(
    "[^\x00-\x7f\xa0…‘’“”•–—¡¿£€½«»ÀÁÂÄÅÇÈÉÊËÍÎÏÑÓÔÖÚÛÜßàáâäåçèéêëíîïñóôöúûü]|[À-ÖØ-Þ]{2}|[à-öø-ÿ]{3}|[¡«»][À-ÿ¡«»]"
    "|[a-z][À-ÖØ-Þ]|[A-Za-z][À-ÖØ-Þ][A-Za-z]*[a-z]"
)
# The first bytes of ’ “ … in UTF-8, as shown by a spreadsheet that took the file for cp1252, Mac Roman or GBK.
MOJIBAKE = re.compile("â€|‚Ä|鈥")
MAX_PROBLEMS = 10  # in one message
AS_PUBLISHED = "use the published file"
TO_UTF8 = "save it as UTF-8, or convert it: iconv -f ENCODING -t UTF-8 FILE"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# For a name that the system refuses these return False, whereas the methods of Path raise.
is_file, is_folder = os.path.isfile, os.path.isdir


def build_corpus_error(what: str, problems: Sequence[str], where: str, hint: str) -> CorpusError:
    """Builds an error that lists up to ten problems, one per line."""
    lines = [what, *(f"  {problem}" for problem in problems[:MAX_PROBLEMS])]
    if len(problems) > MAX_PROBLEMS:
        lines.append(f"  and {len(problems) - MAX_PROBLEMS} more")
    return CorpusError("\n".join(lines), where=where, hint=hint)


def nonzero(notes: Counter[str]) -> dict[str, int]:
    """Returns the counts that are not 0, sorted by name."""
    return dict(sorted((+notes).items()))


def root_folder(root: str | Path, hint: str) -> Path:
    """Returns the dataset's folder, with `~` expanded. Raises CorpusError if there is no such folder."""
    folder = Path(os.path.expanduser(root))  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    if not is_folder(folder):
        what = f"{folder} is not a folder" if os.path.lexists(folder) else f"{folder} does not exist"
        raise CorpusError(f"no dataset folder: {what}", where=str(folder), hint=hint)
    return folder


def find(places: Sequence[Path], what: str, hint: str, *, is_there: Callable[[Path], bool] = is_file) -> Path:
    """Finds the first of the places that is a file, or a folder with `is_there=is_folder`. If there is none, raises
    CorpusError that lists the contents of the searched folders, and names an archive to unpack if they have one."""
    if path := next(filter(is_there, places), None):
        return path
    folders = list(dict.fromkeys(place.parent for place in places))
    present = list(filter(is_folder, folders))
    where = f"looked in {', '.join(map(str, folders))}; {'; '.join(map(describe_folder, present))}"
    packed = next((archive for folder in present for archive in sorted(folder.glob("*.tar.gz"))), None)
    raise CorpusError(what, where=where, hint=f"unpack {packed}; {hint}" if packed else hint)


def read_bytes(path: Path) -> bytes:
    """Reads a file. Raises CorpusError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        hint = "check that the file is complete and readable, or unpack it again"
        raise CorpusError(f"cannot read {path.name}: {error.strerror}", where=str(path), hint=hint) from error


def describe_folder(folder: Path) -> str:
    """Lists the first names in a folder, for an error message; folders end with a slash."""
    names = sorted(name + "/" * is_folder(folder / name) for name in os.listdir(folder) if name[0] != ".")  # noqa: PTH208
    return f"{folder} holds {', '.join(names[:12]) or 'nothing'}{', ...' if len(names) > 12 else ''}"


class Clips:
    """The clips of turns in `folders`.

    Missing clips are listed in `absent` (see `Corpus.absent`) and counted in `notes` (`clips_missing`). With look=False
    no clip is found, and none is listed as missing. Links are followed, so that a link to the file of the target is
    recognised as this file.
    """

    def __init__(self, folders: Sequence[Path], notes: Counter[str], *, look: bool = True) -> None:
        self.folders, self.notes, self.look = folders, notes, look
        self.absent: dict[str, str] = {}

    def find(self, turn: str, name: str) -> Path | None:
        """Finds the file `name` of a turn ("dia0/3") in the first folder that has it."""
        if not self.look:
            return None
        path = next(filter(None, (self._path(folder, name) for folder in self.folders)), None)
        if path is None:
            self.absent[turn] = name
            self.notes["clips_missing"] += 1
        return path

    def _path(self, folder: Path, name: str) -> Path | None:
        file = folder / name
        try:
            if not file.exists():
                file = _match_accents(folder, name)
            return file.resolve() if stat.S_ISREG(file.stat().st_mode) else None
        except (OSError, ValueError):  # it does not exist, or no file can have that name
            return None


def _match_accents(folder: Path, name: str) -> Path:
    """Finds the file `name` if its accents are stored otherwise: archives made on a Mac store "é" as two characters."""
    for part in Path(name).parts:
        entries = os.listdir(folder)  # noqa: PTH208
        folder /= next((entry for entry in entries if normalize("NFC", entry) == normalize("NFC", part)), part)
    return folder


def refuse_wide(data: bytes, path: Path) -> None:
    """Raises CorpusError for text in UTF-16 or UTF-32, with or without a byte order mark, that begins with ASCII."""
    if b"\0" in data[:4]:
        raise CorpusError(f"{path.name} is in UTF-16 or UTF-32, not UTF-8", where=str(path), hint=TO_UTF8)


def read_utf8(path: Path) -> bytes:
    """Reads a UTF-8 file, without a byte order mark. Raises CorpusError, with the line, for another encoding."""
    data = read_bytes(path)
    refuse_wide(data, path)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        where = f"{path}, line {data.count(10, 0, error.start) + 1}"
        raise CorpusError(f"{path.name} is not in UTF-8", where=where, hint=TO_UTF8) from error
    return data.removeprefix(BYTE_ORDER_MARK)


def decode_lines(data: bytes, notes: Counter[str]) -> list[str]:
    """Decodes the lines of a UTF-8 file, without byte order mark and line endings.

    Lines that are not UTF-8 are decoded as cp1252 and counted in `lines_cp1252`, and also in `lines_garbled` if the
    text then looks garbled. C1 controls come from a cp1252 file that was read as Latin-1 and saved as UTF-8; they are
    decoded as cp1252 and counted in `characters_repaired`.
    """
    lines: list[str] = []
    for raw in data.removeprefix(BYTE_ORDER_MARK).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            line = raw.decode("cp1252", "replace")
            notes["lines_cp1252"] += 1
            notes["lines_garbled"] += bool(GARBLED.search(line))
        line, repaired = C1.subn(lambda control: control[0].encode("latin-1").decode("cp1252", "replace"), line)
        notes["characters_repaired"] += repaired
        lines.append(line)
    return lines


def read_table(
    data: bytes, path: Path, columns: Sequence[str], notes: Counter[str], *, quoted: bool = True
) -> Iterator[dict[str, str]]:
    """Yields the records of a comma-separated file: stripped cells by column.

    A record that is too short or too long is skipped and counted in `rows_malformed`. Raises CorpusError for an
    encoding other than UTF-8 and cp1252, for a wrong quote, and if one of `columns` is missing or occurs twice.
    """
    refuse_wide(data, path)
    lines = decode_lines(data, notes)
    if garbled := notes["lines_garbled"]:
        what = f"{garbled} lines of {path.name} are neither UTF-8 nor cp1252"
        raise CorpusError(what, where=str(path), hint=f"{TO_UTF8}, or {AS_PUBLISHED}")
    if quoted and (garbled_line := next(filter(MOJIBAKE.search, lines), "")):
        what = f"{path.name} was read in a wrong encoding and saved again"
        hint = f"{AS_PUBLISHED}; a spreadsheet must import it as UTF-8"
        raise CorpusError(what, where=f"{path}, line {lines.index(garbled_line) + 1}", hint=hint)
    with_ends = (f"{line}\n" for line in lines)
    records = csv.reader(with_ends, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=True)
    try:
        header = [cell.strip() for cell in next(records)]
        if wrong := [name for name in columns if header.count(name) != 1]:
            what = f"{path.name} needs these columns once each: {', '.join(wrong)}"
            where = f"{path}, line 1; it has: {', '.join(header)[:300] or 'nothing'}"
            raise CorpusError(what, where=where, hint=f"{AS_PUBLISHED}; needed are {', '.join(columns)}")
        fewest = 1 + max(map(header.index, columns))
        for record in records:
            cells = [cell.strip() for cell in record]
            if len(cells) >= fewest and not (quoted and any(cells[len(header) :])):
                yield dict(zip(header, cells, strict=False))
            else:
                notes["rows_malformed"] += any(cells)
    except csv.Error as error:
        what = f"{path.name} is damaged: {error}"
        raise CorpusError(what, where=f"{path}, line {records.line_num}", hint=AS_PUBLISHED) from error
