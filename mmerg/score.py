"""Scores finished runs: `python -m mmerg.score RUN [RUN …]`; prints every figure with its n, interval and signature.

Writes scores.json into each run folder and calls no model that wrote replies. Figures that need a model of their own
(`--bert`, `--ref-ppl`) need `pip install 'mmerg[metrics]'`; those scored before are kept while answers stay the same.
Exit code 0 scored, 2 a run or an option is wrong, 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from mmerg.console.terminal import STARTS_OVER, Parser, console, run_command, start
from mmerg.runs.config_diff import config_diff
from mmerg.runs.labels import labels
from mmerg.runs.manifest import check_runs
from mmerg.scoring.answers import read_run
from mmerg.scoring.arguments import add_arguments, arguments
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.shown import shown
from mmerg.scoring.standard import DEFAULTS, Options


def score(out: Console, paths: Sequence[Path], options: Options) -> int:
    """Score, write and print. Raises RunError and ConfigError, for a folder that is no run before any is scored."""
    abouts = check_runs(paths)
    scores, manifests = [], []
    for path in paths:
        run = read_run(path)
        scores.append(write_scores(path, score_run(run, options)))
        manifests.append(run.manifest)
    for part in shown(scores, config_diff(manifests), labels(abouts)):
        out.print(part, soft_wrap=isinstance(part, Text))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.score", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", metavar="RUN", help="a run folder, such as runs/demo-merg-…")
    add_arguments(parser)
    draws = parser.add_argument_group("intervals")
    draws.add_argument("--resamples", type=int, metavar="N", default=DEFAULTS.resamples, help="default: %(default)s")
    draws.add_argument("--seed", type=int, metavar="N", default=DEFAULTS.seed, help="default: %(default)s")
    given = parser.parse_args(argv)
    options = Options(**arguments(given), resamples=given.resamples, seed=given.seed)
    return run_command(lambda: score(console(), given.run, options), STARTS_OVER)


if __name__ == "__main__":
    start(main)
