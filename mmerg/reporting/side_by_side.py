"""What the first pages of several runs say of their differences: settings, all figures, each sample, and paired tests
against the first run.

Comparisons are those of `mmerg compare` with its own defaults, over the samples that both runs finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmerg.errors import RunError
from mmerg.reporting.overview import Overview
from mmerg.runs.config_diff import config_diff
from mmerg.runs.labels import labels
from mmerg.runs.matrix import JUDGED, matrix
from mmerg.scoring.answers import read_run
from mmerg.scoring.comparisons import DRAWS, chance, compared_with, how_p
from mmerg.scoring.standard import Options


def side_by_side(overviews: Sequence[Overview]) -> dict[str, Any]:
    """Values of the template. Runs that cannot be compared are said to be so; their pages stand all the same."""
    scores = [overview.scored.scores for overview in overviews]
    lines = matrix([{result.id: result for result in overview.results} for overview in overviews])
    found: dict[str, Any] = {
        "lines": lines,
        "judged": {name: (said, sum(getattr(line, name) for line in lines)) for name, said in JUDGED.items()},
        "settings": config_diff([overview.manifest for overview in overviews]),
        "names": list(dict.fromkeys(name for one in scores if one for name in one.scores)),
        "short": labels([overview.about for overview in overviews]),
        "chance": chance,
        "refused": "",
        "compared": [],
        "warnings": (),
        "how_p": "",
    }
    try:
        baseline, *others = (read_run(overview.about.path) for overview in overviews)
        compared = compared_with([baseline], [[other] for other in others], Options(resamples=DRAWS))
    except RunError as error:
        return found | {"refused": f"These runs are not compared: {error.what}. {error.hint}".strip()}
    pairs = len(compared.pairs)
    told = [(pair, compared.comparisons[number::pairs]) for number, pair in enumerate(compared.pairs)]
    return found | {"compared": told, "warnings": compared.warnings, "how_p": how_p(compared)}
