"""Appends lines to a file: each whole or, where the process is killed or the disk is full, torn at the file's very end.

A torn last line is cut off when the file is opened to append; readers pass it over.

    with Lines(Path("trace.jsonl")) as lines:
        lines.append('{"kind": "sample_done"}\\n')
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from mmerg.errors import unwritable

SAFE = "backslashreplace"  # a lone surrogate, which UTF-8 has no bytes for, becomes what JSON writes for it: \ud800


class Lines:
    """An open file. `append` is safe from several threads; once it has failed it fails, as the line before is torn.

    Raises RunError where the file cannot be opened or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._failed: OSError | None = None
        try:
            cut_torn(path)
            self._file = path.open("ab", buffering=0)  # nothing waits in a buffer, so closing cannot fail
        except OSError as error:
            raise unwritable(error, path) from error

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def append(self, line: str) -> None:
        """Write `line`, which ends in a line feed."""
        left = line.encode(errors=SAFE)
        with self._lock:
            if self._failed:
                raise unwritable(self._failed, self._path)
            try:
                while left:
                    left = left[self._file.write(left) :]
            except OSError as error:
                self._failed = error
                raise unwritable(error, self._path) from error

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


def cut_torn(path: Path) -> int:
    """Cut a torn last line off `path` so that lines can be appended; returns how many bytes were cut."""
    if not path.exists():
        return 0
    with path.open("rb+") as file:
        size = file.seek(0, 2)
        keep = size
        while keep > 0:
            start = max(0, keep - 65536)
            file.seek(start)
            newline = file.read(keep - start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            keep = start
        if keep < size:
            file.truncate(keep)
        return size - keep


def why(error: ValueError | RecursionError) -> str:
    """What is wrong with a line, in a few words."""
    return error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
