"""Reply caches as files: reads what one contains, merges several, drops the oldest replies.

A file is written on a local disk (`disk`, or the folder for temporary files) and then copied to its place in one step,
as SQLite's locks do not work on file systems of clusters. A process that reads the old file goes on reading it.

    merge_caches([Path("a/replies.sqlite"), Path("b/replies.sqlite")], Path("/shared/base.sqlite"))
"""

import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from mmerg.backends.cache import READ_ALONE, REPLIES, TABLES, Cache, in_use
from mmerg.backends.protocol import Engine
from mmerg.backends.scripted import Scripted
from mmerg.errors import ConfigError
from mmerg.storage.files import write_whole


class Contents(NamedTuple):
    """What a file contains."""

    replies: int
    size: int  # bytes
    engines: tuple[Engine, ...]
    in_use: bool


def read_contents(path: Path) -> Contents:
    """Raises ConfigError where it is no reply cache."""
    with closing(Cache(Scripted([]), path, "read" if in_use(path) else "base")) as cache:
        replies, engines = cache.contents()
    return Contents(replies, path.stat().st_size, engines, in_use(path))


def merge_caches(sources: Iterable[Path], target: Path, disk: Path | None = None) -> int:
    """Add the replies of `sources` to `target`, which may be new; returns how many were added. Of two replies to one
    call the first is kept: that of `target`, then those of the sources in their order. Raises ConfigError where a file
    cannot be used, RunError where `target` cannot be written."""
    files = [*([target] if target.exists() else []), *sources]
    counts = [read_contents(file).replies for file in files]
    return _rewrite(files, target, disk=disk) - (counts[0] if files[:1] == [target] else 0)


def prune_cache(path: Path, megabytes: int) -> int:
    """Drop the oldest replies until the texts of the rest take at most so many MB (10^6 bytes); returns how many are
    left."""
    read_contents(path)
    with closing(sqlite3.connect(_place(path), uri=True)) as database:
        [(last,)] = database.execute(
            "SELECT coalesce(max(row), 0) FROM (SELECT rowid AS row, sum(length(key) + length(CAST(reply AS BLOB)))"
            " OVER (ORDER BY rowid DESC) AS size FROM replies) WHERE size > ?",
            (megabytes * 1_000_000,),
        )
    return _rewrite([path], path, last + 1)


def _rewrite(sources: Iterable[Path], target: Path, first: int = 0, disk: Path | None = None) -> int:
    """Write `target` anew with the rows of `sources`, of each those from `first` on; returns how many replies it
    has."""
    if target.exists() and in_use(target):
        what = "this cache is being written, or was by a process that was killed"
        hint = "wait for its end; of a killed one, the same run or mmerg cache merge NEW.sqlite takes up what it wrote"
        raise ConfigError(what, where=str(target), hint=hint)
    with tempfile.TemporaryDirectory(prefix="mmerg-cache-", dir=disk) as folder:
        local = Path(folder) / REPLIES
        with closing(sqlite3.connect(local, uri=True, isolation_level=None)) as database:
            try:
                database.executescript(TABLES)
                for source in sources:
                    rows = "SELECT key, reply FROM source.replies WHERE rowid >= ? ORDER BY rowid"
                    database.execute("ATTACH ? AS source", (_place(source),))
                    database.execute(f"INSERT OR IGNORE INTO replies {rows}", (first,))
                    database.execute("INSERT OR IGNORE INTO engines SELECT key, engine FROM source.engines")
                    database.execute("DETACH source")
                [(count,)] = database.execute("SELECT count(*) FROM replies")
            except sqlite3.Error as error:
                hint = f"move the damaged file away; {disk or 'TMPDIR'} must have room for all"
                raise ConfigError(f"the caches cannot be merged: {error}", where=str(target), hint=hint) from error
        with local.open("rb") as made:
            write_whole(target, iter(lambda: made.read(2**20), b""))
    return int(count)


def _place(path: Path) -> str:
    """SQLite's address of a file to read, without locks where nobody writes it."""
    return f"{path.absolute().as_uri()}?{'mode=ro' if in_use(path) else READ_ALONE}"
