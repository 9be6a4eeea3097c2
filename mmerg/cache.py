"""Reply caches as files: `python -m mmerg.cache info | merge | prune …`: what they hold, several as one, less of one.

  info FILE…           how many replies, of which engines
  merge TO FROM…       adds the replies of FROM to TO, which may be new; as cache_base=TO, runs of any machine read it
  prune FILE --mb N    drops the oldest replies until the rest takes at most N MB

A FILE or FROM is a replies.sqlite, the folder it lies in, or a run folder with shards that ran with scratch=….
Exit code 0 done, 2 a file cannot be used, 130 interrupted.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mmerg.backends.cache import REPLIES
from mmerg.backends.cache_files import held, merged, pruned
from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, plural, run_command, start
from mmerg.errors import ConfigError
from mmerg.runs.shards import shards_in


def files_of(path: Path) -> list[Path]:
    """The caches that a path means. Raises ConfigError where there is none."""
    if not path.is_dir():
        return [path]
    found = [folder / REPLIES for folder in (path, *shards_in(path).values()) if (folder / REPLIES).is_file()]
    if not found:
        hint = "a file, the cache_dir of a run (runs/.cache), or a run whose shards ran with scratch=…"
        raise ConfigError(f"there is no {REPLIES} here", where=str(path), hint=hint)
    return found


def info(files: Sequence[Path]) -> None:
    """A line a file, and one an engine."""
    for file in (file for path in files for file in files_of(path)):
        found = held(file)
        use = "; it is being written, or was by a process that was killed" * found.in_use
        _say(f"{file}: {found.replies} replies, {found.size / 1e6:.1f} MB{use}")
        for engine in found.engines:
            _say(f"  {engine.brief()}")


def merge(target: Path, sources: Sequence[Path]) -> None:
    """Adds what the sources hold."""
    files = [file for path in sources for file in files_of(path)]
    added = merged(files, target)
    _say(f"{added} new of {plural(len(files), 'file')}; {target} holds {held(target).replies}")


def prune(files: Sequence[Path], megabytes: int) -> None:
    """Drops the oldest of each."""
    for file in (file for path in files for file in files_of(path)):
        before = held(file).replies
        _say(f"{file}: {pruned(file, megabytes)} of {before} replies are left")


def _say(text: str) -> None:
    console().print(escape(text), soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(
        prog="python -m mmerg.cache", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("info", "merge", "prune"))
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--mb", type=int, metavar="N", help="of prune: how much is left")
    given = parser.parse_args(arguments)
    if given.what == "merge" and len(given.files) < 2:
        parser.error("merge TO FROM…")
    if (given.what == "prune") != (given.mb is not None and given.mb >= 0):
        parser.error("prune FILE --mb N; N is 0 or more")

    def work() -> int:
        match given.what:
            case "info":
                info(given.files)
            case "merge":
                merge(given.files[0], given.files[1:])
            case _:
                prune(given.files, given.mb)
        return 0

    return run_command(work, STARTS_OVER)


if __name__ == "__main__":
    start(main)
