"""A folder that holds a report: written beside what is there, and put in its place when all of it is written.

A marker names every file of ours, so that a later report takes away those it no longer has, and never a file of
somebody else. A folder that holds anything and has no marker is refused. After an error the earlier report stands.

    with ReportFolder(Path("runs/demo/report")) as folder:
        folder.write("index.html", text)
"""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from types import TracebackType

from mmerg.errors import RunError
from mmerg.storage.files import SAFE, private_folder, writing

MARKER, PART = ".mmerg-report", ".mmerg-report.part"
_FIRST = "mmerg report 1"


class ReportFolder:
    """Paths are relative, with forward slashes. Raises RunError where something cannot be written or is not ours."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path / PART
        self._old: set[str] = set()
        self._new: set[str] = set()

    def __enter__(self) -> ReportFolder:
        with writing(self.path), ExitStack() as undone:
            private_folder(self.path)
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            undone.callback(os.close, self._lock)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                what, hint = "another process is writing a report there", "wait for it, or choose --out"
                raise RunError(what, where=str(self.path), hint=hint) from error
            self._old = self._claimed()
            shutil.rmtree(self._part, ignore_errors=True)  # of a killed process
            self._part.mkdir(mode=0o700)
            undone.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            if kind is None:
                with writing(self.path):
                    self._put_in_place()
        finally:
            shutil.rmtree(self._part, ignore_errors=True)
            os.close(self._lock)

    def write(self, name: str, content: str | bytes) -> None:
        """Put a file there; what is written is the same for the same content."""
        path = self._ready(name)
        with writing(path), open(path, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(content.encode(errors=SAFE) if isinstance(content, str) else content)

    def link(self, name: str, source: Path) -> None:
        """Put a file there that shares its bytes with `source`, or a copy where they cannot be shared."""
        try:
            os.link(source, self._ready(name))
        except OSError:  # another file system, or one without links
            self.write(name, source.read_bytes())

    def _ready(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts:
            raise RunError(f"this is not the name of a report's file: {name!r}", where=str(self.path))
        self._new.add(name)
        path = self._part / name
        with suppress(OSError):  # what is wrong, writing the file tells
            private_folder(path.parent)
            path.unlink(missing_ok=True)  # it may share its bytes with a frame of a run
        return path

    def _put_in_place(self) -> None:
        """Take away the earlier report and move this one there; first see that nothing of somebody else is in its way.
        The marker names the files of both until all is done, so that what a killed process leaves is known as ours."""
        for name in sorted(self._new):
            path = self.path / name
            if self._through_link(name):
                raise RunError("a report does not write through links", where=str(path.parent), hint="remove the link")
            if name not in self._old and os.path.lexists(path):
                raise RunError("this file is not of a report", where=str(path), hint="move it away, or choose --out")
        self._mark(self._old | self._new)
        folders = {folder for name in self._old for folder in PurePosixPath(name).parents if folder.parts}
        for name in self._old:
            with suppress(OSError):
                (self.path / name).unlink()
        for name in sorted(self._new):
            private_folder((self.path / name).parent)
            (self._part / name).rename(self.path / name)
        for folder in sorted(folders, key=lambda one: -len(one.parts)):
            with suppress(OSError):  # it is not empty
                (self.path / folder).rmdir()
        self._mark(self._new)

    def _claimed(self) -> set[str]:
        """What an earlier report wrote here, but for names that no report has and what lies behind links."""
        marker = self.path / MARKER
        if marker.is_file():
            first, *names = marker.read_text(encoding="utf-8", errors="replace").split("\n")
            if first == _FIRST:
                kept = (name for name in names if name and not name.startswith("/"))
                return {name for name in kept if ".." not in PurePosixPath(name).parts and not self._through_link(name)}
        if any(file.name != PART for file in self.path.iterdir()):
            raise RunError(
                "the folder holds files that are not a report's", where=str(self.path), hint="choose another --out"
            )
        return set()

    def _through_link(self, name: str) -> bool:
        return any((self.path / folder).is_symlink() for folder in PurePosixPath(name).parents if folder.parts)

    def _mark(self, names: set[str]) -> None:
        """Anew, whatever stood there: a torn line, or a link."""
        part = self._part / MARKER
        part.write_text("\n".join([_FIRST, *sorted(names), ""]), encoding="utf-8", errors=SAFE)
        part.chmod(0o600)
        part.replace(self.path / MARKER)
