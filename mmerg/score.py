"""Scores finished runs: `mmerg score RUN [RUN …]`; prints every figure with its n and interval.

Writes scores.json into each run folder and calls no model that wrote replies. Figures that need a model of their own
(`--bert`, `--ref-ppl`) need `pip install 'mmerg[metrics]'`; those scored before are kept while answers stay the same.
`--format` gives a table for a paper or a spreadsheet, a row a setting: `--columns acc,dist2` chooses figures, `--names
"MERG,without memory"` names the rows. Runs that differ in their seeds alone are one row, or have their mean beside.
Exit code 0 scored, 2 a run or an option is wrong, 130 interrupted.
"""

from collections.abc import Sequence
from pathlib import Path

from mmerg.console.terminal import STARTS_OVER, Parser, run_command, start
from mmerg.scoring.launch import add_table_arguments, score
from mmerg.scoring.standard import add_arguments


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.score", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN", help="a run folder, such as runs/demo-merg-…")
    add_table_arguments(parser)
    add_arguments(parser)
    given = parser.parse_args(argv)
    return run_command(lambda: score(given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
