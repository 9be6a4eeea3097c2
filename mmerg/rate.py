"""Lets people rate replies: `mmerg rate new STUDY RUN… items=100 raters=3`.

new STUDY RUN…      sets up a blind study of finished runs: design=likert (1 to 5) or design=pairwise
serve STUDY         serves the rating page and prints a link for each rater; every click is saved
score STUDY         means or wins with intervals, agreement, raters, the model judge against people; writes scores.json
plan [STUDY]        how many items and raters find a difference, with the spread of a finished study if given
export STUDY        writes the items for Potato, Pearmut or a spreadsheet: format=potato, pearmut, csv
import STUDY FILE   adds the ratings made there
Exit code 0 done, 2 configuration or input wrong, 130 interrupted. A study that is served again resumes.
"""

from __future__ import annotations

import os
import sys
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from mmerg.console.terminal import run_command, start
from mmerg.errors import ConfigError, did_you_mean
from mmerg.experiment.program import run_program

if TYPE_CHECKING:
    from mmerg.settings.commands import RateSettings

_DRAWN = ("design", "items", "raters", "people", "human", "stratify", "visual", "gold", "repeats", "seed")
_PLANNED = ("design", "difference", "share", "power", "sd_items", "sd_raters", "sd_noise", "items", "raters", "seed")
ACTIONS = {  # with the settings that each takes
    "new": _DRAWN,
    "serve": ("host", "port", "names", "lease"),
    "score": ("draws", "max_failed", "seed"),
    "plan": _PLANNED,
    "export": ("format", "out"),
    "import": ("format",),
}


def main() -> int:
    """The command."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        return run_program("rate", lambda _: 0, __doc__)
    action, *rest = sys.argv[1:]
    paths = [*takewhile(lambda word: not word.startswith("-") and ("=" not in word or os.path.isdir(word)), rest)]  # noqa: PTH112
    words = rest[len(paths) :]

    def check() -> int:
        if action not in ACTIONS:
            hint = f"{did_you_mean(action, ACTIONS)} one of {', '.join(ACTIONS)}".strip()
            raise ConfigError(f"there is no action {action}", where="command line", hint=hint)
        if (not paths and action != "plan") or (action == "import" and len(paths) < 2):
            what = "no study is given" if not paths else "no file is given"
            raise ConfigError(what, where="command line", hint=f"mmerg rate {action} STUDY …, see mmerg rate --help")
        for word in words:
            if "=" in word and word.partition("=")[0].lstrip("+") not in ACTIONS[action]:
                hint = f"it takes {', '.join(ACTIONS[action])}"
                raise ConfigError(f"{word} has no effect on mmerg rate {action}", where="command line", hint=hint)
        return 0

    def job(settings: RateSettings) -> int:
        from mmerg.rating import launch  # only once there is something to do: --help stays quick

        folder, others = Path(paths[0] if paths else "."), list(map(Path, paths[1:]))
        match action:
            case "new":
                return launch.new(settings, folder, others)
            case "serve":
                return launch.serve(settings, folder)
            case "score":
                return launch.score(settings, folder)
            case "plan":
                return launch.plan(settings, folder if paths else None)
            case "export":
                return launch.export(settings, folder)
            case _:
                return launch.bring_in(settings, folder, others[0])

    if code := run_command(check):
        return code
    sys.argv[1:] = words
    return run_program("rate", job, __doc__)


if __name__ == "__main__":
    start(main)
