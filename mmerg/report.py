"""Writes a report of runs as HTML pages: `mmerg report RUN… [--out DIR]`.

The report is one folder (RUN/report, or FIRST/report-with-… for several runs) that opens from disk in any browser. It
holds an overview, a table of samples, and a page for each sample with dialogue, keyframes, passes, audits and calls. No
model is called. An earlier report is replaced; a folder with other files is refused.
Exit code 0 written, 2 a run cannot be read or the folder cannot be written, 130 interrupted.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, start
from mmerg.reporting.write import write_report


def choose_folder(paths: Sequence[Path]) -> Path:
    """Returns the default folder of a report. Each sequence of runs has its own, as the first run is the baseline."""
    first, *others = paths
    if not others:
        return first / "report"
    resolved = "\0".join(str(path.resolve()) for path in others)
    digest = hashlib.sha256(resolved.encode(errors="surrogateescape")).hexdigest()
    return first / f"report-with-{len(others)}-{digest[:8]}"


def report(out: Console, paths: Sequence[Path], folder: Path | None) -> int:
    """Writes a report and prints the path of its first page. Raises RunError."""
    with out.status("writing the report"):
        first = write_report(paths, folder or choose_folder(paths))
    out.print(escape(f"report: {first}"), soft_wrap=True)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m mmerg.report", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN", help="run folders; the first is the baseline")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the report; default: see above")
    given = parser.parse_args(arguments)
    return run_command(lambda: report(console(), given.run, given.out), STARTS_OVER)


if __name__ == "__main__":
    start(main)
