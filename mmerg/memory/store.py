"""Memories on disk. Each is written as a whole, and used only for the entries from which it was built.

The name of a file is a digest of the entries, the key, the embedder and the format. The file contains the SHA-256 of
the vectors, and then the vectors. Opening an existing memory writes nothing, so its folder may be read-only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import RunError
from mmerg.memory.entries import build_entries, build_key
from mmerg.memory.memory import Memory
from mmerg.memory.vectors import Embedder, Vectors, embed_all
from mmerg.settings.sources import KeySettings
from mmerg.storage.files import make_private_folder, wrap_os_errors, write_atomically

if TYPE_CHECKING:
    from faiss import IndexFlatIP

FORMAT = 2  # increase it if the same entries get other vectors
_HEAD = hashlib.sha256().digest_size


def open_memory(
    folder: Path, corpus: Corpus, key: KeySettings, embedder: Embedder, progress: Callable[[int, int], None]
) -> tuple[Memory, Mapping[str, int]]:
    """Opens the memory of `corpus`, or builds it in `folder` if it is missing or damaged. Also returns the number of
    skipped turns, by reason. progress: see `embed_all`. Raises RunError if the memory cannot be read or written."""
    entries, skipped = build_entries(corpus, key)
    lines = "".join(json.dumps(asdict(entry), sort_keys=True) + "\n" for entry in entries)
    identity = {
        "format": FORMAT,
        "corpus": {"name": corpus.name, "split": corpus.split, "fingerprint": corpus.fingerprint},
        "entries": {"count": len(entries), "sha256": hashlib.sha256(lines.encode()).hexdigest()},
        "key": key.plain(),
        "embedder": embedder.identity(),
    }
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    path = folder / f"{digest[:16]}.vectors"
    vectors = _read(path, len(entries))
    if vectors is None:
        texts = [build_key(key, entry.history, entry.situation) for entry in entries]
        with wrap_os_errors(folder):
            make_private_folder(folder)
            held = FileLock(path.with_suffix(".lock")).acquire()
        with held:
            vectors = _read(path, len(entries))  # another process may have built it
            if vectors is None:
                vectors = embed_all(embedder, texts, [entry.id for entry in entries], progress)
                data = np.ascontiguousarray(vectors, dtype=np.float32).tobytes()
                write_atomically(path, [hashlib.sha256(data).digest(), data])
    return Memory(digest, entries, key, embedder, build_index(vectors)), skipped


def build_index(vectors: Vectors) -> IndexFlatIP:
    """Builds a FAISS index of unit `vectors` [entries, dimensions]. Inner products are cosines; the search is exact."""
    from faiss import IndexFlatIP

    index = IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def _read(path: Path, count: int) -> Vectors | None:
    """Reads the vectors on disk, [count, dimensions]; None if they are missing or damaged. Raises RunError if the file
    cannot be read."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        what = f"this memory cannot be read: {error.strerror or error}"
        hint = "check the disk and the file's permissions, or remove the file to rebuild it"
        raise RunError(what, where=str(path), hint=hint) from error
    if data[:_HEAD] != hashlib.sha256(data[_HEAD:]).digest():
        return None
    return np.frombuffer(data, np.float32, offset=_HEAD).reshape(count, -1)
