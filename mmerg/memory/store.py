"""Memories on disk: each is built once, whole or not at all, and opened only as what it was built from.

The folder is named by a digest over the entries, the key, the embedder and this format.
What is there is opened without writing anything, so a cache may be read-only.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from filelock import FileLock, Timeout

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import RunError, unwritable
from mmerg.memory.entries import Entry, entries_of, line_of, text_of
from mmerg.memory.memory import Memory
from mmerg.memory.vectors import Embedder, Vectors, checked, embedded
from mmerg.settings.model import KeySettings
from mmerg.storage.files import private_folder, sha256_of, write_whole

FORMAT = 2  # raise it with every change of what a memory holds for the same entries
VECTORS, ENTRIES, MANIFEST = "vectors.npy", "entries.jsonl", "manifest.json"


class Watch(Protocol):
    """Is told what a build does."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def embedded(self, done: int, total: int) -> None:
        """So many distinct texts have their vector."""


@dataclass(frozen=True)
class Store:
    """A folder of memories. Raises RunError where it cannot be written."""

    folder: Path
    watch: Watch

    def open(self, corpus: Corpus, key: KeySettings, embedder: Embedder) -> tuple[Memory, Mapping[str, int]]:
        """The memory of `corpus`, built where it is not there yet, and what of the corpus was left out."""
        entries, left_out = entries_of(corpus, key)
        lines = "".join(map(line_of, entries)).encode()
        made_of = {
            "format": FORMAT,
            "corpus": {"name": corpus.name, "split": corpus.split, "fingerprint": corpus.fingerprint},
            "entries": {"count": len(entries), "sha256": hashlib.sha256(lines).hexdigest()},
            "key": key.plain(),
            "embedder": embedder.identity(),
        }
        digest = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
        path = self.folder / digest[:16]
        vectors = _opened(path, made_of)
        try:
            if vectors is None:
                private_folder(self.folder)
                with self._lock(path):
                    vectors = _opened(path, made_of)  # another process may have built it meanwhile
                    if vectors is None:
                        self._clear(path)  # before the embedder is asked, which may take long
                        vectors = _built(path, self._vectors(entries, key, embedder), lines, made_of)
        except OSError as error:
            raise unwritable(error, error.filename or path) from error
        return Memory(digest, entries, key, embedder, vectors), left_out

    def _lock(self, path: Path) -> AbstractContextManager[object]:
        """The lock on building, held."""
        lock = FileLock(path.with_suffix(".lock"))
        try:
            return lock.acquire(timeout=0)
        except Timeout:
            self.watch.note("another process is building this memory; waiting for it")
            return lock.acquire()

    def _clear(self, path: Path) -> None:
        """Remove what a killed build left, and what is damaged or foreign; of a link the link alone."""
        if os.path.lexists(path):
            self.watch.note(f"the memory in {path} is damaged; it is built again")
        for left in (path, path.with_suffix(".part")):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink(missing_ok=True)

    def _vectors(self, entries: Sequence[Entry], key: KeySettings, embedder: Embedder) -> Vectors:
        """A vector for each entry, equal texts embedded once: [entries, dimensions]."""
        texts = [text_of(key, entry.history, entry.situation, entry.emotion) for entry in entries]
        distinct = list(dict.fromkeys(texts))
        row = {text: number for number, text in enumerate(distinct)}
        vectors = embedded(embedder, distinct, self.watch.embedded)
        return checked(vectors[[row[text] for text in texts]], [entry.id for entry in entries])


def _built(path: Path, vectors: Vectors, lines: bytes, made_of: Mapping[str, object]) -> Vectors:
    """The new vectors, their folder renamed once it is whole."""
    part = path.with_suffix(".part")
    part.mkdir(mode=0o700)
    np.save(part / VECTORS, np.ascontiguousarray(vectors, dtype=np.float32))
    write_whole(part / ENTRIES, lines)
    write_whole(part / MANIFEST, json.dumps(_manifest(part, made_of), indent=2) + "\n")
    part.rename(path)
    return _mapped(path)


def _mapped(path: Path) -> Vectors:
    """The vectors [entries, dimensions]: the system reads them in as they are needed, once for all processes."""
    vectors: Vectors = np.load(path / VECTORS, mmap_mode="r")
    return vectors


def _manifest(folder: Path, made_of: Mapping[str, object]) -> dict[str, object]:
    return {"made_of": made_of, "files": {name: sha256_of(folder / name) for name in (VECTORS, ENTRIES)}}


def _opened(path: Path, made_of: Mapping[str, object]) -> Vectors | None:
    """The vectors on disk, None where there are none or they are not whole. Raises RunError where the system refuses to
    read them: what may be whole is not thrown away."""
    try:
        if json.loads((path / MANIFEST).read_text(encoding="utf-8")) == _manifest(path, made_of):
            return _mapped(path)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError, RecursionError):
        pass  # gone, no file, no folder, no JSON or nested without end
    except OSError as error:
        what = f"this memory cannot be read: {error.strerror or error}"
        hint = "check the disk and the folder's permissions, or remove the folder: it is built again then"
        raise RunError(what, where=str(path), hint=hint) from error
    return None
