"""Reply caches as files: `mmerg cache info | merge | prune …`: what they hold, several as one, less of one.

  info FILE…           how many replies, of which engines
  merge TO FROM…       adds the replies of FROM to TO, which may be new; as cache_base=TO, runs of any machine read it
  prune FILE --mb N    drops the oldest replies until the rest takes at most N MB

A FILE or FROM is a replies.sqlite, the folder it lies in, or a run folder with shards that ran with scratch=….
Exit code 0 done, 2 a file cannot be used, 130 interrupted.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmerg.backends.cache import REPLIES
from mmerg.backends.cache_files import merge_caches, prune_cache, read_contents
from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, plural, run_command, start
from mmerg.errors import ConfigError
from mmerg.runs.shards import shards_in


def cache_files(paths: Sequence[Path]) -> Iterator[Path]:
    """The caches that paths mean. Raises ConfigError where there is none."""
    for path in paths:
        folders = (path, *shards_in(path).values()) if path.is_dir() else ()
        files = [folder / REPLIES for folder in folders if (folder / REPLIES).is_file()]
        if folders and not files:
            hint = "a file, the cache_dir of a run (runs/.cache), or a run whose shards ran with scratch=…"
            raise ConfigError(f"there is no {REPLIES} here", where=str(path), hint=hint)
        yield from files or [path]


def lines_of(command: str, paths: Sequence[Path], megabytes: int) -> Iterator[str]:
    """Does `command` (info, merge, prune), and says a line of each file, and by info of each engine. megabytes (10^6
    bytes each): what prune leaves."""
    if command == "merge":
        target, *sources = paths
        files = list(cache_files(sources))
        added = merge_caches(files, target)
        yield f"{added} new of {plural(len(files), 'file')}; {target} holds {read_contents(target).replies}"
        return
    for file in cache_files(paths):
        now = read_contents(file)
        if command == "prune":
            yield f"{file}: {prune_cache(file, megabytes)} of {now.replies} replies are left"
        else:
            use = "; it is being written, or was by a process that was killed" * now.in_use
            yield f"{file}: {now.replies} replies, {now.size / 1e6:.1f} MB{use}"
            yield from (f"  {engine.brief()}" for engine in now.engines)


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
        for line in lines_of(given.what, given.files, given.mb):
            console().print(escape(line), soft_wrap=True)
        return 0

    return run_command(work, STARTS_OVER)


if __name__ == "__main__":
    start(main)
