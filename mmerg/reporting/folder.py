"""A folder with a report. A new one is written beside its place and moved there once it is whole: after an error the
earlier report stands.

A marker names all files of a report. A folder that holds any other file is refused.

    with report_folder(Path("runs/demo/report")) as folder:
        folder.write("index.html", text)
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from mmerg.errors import RunError
from mmerg.storage.files import PART, private_folder, write_whole, writing

MARKER = ".mmerg-report"


@contextmanager
def report_folder(path: Path) -> Iterator[ReportFolder]:
    """Put a report there as the block ends well. Raises RunError where something cannot be written, or the folder holds
    files that are not a report's."""
    place = path.resolve()
    with writing(path):
        private_folder(place.parent)
        _refuse_other_files(place)
        part = Path(mkdtemp(prefix=f".{place.name}.", suffix=PART, dir=place.parent))
    try:
        yield ReportFolder(part)
        names = sorted(file.relative_to(part).as_posix() for file in part.rglob("*") if file.is_file())
        write_whole(part / MARKER, "\n".join([*names, MARKER, ""]))
        with writing(path):
            _refuse_other_files(place)
            if place.exists():
                shutil.rmtree(place)
            part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


class ReportFolder:
    """Names of files are relative, with forward slashes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: str | bytes) -> None:
        """Put a file there; what is written is the same for the same content."""
        write_whole(self.path / name, content)

    def link(self, name: str, source: Path) -> None:
        """Put a file there that shares its bytes with `source`, or a copy where they cannot be shared."""
        path = self.path / name
        with writing(path):
            private_folder(path.parent)
        try:
            os.link(source, path)
        except OSError:  # another file system, or one without links
            self.write(name, source.read_bytes())


def _refuse_other_files(place: Path) -> None:
    there = {file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_symlink() or not file.is_dir()}
    marker = place / MARKER
    known = marker.read_text(encoding="utf-8").split("\n") if marker.is_file() else ()
    if others := sorted(there.difference(known)):
        where = str(place / others[0])
        raise RunError("the folder holds files that are not a report's", where=where, hint="choose another --out")
