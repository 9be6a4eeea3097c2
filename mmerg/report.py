"""Writes a report of runs as HTML pages: `mmerg report RUN… [--out DIR]`.

Writes one folder (RUN/report, or FIRST/report-with-… for several runs) that opens from disk in any browser: an
overview, a table of samples, and a page for each sample with dialogue, keyframes, passes, audits and calls. Calls no
model. Replaces an earlier report, and refuses a folder with other files.
Exit code 0 written, 2 a run cannot be read or the folder cannot be written, 130 interrupted.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, start
from mmerg.reporting.write import write_report


def choose_folder(paths: Sequence[Path]) -> Path:
    """Where a report of several runs goes. Every set of runs has its own, and every order of a set, as the first run is
    what the others are compared with."""
    first, *others = (path.resolve() for path in paths)
    mark = hashlib.sha256("\0".join(map(str, others)).encode(errors="surrogateescape")).hexdigest()[:8]
    return first / f"report-with-{len(others)}-{mark}"


def report(out: Console, paths: Sequence[Path], folder: Path | None) -> int:
    """Write, and say where it begins. Raises RunError."""
    if folder is None:
        folder = paths[0] / "report" if len(paths) == 1 else choose_folder(paths)
    first = write_report(paths, folder, say=lambda line: out.print(escape(line), soft_wrap=True))
    out.print(escape(f"report: {first}"), soft_wrap=True)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.report", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN", help="run folders; the first is the baseline")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the report; default: see above")
    given = parser.parse_args(arguments)
    return run_command(lambda: report(console(), given.run, given.out), STARTS_OVER)


if __name__ == "__main__":
    start(main)
