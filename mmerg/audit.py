"""Plants faults in what a finished run made, and has its auditor judge them: `mmerg audit RUN`.

Takes the first pass of each sample and swaps one stage's output for that of another dialogue (of another emotion, where
it is the emotion). Prints how often clean passes pass, planted faults are found and the right stage is blamed, and
Youden's J, and writes planted.json into the run's folder, which `mmerg report` and `mmerg plot` show.
The run's own model is asked; the same command takes what it answered before from the reply cache.
Exit code 0 all fine, 1 calls failed for some samples, 2 the run, an option or the server is wrong, 130 interrupted.
"""

from collections.abc import Sequence
from pathlib import Path

from mmerg.console.terminal import Parser, run_command, start


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.audit", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a finished run folder, such as runs/demo-merg-…")
    parser.add_argument("--n", type=int, metavar="N", default=40, help="samples, default: %(default)s")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="of samples and faults, default: %(default)s")
    parser.add_argument("--stages", nargs="+", metavar="STAGE", default=[], help="plant in these, default: in each")
    parser.add_argument("--host", nargs="+", metavar="URL", default=[], help="where the model is served now")
    calibrate = "only calibrate emotions that the run read from label probabilities, and keep that in FILE: no call"
    parser.add_argument("--labels", type=Path, metavar="FILE", help=calibrate)
    given = parser.parse_args(argv)

    def command() -> int:
        # Only once there is something to audit: --help stays quick.
        if given.labels:
            from mmerg.auditing.labels import calibrate_labels

            calibrate_labels(given.run, given.labels)
            return 0
        from mmerg.auditing.launch import launch

        return launch(given.run, n=given.n, seed=given.seed, stages=given.stages, hosts=given.host)

    return run_command(command)


if __name__ == "__main__":
    start(main)
