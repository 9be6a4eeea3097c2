"""A folder that holds a report and nothing else of ours: written file by file, whole or not at all.

A marker names every file that was written, so that a later report takes away those it no longer has, and never a file
of somebody else. A folder that holds anything and has no marker is refused.

    with ReportFolder(Path("runs/demo/report")) as folder:
        folder.write("index.html", text)
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import TracebackType

from mmerg.errors import RunError, unwritable
from mmerg.storage.files import private_folder

MARKER = ".mmerg-report"
_FIRST = "mmerg report 1\n"


class ReportFolder:
    """Paths are relative, with forward slashes. Raises RunError where something cannot be written or is not ours."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._old: set[str] = set()
        self._new: set[str] = set()
        self._safe: set[Path] = set()

    def __enter__(self) -> ReportFolder:
        try:
            private_folder(self.path)
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise unwritable(error, self.path) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._old = self._claimed()
            self._mark(self._old)  # anew, whatever stood there: a torn line, or a link
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, BlockingIOError):
                what, hint = "another process is writing a report there", "wait for it, or choose --out"
                raise RunError(what, where=str(self.path), hint=hint) from error
            if isinstance(error, OSError):
                raise unwritable(error, self.path) from error
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Take away what an earlier report had and this one has not; after an error, only note what is there."""
        try:
            if kind is None:
                for stale in sorted(self._old - self._new):
                    with suppress(OSError, RunError):
                        _part(self._place(stale)).unlink(missing_ok=True)  # of a killed process
                        self._place(stale).unlink()
                self._mark(self._new)
                self._drop_empty()
            else:
                with suppress(RunError):
                    self._mark(self._old | self._new)
        finally:
            os.close(self._lock)

    def write(self, name: str, content: str | bytes) -> None:
        """Put a file there; what is written is the same for the same content."""
        data = _encoded(content) if isinstance(content, str) else content
        path = self._ready(name)
        try:
            _fresh(path, data).replace(path)
        except OSError as error:
            raise unwritable(error, path) from error

    def link(self, name: str, source: Path) -> None:
        """Put a file there that shares its bytes with `source`, or a copy where they cannot be shared."""
        path = self._ready(name)
        try:
            part = _part(path)
            part.unlink(missing_ok=True)
            try:
                os.link(source, part)
            except OSError:  # another file system, or one without links
                part = _fresh(path, source.read_bytes())
            # To rename a link to the same file does nothing.
            if path.exists() and path.samefile(part) and not path.is_symlink():
                part.unlink()
            else:
                part.replace(path)
        except OSError as error:
            raise unwritable(error, path) from error

    def _ready(self, name: str) -> Path:
        path = self._place(name)
        if name not in self._new:
            if name not in self._old:
                if path.exists():
                    hint = "move it away, or choose --out"
                    raise RunError("this file is not of a report", where=str(path), hint=hint)
                self._note(name)
            self._new.add(name)
        return path

    def _place(self, name: str) -> Path:
        """Where a file of ours is: below the folder, through real folders alone. They are made."""
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts:
            raise RunError(f"this is not the name of a report's file: {name!r}", where=str(self.path))
        folder = self.path
        for part in parts[:-1]:
            folder /= part
            if folder not in self._safe:
                if folder.is_symlink():
                    raise RunError("a report does not write through links", where=str(folder), hint="remove the link")
                try:
                    folder.mkdir(mode=0o700, exist_ok=True)
                except OSError as error:
                    raise unwritable(error, folder) from error
                self._safe.add(folder)
        return folder / parts[-1]

    def _claimed(self) -> set[str]:
        """What an earlier report wrote here."""
        marker = self.path / MARKER
        if marker.is_file():
            first, *names = marker.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
            if first == _FIRST:
                return {name.rstrip("\n") for name in names}
        if any(self.path.iterdir()):
            raise RunError(
                "the folder holds files that are not a report's", where=str(self.path), hint="choose another --out"
            )
        return set()

    def _note(self, name: str) -> None:
        """Name a file before it is there, so that what a killed process leaves is known to be ours, too."""
        try:
            with open(self.path / MARKER, "ab", opener=_unfollowed) as file:
                file.write(_encoded(f"{name}\n"))
        except OSError as error:
            raise unwritable(error, self.path) from error

    def _mark(self, names: set[str]) -> None:
        try:
            marker = self.path / MARKER
            _fresh(marker, _encoded(_FIRST + "".join(f"{name}\n" for name in sorted(names)))).replace(marker)
        except OSError as error:
            raise unwritable(error, self.path) from error

    def _drop_empty(self) -> None:
        """Folders that held files of ours and hold nothing now."""
        folders = {parent for name in self._old - self._new for parent in PurePosixPath(name).parents}
        for folder in sorted(folders, key=lambda one: -len(one.parts)):
            with suppress(OSError):
                if folder.parts and ".." not in folder.parts:
                    (self.path / folder).rmdir()


def _part(path: Path) -> Path:
    """Where a file is written before it is moved into place."""
    return path.with_name(path.name + ".part")


def _fresh(path: Path, data: bytes) -> Path:
    """The part of `path`, as a new file: one that is there already may be a link, or share its bytes with a frame of a
    run, which must not be written to."""
    part = _part(path)
    part.unlink(missing_ok=True)
    with open(part, "xb", opener=_unfollowed) as file:
        file.write(data)
    return part


def _unfollowed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="backslashreplace")
