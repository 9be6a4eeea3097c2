"""Scores finished runs: `mmerg score RUN [RUN …]`.

Prints every metric with its n and interval, and writes scores.json to each run folder. Does not call the models that
wrote the replies. `--bert` and `--ref-ppl` load a model of their own and need `pip install 'mmerg[metrics]'`; their
scores are kept as long as the replies stay the same. `--format` makes a table with one row per setting, for a paper or
a spreadsheet: `--columns acc,dist2` selects metrics, `--names "MERG,without memory"` names the rows. Runs that differ
only in the seed are averaged.
Exit code 0 scored, 2 a run or an option is wrong, 130 interrupted.
"""

from collections.abc import Sequence
from pathlib import Path

from mmerg.console.terminal import STARTS_OVER, Parser, run_command, start
from mmerg.scoring.launch import add_table_arguments, score
from mmerg.scoring.standard import add_arguments


def main(argv: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m mmerg.score", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN", help="a run folder, such as runs/demo-merg-…")
    add_table_arguments(parser)
    add_arguments(parser)
    given = parser.parse_args(argv)
    return run_command(lambda: score(given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
