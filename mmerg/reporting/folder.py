"""A folder with a report. A new one is written into a folder of its own in there, and moved to its place once it is
whole: after an error the earlier report stands.

A marker names all files of a report. A later report removes these and no others. A folder with files and without a
marker is refused.

    with report_folder(Path("runs/demo/report")) as folder:
        folder.write("index.html", text)
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath

from mmerg.errors import RunError
from mmerg.storage.files import private_folder, writing

MARKER, PART = ".mmerg-report", ".mmerg-report.part"
_FIRST = "mmerg report 1"


@contextmanager
def report_folder(path: Path) -> Iterator[ReportFolder]:
    """Put a report there as the block ends well. Raises RunError where something cannot be written, is not a report's,
    or another process writes there."""
    with ExitStack() as stack:
        with writing(path):
            private_folder(path)
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                what, hint = "another process is writing a report there", "wait for it, or choose --out"
                raise RunError(what, where=str(path), hint=hint) from error
            folder = ReportFolder(path)
            shutil.rmtree(path / PART, ignore_errors=True)  # of a killed process
            (path / PART).mkdir(mode=0o700)
            stack.callback(shutil.rmtree, path / PART, ignore_errors=True)
        yield folder
        with writing(path):
            folder.put_in_place()


class ReportFolder:
    """Names of files are relative, with forward slashes."""

    def __init__(self, path: Path) -> None:
        self.path, self._part = path, path / PART
        self._old, self._new = self._read_marker(), set[str]()

    def write(self, name: str, content: str | bytes) -> None:
        """Put a file there; what is written is the same for the same content."""
        path = self._prepare(name)
        with writing(path), open(path, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def link(self, name: str, source: Path) -> None:
        """Put a file there that shares its bytes with `source`, or a copy where they cannot be shared."""
        try:
            os.link(source, self._prepare(name))
        except OSError:  # another file system, or one without links
            self.write(name, source.read_bytes())

    def _prepare(self, name: str) -> Path:
        """The place of a new file, its folder made."""
        self._new.add(name)
        path = self._part / name
        with suppress(OSError):  # writing the file raises it again
            private_folder(path.parent)
            path.unlink(missing_ok=True)  # it may share its bytes with a frame of a run
        return path

    def put_in_place(self) -> None:
        """Remove the earlier report and move this one to its place, unless a file that is not a report's is in the way.
        The marker names the files of both until all is done: what a killed process leaves is known as a report's."""
        parents = sorted({PurePosixPath(name).parent for name in self._new})
        for parent in parents:
            if not self._inside(parent):
                where = str(self.path / parent)
                raise RunError("a report does not write through links", where=where, hint="remove the link")
        for name in sorted(self._new - self._old):
            if os.path.lexists(path := self.path / name):
                raise RunError("this file is not of a report", where=str(path), hint="move it away, or choose --out")
        self._mark(self._old | self._new)
        for name in self._old:
            with suppress(OSError):
                (self.path / name).unlink()
        for parent in parents:
            private_folder(self.path / parent)
        for name in self._new:
            (self._part / name).rename(self.path / name)
        folders = {folder for name in self._old for folder in PurePosixPath(name).parents if folder.parts}
        for folder in sorted(folders, key=lambda one: -len(one.parts)):
            with suppress(OSError):  # it is not empty
                (self.path / folder).rmdir()
        self._mark(self._new)

    def _read_marker(self) -> set[str]:
        """The files of an earlier report, without names that lead out of the folder."""
        marker = self.path / MARKER
        if marker.is_file():
            first, *names = marker.read_text(encoding="utf-8", errors="replace").split("\n")
            if first == _FIRST:
                inside = {parent for parent in {PurePosixPath(name).parent for name in names} if self._inside(parent)}
                return {name for name in names if name and PurePosixPath(name).parent in inside}
        if any(file.name != PART for file in self.path.iterdir()):
            what = "the folder holds files that are not a report's"
            raise RunError(what, where=str(self.path), hint="choose another --out")
        return set()

    def _inside(self, folder: PurePosixPath) -> bool:
        """Whether this folder, relative to the report's, lies in it and not behind a link."""
        place = self.path.resolve() / folder
        return place.resolve() == place and place.is_relative_to(self.path.resolve())

    def _mark(self, names: set[str]) -> None:
        """Anew, whatever stood there: a torn line, or a link."""
        part = self._part / MARKER
        part.write_text("\n".join([_FIRST, *sorted(names), ""]), encoding="utf-8")
        part.chmod(0o600)
        part.replace(self.path / MARKER)
