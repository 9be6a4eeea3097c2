"""Measures how well each form of a check tells faulty outputs from clean ones: `mmerg audit RUN`.

Takes the first pass of each sample as it is, and with faults of several kinds in one stage: another dialogue's output,
another emotion, replies that code makes; and, without planting, forecasts that the gold label contradicts. Prints AUC,
sensitivity, blame and calibration by form and kind, and the worth of the run's loop. Writes planted.json into the run's
folder, which `mmerg report` and `mmerg plot` show. `--calibrate auditor.json` keeps the best form and its threshold for
each stage, for `mmerg run auditor=auditor.json`.
The run's own model is asked; the same command takes what it answered before from the reply cache.
Exit code 0 all fine, 1 calls failed for some samples, 2 the run, an option or the server is wrong, 130 interrupted.
"""

from collections.abc import Sequence
from pathlib import Path

from mmerg.auditing.faults import KINDS
from mmerg.console.terminal import Parser, run_command, start
from mmerg.settings.model import FORMS


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.audit", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a finished run folder, such as runs/demo-merg-…")
    parser.add_argument("--n", type=int, metavar="N", default=40, help="samples, default: %(default)s")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="of samples and faults, default: %(default)s")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS, help="of checks, default: all")
    parser.add_argument("--faults", nargs="+", choices=KINDS, default=KINDS, help="kinds, default: all")
    parser.add_argument("--calibrate", type=Path, metavar="FILE", help="write the chosen checks, as auditor.json")
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

        return launch(
            given.run,
            n=given.n,
            seed=given.seed,
            forms=given.forms,
            kinds=given.faults,
            hosts=given.host,
            calibrate=given.calibrate,
        )

    return run_command(command)


if __name__ == "__main__":
    start(main)
