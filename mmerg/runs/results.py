"""The lines of a file of records, one a sample, held as bytes: 100,000 take about as much memory as the file.

A later line of a sample takes the place of an earlier one. A last line that is cut off, as a killed process leaves it,
is passed over; one that only lacks its line feed is read.

    results = read_lines(Path("runs/meld-…/results.jsonl"), Result)
    results["test_dia0/3"].response
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from mmerg.errors import RunError
from mmerg.runs.result import SampleLine
from mmerg.runs.samples import why
from mmerg.storage.files import SAFE, open_regular

Line = TypeVar("Line", bound=SampleLine)


class Results(Mapping[str, Line], Generic[Line]):
    """Records by sample id, in the order in which their ids came first; each is parsed when it is asked for. clean: the
    file that they were read from has exactly these lines."""

    def __init__(self, record: type[Line], lines: dict[str, bytes] | None = None) -> None:
        self.lines = lines or {}
        self.clean = True
        self._record = record

    def put(self, record: Line) -> bytes:
        """Hold `record`; returns its line."""
        self.lines[record.id] = record.line().encode(errors=SAFE)
        return self.lines[record.id]

    def only(self, samples: Iterable[str]) -> Results[Line]:
        """The records of those of `samples` that have one, in their order."""
        return Results(self._record, {sample: self.lines[sample] for sample in samples if sample in self.lines})

    def parse(self, line: bytes) -> Line:
        """Raises ValueError or RecursionError where a line is no record."""
        try:
            return self._record.model_validate_json(line)
        except ValidationError:  # lone surrogates, which pydantic's JSON refuses, or what is told below
            return self._record.model_validate(json.loads(line.decode()))

    def __getitem__(self, sample: str) -> Line:
        return self.parse(self.lines[sample])

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, sample: object) -> bool:  # without parsing it
        return sample in self.lines


def read_lines(path: Path, record: type[Line]) -> Results[Line]:
    """None where there is no such file. Raises RunError where it cannot be read or a line is no record."""
    found = Results(record)
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, start=1):
                whole = line.endswith(b"\n")
                try:
                    sample = found.parse(line).id
                except (ValueError, RecursionError) as error:
                    if whole:
                        what = f"line {number} is not a record of this version: {why(error)}"
                        raise RunError(what, where=str(path)) from error
                    found.clean = False
                    break
                found.clean &= whole and sample not in found.lines
                found.lines[sample] = line if whole else line + b"\n"
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RunError(f"the results cannot be read: {why(error)}", where=str(path)) from error
    return found
