"""A run's own replies on a disk of this machine while it works, and in the run's folder once it ends, however it does.

SQLite needs a local disk, and run folders of a cluster lie on a shared one: bytes alone are copied there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mmerg.backends.cache import REPLIES
from mmerg.backends.cache_files import merged
from mmerg.settings.model import RunSettings
from mmerg.storage.files import writing


@contextmanager
def on_scratch(settings: RunSettings, folder: Path) -> Iterator[RunSettings]:
    """The settings to ask with while the block runs. What an earlier start left in `folder` is read; what is new is
    added to it at the block's end, after an error and Ctrl-C, too. Raises RunError where a file cannot be written."""
    if settings.scratch is None or settings.cache == "off":
        yield settings
        return
    kept = folder / REPLIES
    scratch = Path(settings.scratch)
    with writing(scratch):
        scratch.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(dir=scratch, prefix="mmerg-", ignore_cleanup_errors=True)
    with made as name:
        local = Path(name) / REPLIES
        if kept.exists():
            merged([kept], local)
        try:
            yield settings.model_copy(update={"cache_dir": name})
        finally:
            if settings.cache == "on" and local.exists():
                merged([local], kept)
