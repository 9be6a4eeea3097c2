"""Puts the shards of runs together: `mmerg merge RUN… [--partial]`, RUN the folder that holds shards/.

Checks that all shards are there, whole, of the same settings and of no common sample; then the folder is a run as one
process would have written it, for `mmerg score`, `show`, `report` and `compare`. The shards stay: once they are merged,
their folder may be removed. The same command again merges what was done since.
Exit code 0 merged, 1 merged and some samples failed or are missing, 2 the shards cannot be merged, 130 interrupted.
"""

from collections.abc import Sequence
from pathlib import Path

from mmerg.console.terminal import Parser, console, escape, printable, run_command, start
from mmerg.runs.merge import merge


def merge_runs(runs: Sequence[Path], partial: bool) -> int:
    """Merges each, and says what of. Raises RunError at the first that cannot be merged."""
    code = 0
    for run in runs:
        merged = merge(run, partial)
        console().print(escape(f"merged {merged}"))
        print(f"run: {printable(str(run))}")  # noqa: T201 - the last line is for programs to read: no wrapping
        code = max(code, merged.code)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.merge", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders, each with its shards/")
    parser.add_argument("--partial", action="store_true", help="merge what is there, though shards or samples miss")
    given = parser.parse_args(arguments)
    return run_command(lambda: merge_runs(given.runs, given.partial), "the same command merges all again")


if __name__ == "__main__":
    start(main)
