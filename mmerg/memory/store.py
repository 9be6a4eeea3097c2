"""Memories on disk: each is built once, whole or not at all, and opened only as what it was built from.

    cache_dir/memory/1a2b3c4d5e6f7a8b/
      index.faiss     the vectors, mapped and not read
      entries.jsonl   what they stand for, a line a vector, for whoever wants to look
      manifest.json   what it was made of, and the digests of both files

The folder is named by a digest over the entries, the key, the embedder and this format. What is there is opened without
writing anything, so a cache may be read-only. Two processes that build the same memory wait for one another; a damaged
one is built again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from filelock import FileLock, Timeout

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import ConfigError, RunError, unwritable
from mmerg.memory.entries import Entry, Key, entries_of, line_of
from mmerg.memory.memory import Memory
from mmerg.memory.vectors import HINT, WHERE, Embedder, Index, Vectors, build, checked, load, save
from mmerg.storage.files import private_folder, sha256_of, write_whole

FORMAT = 1  # raise it with every change of what an index holds for the same entries
INDEX, ENTRIES, MANIFEST = "index.faiss", "entries.jsonl", "manifest.json"
AT_ONCE = 128  # texts between two reports of progress


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

    def open(self, corpus: Corpus, key: Key, embedder: Embedder) -> tuple[Memory, Mapping[str, int]]:
        """The memory of `corpus`, built where it is not there yet, and what of the corpus was left out."""
        entries, left_out = entries_of(corpus, key)
        lines = "".join(map(line_of, entries)).encode()
        made_of = {
            "format": FORMAT,
            "corpus": {"name": corpus.name, "split": corpus.split, "fingerprint": corpus.fingerprint},
            "entries": {"count": len(entries), "sha256": hashlib.sha256(lines).hexdigest()},
            "key": asdict(key),
            "embedder": embedder.identity(),
        }
        digest = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
        path = self.folder / digest[:16]
        index = _opened(path, made_of)
        try:
            if index is None:
                private_folder(self.folder)
                with self._lock(path):
                    index = _opened(path, made_of)  # another process may have built it meanwhile
                    if index is None:
                        self._clear(path)  # before the embedder is asked, which may take long
                        vectors = self._vectors(entries, key, embedder)
                        index = _built(path, vectors, lines, made_of)
        except OSError as error:
            raise unwritable(error, error.filename or path) from error
        return Memory(digest, entries, key, embedder, index), left_out

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

    def _vectors(self, entries: Sequence[Entry], key: Key, embedder: Embedder) -> Vectors:
        """A vector for each entry, equal texts embedded once: [entries, dimensions]."""
        texts = [key.of(entry.history, entry.situation, entry.emotion) for entry in entries]
        distinct = list(dict.fromkeys(texts))
        row = {text: number for number, text in enumerate(distinct)}
        parts = []
        for start in range(0, len(distinct), AT_ONCE):
            parts.append(embedder.embed(distinct[start : start + AT_ONCE]))
            if parts[-1].shape[1:] != parts[0].shape[1:]:
                what = f"the embedder gave arrays of shapes {parts[0].shape} and {parts[-1].shape}"
                raise ConfigError(what, where=WHERE, hint=HINT)
            self.watch.embedded(min(start + AT_ONCE, len(distinct)), len(distinct))
        return checked(np.concatenate(parts)[[row[text] for text in texts]], [entry.id for entry in entries])


def _built(path: Path, vectors: Vectors, lines: bytes, made_of: Mapping[str, object]) -> Index:
    """The new index, its folder renamed once it is whole."""
    part = path.with_suffix(".part")
    part.mkdir(mode=0o700)
    save(build(vectors), part / INDEX)
    write_whole(part / ENTRIES, lines)
    write_whole(part / MANIFEST, json.dumps(_manifest(part, made_of), indent=2) + "\n")
    part.rename(path)
    return load(path / INDEX)


def _manifest(folder: Path, made_of: Mapping[str, object]) -> dict[str, object]:
    return {"made_of": made_of, "files": {name: sha256_of(folder / name) for name in (INDEX, ENTRIES)}}


def _opened(path: Path, made_of: Mapping[str, object]) -> Index | None:
    """The index on disk, None where there is none or it is not whole. Raises RunError where the system refuses to read
    it: what may be whole is not thrown away."""
    try:
        if json.loads((path / MANIFEST).read_text(encoding="utf-8")) == _manifest(path, made_of):
            return load(path / INDEX)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError, RuntimeError):
        pass  # gone, no file, no folder, no JSON or nested without end, no index to this faiss
    except OSError as error:
        what = f"this memory cannot be read: {error.strerror or error}"
        hint = "check the disk and the folder's permissions, or remove the folder: it is built again then"
        raise RunError(what, where=str(path), hint=hint) from error
    return None
