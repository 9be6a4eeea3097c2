"""What the first page says: of a run how it did, what it cost, what went wrong; of several runs how they differ.

overview = Overview(Path("runs/demo-merg-…"))
overview.scores, overview.failures, overview.planted
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmerg.console.run_tables import Summary
from mmerg.errors import RunError
from mmerg.judging.judgement import read_judgements
from mmerg.paper.published import FILES, published
from mmerg.papertables.candidates import read_candidate
from mmerg.papertables.matched import MatchedTable, match_rows
from mmerg.plots.run_data import RunData, read_or_why
from mmerg.reporting.navigation import outcome
from mmerg.runs.config_diff import config_diff
from mmerg.runs.labels import labels
from mmerg.runs.manifest import About, Session, read_manifest
from mmerg.runs.matrix import JUDGED, matrix
from mmerg.runs.result import Result
from mmerg.scoring.answers import read_run
from mmerg.scoring.comparisons import DRAWS, compare_sides, format_p
from mmerg.scoring.standard import Options


class Overview(RunData):
    """A run as its folder tells it. papers: tables of papers of which this run is a row. planted: planted faults.
    judged: what judges said, by judge and rubric. unscored, unplanted, unjudged: why these are not there, or why those
    that are do not count. ended: why loops ended, most often first. failures: the samples that failed, a list for each
    class of failures, the longest first. summary: what the memory's guards kept back, and where it could not be
    searched. made: the start that began the run. Raises RunError where the folder is no run of this version."""

    def __init__(self, path: Path) -> None:
        super().__init__(About(path, read_manifest(path)))
        self.name, self.manifest = self.about.run, self.about.manifest
        judged, unjudged = read_or_why(lambda: read_judgements(path))
        self.judged = judged or {}
        told = (self.unscored, self.unplanted, unjudged)  # a report names no folder of its maker
        self.unscored, self.unplanted, self.unjudged = (one.replace(str(path), self.name) for one in told)
        self.papers = _papers(self.about) if self.scores else ()
        results = self.results.values()
        self.outcomes = Counter(outcome(result) for result in results)
        self.ended = Counter(str(result.ended) for result in results if result.ended).most_common()
        self.summary = Summary(results, rows=0)
        failed: dict[str, list[Result]] = {}
        for result in self.summary.failed:
            failed.setdefault(str(result.failure), []).append(result)
        self.failures = sorted(failed.values(), key=len, reverse=True)
        self.made = self.manifest.sessions[0] if self.manifest.sessions else Session()


def _papers(about: About) -> tuple[MatchedTable, ...]:
    """The papers' tables that have a row set as this run is, cut down to this row and ours."""
    dataset = about.manifest.setting("dataset.name")
    tables = [table for name in FILES for table in published(name) if table.dataset == dataset]
    if not tables:
        return ()
    ours = read_candidate(about.path)
    found = []
    for beside in (match_rows(table, [ours]) for table in tables):
        rows = {line.row for line in beside.lines if line.by == "ours" and line.row and line.fits}
        if rows:
            lines = tuple(line for line in beside.lines if line.row in rows)
            found.append(replace(beside, lines=lines))
    return tuple(found)


def side_by_side(overviews: Sequence[Overview]) -> dict[str, Any]:
    """What the first pages of several runs say of their differences: settings, all figures, each sample, and paired
    tests against the first run, as `mmerg compare` makes them with its own defaults. Runs that cannot be
    compared are said to be so; their pages stand all the same."""
    scores = [overview.scores for overview in overviews]
    lines = matrix([overview.results for overview in overviews])
    found: dict[str, Any] = {
        "lines": lines,
        "judged": {name: (said, sum(getattr(line, name) for line in lines)) for name, said in JUDGED.items()},
        "settings": config_diff([overview.manifest for overview in overviews]),
        "names": list(dict.fromkeys(name for one in scores if one for name in one.scores)),
        "short": labels([overview.about for overview in overviews]),
        "chance": format_p,
        "refused": "",
        "compared": [],
        "warnings": (),
        "how_p": "",
    }
    try:
        baseline, *others = (read_run(overview.about.path) for overview in overviews)
        compared = compare_sides([baseline], [[other] for other in others], Options(resamples=DRAWS))
    except RunError as error:
        return found | {"refused": f"These runs are not compared: {error.what}. {error.hint}".strip()}
    told = [(pair, pair.comparisons) for pair in compared.pairs]
    return found | {"compared": told, "warnings": compared.warnings, "how_p": compared.describe_p()}
