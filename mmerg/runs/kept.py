"""The last line of each sample in a file of records, read from the file when asked for: 100,000 of them take no room.

Only where each line lies is kept in memory. Lines are checked once, when the file is opened; a torn last line is
passed over.

    kept = Kept(Path("runs/meld-…/results.jsonl"), Result)
    kept["test_dia0/3"].response
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar, overload

from mmerg.errors import RunError
from mmerg.runs.lines import SAFE, why


class Record(Protocol):
    """What a file holds a line of for each sample: a pydantic class."""

    @property
    def id(self) -> str: ...

    def line(self) -> str: ...

    @classmethod
    def model_validate(cls, obj: Any) -> Self: ...


Line = TypeVar("Line", bound=Record)


class Part(Sequence[Line], Generic[Line]):
    """Records of some samples, in their order, each read when it is come to."""

    def __init__(self, kept: Kept[Line], samples: Sequence[str]) -> None:
        self._kept, self._samples = kept, samples

    def __len__(self) -> int:
        return len(self._samples)

    @overload
    def __getitem__(self, at: int) -> Line: ...
    @overload
    def __getitem__(self, at: slice) -> Part[Line]: ...
    def __getitem__(self, at: int | slice) -> Line | Part[Line]:
        if isinstance(at, slice):
            return Part(self._kept, self._samples[at])
        return self._kept[self._samples[at]]

    def __iter__(self) -> Iterator[Line]:
        return self._kept.read(self._samples)


class Kept(Mapping[str, Line], Generic[Line]):
    """Records by sample id, in the order in which their ids came first. A file that is not there holds none.

    Raises RunError where the file cannot be read or a line is no record.
    """

    def __init__(self, file: Path, record: type[Line]) -> None:
        self._file, self._record = file, record
        self._places: dict[str, tuple[int, int]] = {}  # id: where its line begins, its length; both in bytes
        self._end = 0
        self._stale = False
        self.look()

    def retire(self) -> None:
        """The file is to be written anew: where its lines lie will not be known here, so nothing more can be read."""
        self._stale = True

    def look(self) -> None:
        """Take note of what has been appended since."""
        if not self._file.exists():
            return
        try:
            with self._file.open("rb") as lines:
                lines.seek(self._end)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    self.append(self._read(line).id, len(line))
        except OSError as error:
            raise self._unreadable(error) from error

    def append(self, sample: str, length: int) -> None:
        """Note that the sample's line, of so many bytes, has been written at the end of the file."""
        self._places[sample] = (self._end, length)
        self._end += length

    def part(self, samples: Iterable[str] | None = None) -> Part[Line]:
        """The records of those of `samples` (None: all) that have one."""
        return Part(self, [s for s in samples if s in self._places] if samples is not None else list(self._places))

    def raw(self, samples: Iterable[str]) -> Iterator[bytes]:
        """The samples' lines as they stand in the file."""
        if self._stale:
            raise RunError(
                "the results were put in order since these were looked up", where=str(self._file), hint="read them anew"
            )
        if not self._places:  # where there is no file, nobody's line can be asked for
            return
        try:
            with self._file.open("rb") as lines:
                for sample in samples:
                    start, length = self._places[sample]
                    lines.seek(start)
                    yield lines.read(length)
        except OSError as error:
            raise self._unreadable(error) from error

    def read(self, samples: Iterable[str]) -> Iterator[Line]:
        """Their records."""
        return map(self._read, self.raw(samples))

    def __getitem__(self, sample: str) -> Line:
        if sample not in self._places:
            raise KeyError(sample)
        [record] = self.read([sample])
        return record

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _read(self, line: bytes) -> Line:
        try:
            return self._record.model_validate(json.loads(line))
        except (ValueError, RecursionError) as error:
            what = f"line {self._number(line)} is not a record of this version: {why(error)}"
            raise RunError(what, where=str(self._file)) from error

    def _number(self, line: bytes) -> int:
        """The number of a line, counted only once it is to be named."""
        try:
            with self._file.open("rb") as lines:
                return next((number for number, other in enumerate(lines, start=1) if other == line), 0)
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> RunError:
        return RunError(f"the results cannot be read: {error.strerror}", where=str(self._file))


def bytes_of(line: str) -> int:
    """How many bytes a line takes in the file."""
    return len(line.encode(errors=SAFE))
