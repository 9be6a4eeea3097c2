"""Writes files whole, and finds files that settings name.

A file is written beside its place under a random name and moved there once complete, so that no reader sees half of it
and two writers do not collide. Files and folders are private (0600, 0700), as frames show faces.
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
from typing import BinaryIO

from pydantic import ValidationError

from mmerg.errors import ConfigError, unwritable

SAFE = "backslashreplace"  # a lone surrogate, which UTF-8 cannot encode, becomes its JSON escape: \ud800
PART = ".part"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns an OSError in the block into a RunError that names `path`."""
    try:
        yield
    except OSError as error:
        raise unwritable(error, path) from error


@contextmanager
def replacing(path: Path, prefix: str = "", buffering: int = -1) -> Iterator[BinaryIO]:
    """Yields a new file that replaces `path` if the block succeeds, and is deleted otherwise. A symlink is replaced,
    not followed. Raises RunError if the file cannot be created or moved."""
    with writing(path):
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=prefix or f".{path.name[:64]}.", suffix=PART)
    try:
        with os.fdopen(handle, "wb", buffering) as file:
            yield file
        with writing(path):
            os.replace(part, path)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(part)  # noqa: PTH108
        raise


def write_whole(path: Path, content: str | bytes | Iterable[bytes], *, durable: bool = False) -> None:
    """Writes `content` to `path` in one step, and creates its folder if missing. durable: wait until it is on the disk.
    Raises RunError if it cannot be written; the old file then stays."""
    data = content.encode(errors=SAFE) if isinstance(content, str) else content
    with writing(path):
        private_folder(path.parent)
        with replacing(path) as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            if durable:
                file.flush()
                os.fsync(file.fileno())


def write_output(path: Path, content: str) -> None:
    """Writes `content` to a path of the user's. Symlinks are followed; devices and pipes are written to, not replaced.
    Raises RunError if it cannot be written."""
    if path.exists() and not path.is_file():
        with writing(path):
            path.write_text(content, encoding="utf-8", errors=SAFE)
    else:
        write_whole(path.resolve(), content)


def private_folder(path: Path) -> None:
    """Creates a private folder and its parents; existing folders keep their mode. Raises OSError."""
    for folder in reversed([folder for folder in (path, *path.parents) if not folder.is_dir()]):
        folder.mkdir(mode=0o700, exist_ok=True)


def describe_error(error: OSError | ValueError) -> str:
    """What is wrong with a line or a file, in a few words."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg'].removeprefix('Value error, ')}" if place else first["msg"]
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"it is no JSON ({error})" if isinstance(error, json.JSONDecodeError) else str(error)


def get_name(path: Path) -> str:
    """The last part of a path, also of ".". Bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path.resolve().name).decode(errors="replace")


def compute_sha256(path: Path) -> str:
    """SHA-256 (hex) of the file's bytes. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def locate(reference: str, hint: str) -> Path:
    """The file at a path or at "package:NAME/FILE", whose package is not imported. Raises ConfigError if there is no
    such file. hint: what to give instead."""
    path = _located(reference, hint)
    if not path.is_file():
        raise ConfigError("there is no such file", where=str(path), hint=hint)
    return path


def locate_folder(reference: str, where: str) -> Path:
    """The same for a folder. Raises ConfigError if there is none. where: the setting that names it."""
    path = _located(reference, "a path")
    if not path.is_dir():
        raise ConfigError(f"there is no folder {reference}", where=f"{where}, {path.absolute()}")
    return path


def _located(reference: str, hint: str) -> Path:
    if not reference.startswith("package:"):
        try:
            return Path(reference).expanduser()
        except RuntimeError as error:  # ~name, and there is no such user
            raise ConfigError(str(error), where=reference, hint="write the whole path") from error
    name, _, file = reference.removeprefix("package:").partition("/")
    if not (name.isidentifier() and file):
        raise ConfigError("this names no file of a package", where=reference, hint=f"package:NAME/FILE, or {hint}")
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        install = f"pip install --no-deps {name.replace('_', '-')}"
        raise ConfigError(f"the package {name} is not installed", where=reference, hint=f"{install}, or {hint}")
    return Path(spec.submodule_search_locations[0]) / file


class Snapshot(dict[Path, int]):
    """Files at one moment, with their sizes in bytes, to notice later whether some are gone or changed."""

    @classmethod
    def of(cls, paths: Iterable[Path]) -> Snapshot:
        """A snapshot of those `paths` that are files now."""
        return cls({path: size for path in sorted(set(paths)) if (size := _size(path)) is not None})

    def changed(self, paths: Iterable[Path] | None = None) -> list[Path]:
        """Those of `paths` (None: all) in the snapshot that are gone or have another size now."""
        return [path for path in (self if paths is None else paths) if path in self and _size(path) != self[path]]

    def digest(self) -> str:
        """SHA-256 (hex) over names and sizes, which changes if an archive is unpacked further."""
        text = "".join(f"{path.name}\0{size}\n" for path, size in self.items())
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def _size(path: Path) -> int | None:
    try:
        status = path.stat()
    except (OSError, ValueError):  # a null byte
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
