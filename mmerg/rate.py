"""Collects people's ratings of replies: `mmerg rate new STUDY RUN… items=100 raters=3`.

new STUDY RUN…      sets up a blind study of finished runs: design=likert (1 to 5) or design=pairwise
serve STUDY         serves the rating page and prints a link for each rater; every click is saved
score STUDY         means or wins with intervals, agreement, raters, the model judge against people; writes scores.json
plan                how many items and raters you need to detect a difference
export STUDY        writes the items for Potato, Pearmut or a spreadsheet: format=potato, pearmut, csv
import STUDY FILE   adds the ratings made there
Exit code 0 done, 2 configuration or input wrong, 130 interrupted. A study that is served again resumes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.console.terminal import start
from mmerg.errors import ConfigError, did_you_mean
from mmerg.experiment.program import run_program, split_paths

if TYPE_CHECKING:
    from mmerg.settings.commands import RateSettings

NEEDED = {"new": "STUDY RUN…", "plan": "", "import": "STUDY FILE"} | dict.fromkeys(
    ("serve", "score", "export"), "STUDY"
)


def main() -> int:
    if "--help" in sys.argv or len(sys.argv) < 2:  # also after an action
        sys.argv[1:] = ["--help"]
    if sys.argv[1].startswith("-"):
        return run_program("rate", lambda _: 0, __doc__)
    action, *rest = sys.argv[1:]
    paths, sys.argv[1:] = split_paths(rest)

    def job(settings: RateSettings) -> int:
        if action not in NEEDED:
            hint = f"{did_you_mean(action, NEEDED)} one of {', '.join(NEEDED)}".strip()
            raise ConfigError(f"there is no action {action}", where="command line", hint=hint)
        if len(paths) < len(NEEDED[action].split()):
            needed = f"mmerg rate {action} needs {NEEDED[action]}"
            raise ConfigError(needed, where="command line", hint="see `mmerg rate --help`")
        from mmerg.rating import launch, power  # after --help, which stays quick

        folder, *others = paths or [Path()]
        match action:
            case "new":
                return launch.create(settings, folder, others)
            case "plan":
                return power.plan(settings)
            case "import":
                return launch.import_ratings(settings, folder, others[0])
            case _:
                return {"serve": launch.serve, "score": launch.score, "export": launch.export}[action](settings, folder)

    return run_program("rate", job, __doc__)


if __name__ == "__main__":
    start(main)
