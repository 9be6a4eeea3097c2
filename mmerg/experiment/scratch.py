"""A run's own replies on a disk of this machine while it works, and in the run's folder once it ends, however it does.

SQLite needs a local disk, and run folders of a cluster lie on a shared one: bytes alone are copied there.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mmerg.backends.cache import REPLIES
from mmerg.backends.cache_files import merge_caches
from mmerg.console.terminal import undisturbed
from mmerg.errors import ConfigError, MmergError, RunError
from mmerg.settings.model import RunSettings
from mmerg.storage.files import why


@contextmanager
def on_scratch(settings: RunSettings, folder: Path) -> Iterator[RunSettings]:
    """The settings to ask with while the block runs. What an earlier start left in `folder` is read; what is new is
    added to it at the block's end, after an error and Ctrl-C, too. Raises RunError where a file cannot be written; what
    could not be added stays where it is."""
    if settings.scratch is None or settings.cache == "off":
        yield settings
        return
    scratch = Path(settings.scratch)
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=scratch, prefix="mmerg-"))
    except OSError as error:
        hint = "scratch=/tmp, or another folder of this machine's own disk; or leave it out"
        raise ConfigError(f"the folder {scratch} cannot be used: {why(error)}", where="scratch", hint=hint) from error
    kept, local = folder / REPLIES, made / REPLIES
    try:
        if kept.exists():
            merge_caches([kept], local, made)
        yield settings.model_copy(update={"cache_dir": str(made)})
    finally:
        with undisturbed():
            if settings.cache == "on" and local.exists() and local.stat().st_size:  # on a full disk it is empty
                _bring(local, kept)
            shutil.rmtree(made, ignore_errors=True)


def _bring(local: Path, kept: Path) -> None:
    try:
        merge_caches([local], kept, local.parent)
    except (MmergError, OSError) as error:
        what = f"new replies were not copied to {kept}: {error.what if isinstance(error, MmergError) else why(error)}"
        raise RunError(what, where=str(local), hint=f"mmerg cache merge {kept} {local}") from error
