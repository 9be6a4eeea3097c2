"""Merges the shards of runs: `mmerg merge RUN…`, where RUN is the folder with shards/.

Checks that no shard is missing or unfinished, and that all have the same settings and no common sample. Then the folder
is the run that one process would have written. The shards stay; you may remove them after merging. The same command
merges later results, too.
Exit code 0 merged, 1 merged and some samples failed, 2 the shards cannot be merged, 130 interrupted.
"""

from collections.abc import Sequence
from pathlib import Path

from mmerg.console.terminal import Parser, console, plural, printable, run_command, start
from mmerg.runs.merge import merge


def merge_runs(runs: Sequence[Path]) -> int:
    """Merges each run. Raises RunError for the first that cannot be merged."""
    code = 0
    for run in runs:
        results = merge(run).values()
        failed = sum(not result.ok for result in results)
        console().print(f"merged {plural(len(results), 'sample')}{f' ({failed} failed)' if failed else ''}")
        print(f"run: {printable(str(run))}")  # noqa: T201 - programs read the last line: no wrapping
        code = max(code, int(failed > 0))
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m mmerg.merge", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders with shards/")
    given = parser.parse_args(arguments)
    return run_command(lambda: merge_runs(given.runs), "the same command merges all again")


if __name__ == "__main__":
    start(main)
