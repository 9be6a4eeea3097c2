"""Files as they were at one moment, so that those that are gone or changed later are noticed.

clips = Snapshot.of(clip_files(corpus))
clips.changed()    # those that are gone by now, or have another size
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True)
class Snapshot:
    """The files that were there, with their sizes in bytes."""

    sizes: Mapping[Path, int] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Iterable[Path]) -> Snapshot:
        """Those of `paths` that are files now."""
        return cls({path: size for path in sorted(set(paths)) if (size := _size(path)) is not None})

    def changed(self, paths: Iterable[Path] | None = None) -> list[Path]:
        """Those of `paths` (None: all) that were there and are gone or have another size now."""
        asked = self.sizes if paths is None else paths
        return [path for path in asked if path in self.sizes and _size(path) != self.sizes[path]]

    def digest(self) -> str:
        """SHA-256 (hex) over names and sizes, so that an archive unpacked further in the meantime is noticed."""
        text = "".join(f"{path.name}\0{size}\n" for path, size in self.sizes.items())
        return sha256(text.encode(errors="surrogateescape")).hexdigest()


def _size(path: Path) -> int | None:
    try:
        status = os.stat(path)  # noqa: PTH116  (as os.path: a null byte is a ValueError here, too)
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
