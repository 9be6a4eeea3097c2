"""Measures how well the auditor detects faults: `mmerg audit RUN`.

Plants faults in one stage of each sample's first pass (another dialogue's output, another emotion, replies that code
makes), and adds forecasts that the gold label contradicts. Prints AUC, sensitivity, blame and calibration by form of
check and kind of fault, and the worth of the run's loop. Writes planted.json to the run folder, for `mmerg report`.
`--calibrate auditor.json` saves the best form and threshold per stage, for `mmerg run auditor=auditor.json`.
Calls the run's own model. The same command resumes from the completion cache.
Exit code 0 all fine, 1 calls failed for some samples, 2 the run, an option or the server is wrong, 130 interrupted.
"""

from collections.abc import Sequence
from pathlib import Path

from mmerg.auditing.faults import KINDS
from mmerg.console.terminal import Parser, run_command, start
from mmerg.settings.model import FORMS


def main(argv: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m mmerg.audit", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a finished run folder, such as runs/demo-merg-…")
    parser.add_argument("--n", type=int, metavar="N", default=40, help="number of samples; default: %(default)s")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="seed; default: %(default)s")
    for option, names, metavar in (("--forms", FORMS, "FORM"), ("--faults", KINDS, "FAULT")):
        text = f"default: all ({', '.join(names)})"
        parser.add_argument(option, nargs="+", choices=names, default=names, metavar=metavar, help=text)
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--calibrate", type=Path, metavar="FILE", help="write the best checks to FILE")
    parser.add_argument("--host", nargs="+", metavar="URL", default=[], help="hosts, if not those of the run")
    calibrate = "calibrate the run's label probabilities and write them to FILE, without any call"
    target.add_argument("--labels", type=Path, metavar="FILE", help=calibrate)
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
