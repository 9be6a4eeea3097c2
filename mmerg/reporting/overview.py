"""What the first page of a run says: what was run, how it did, what it cost, what went wrong.

overview = read_overview(Path("runs/demo-merg-…"))
overview.scores, overview.failures, overview.cost
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from mmerg.auditing.planted import Planted, read_planted
from mmerg.console.run_tables import Summary
from mmerg.errors import RunError
from mmerg.judging.judgement import Judgement, read_judgements
from mmerg.paper.published import FILES, published
from mmerg.papertables.beside import Beside, put_beside
from mmerg.papertables.ours import read_ours
from mmerg.plots.scored import Scored, read_scored
from mmerg.reporting.navigation import Outcome, outcome, wrong_emotion
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import About, Manifest, Session, read_manifest
from mmerg.runs.result import Result

_HOW = ("limit", "ids", "only_failed", "cache")  # of a start, what says which samples it took up; the rest is hosts


@dataclass(frozen=True, slots=True)
class Failures:
    """A class of failures: how many samples, and the first of them."""

    name: str
    count: int
    first: Result


@dataclass(frozen=True)
class Cost:
    """Sums over the results."""

    calls: int
    cached: int
    prompt_tokens: int
    response_tokens: int
    seconds: float


@dataclass(frozen=True)
class Overview:
    """A run as its folder tells it. papers: tables of papers of which this run is a row. planted: planted faults, None
    where there are none; unplanted: why those that were written do not count. judged: what judges said, by judge and
    rubric; unjudged: why what they said does not count."""

    about: About
    results: tuple[Result, ...]
    scored: Scored
    papers: tuple[Beside, ...]
    planted: Planted | None = None
    unplanted: str = ""
    judged: Mapping[str, Judgement] = field(default_factory=dict)
    unjudged: str = ""

    @property
    def name(self) -> str:
        return self.about.run

    @property
    def manifest(self) -> Manifest:
        return self.about.manifest

    @property
    def wanted(self) -> int:
        """Samples of the protocol."""
        return self.manifest.protocol.samples

    @cached_property
    def outcomes(self) -> Counter[Outcome]:
        return Counter(outcome(result) for result in self.results)

    @property
    def wrong(self) -> int:
        return sum(wrong_emotion(result) for result in self.results)

    @property
    def labelled(self) -> int:
        """Samples with both a forecast and a label to hold it against."""
        return sum(None not in (result.gold_emotion, result.emotion) for result in self.results)

    @property
    def ended(self) -> list[tuple[str, int]]:
        """Why loops ended, most often first."""
        return Counter(str(result.ended) for result in self.results if result.ended).most_common()

    @cached_property
    def failures(self) -> list[Failures]:
        failed = [result for result in self.results if result.status == "failed"]
        first = {str(result.failure): result for result in reversed(failed)}
        counts = Counter(str(result.failure) for result in failed)
        return [Failures(name, count, first[name]) for name, count in counts.most_common()]

    @property
    def cost(self) -> Cost:
        return Cost(
            calls=sum(result.calls for result in self.results),
            cached=sum(result.cached_calls for result in self.results),
            prompt_tokens=sum(result.prompt_tokens for result in self.results),
            response_tokens=sum(result.response_tokens for result in self.results),
            seconds=sum(result.seconds for result in self.results),
        )

    @cached_property
    def summary(self) -> Summary:
        """What the guards of the memory kept back, and where it could not be searched."""
        return Summary(self.results, rows=0)

    @property
    def with_exemplars(self) -> int:
        """Samples of which some prompt held exemplars."""
        return sum(result.exemplars > 0 for result in self.results)

    @property
    def made(self) -> Session:
        """The start that began the run."""
        return self.manifest.sessions[0] if self.manifest.sessions else Session()

    @property
    def sessions(self) -> list[tuple[Session, str]]:
        """The starts of the run, each with its settings in words; those that name hosts and folders are left out."""
        return [(one, _described(one.how)) for one in self.manifest.sessions]

    @property
    def config(self) -> str:
        return json.dumps(self.manifest.settings, indent=2, ensure_ascii=False)


def read_overview(path: Path) -> Overview:
    """Raises RunError where the folder is no run of this version."""
    about = About(path, read_manifest(path))
    results = tuple(read_results(path).values())
    try:
        scored = read_scored(about)
    except RunError as error:
        scored = Scored(about, None, error.what)
    scored = replace(scored, why=scored.why.replace(str(path), about.run))  # a report names no folder of its maker
    planted, unplanted = None, ""
    try:
        planted = read_planted(path, about.manifest.identity)
    except RunError as error:
        unplanted = error.what
    judged, unjudged = dict[str, Judgement](), ""
    try:
        judged = read_judgements(path)
    except RunError as error:
        unjudged = f"{error.what}: {error.hint}".replace(str(path), about.run)
    papers = _papers(about) if scored.scores else ()
    return Overview(about, results, scored, papers, planted, unplanted, judged, unjudged)


def _papers(about: About) -> tuple[Beside, ...]:
    """The papers' tables that have a row set as this run is, cut down to this row and ours."""
    dataset = about.manifest.setting("dataset.name")
    tables = [table for name in FILES for table in published(name) if table.dataset == dataset]
    if not tables:
        return ()
    ours = read_ours(about.path)
    found = []
    for beside in (put_beside(table, [ours]) for table in tables):
        rows = {line.row for line in beside.lines if line.by == "ours" and line.row and line.fits}
        if rows:
            lines = tuple(line for line in beside.lines if line.row in rows)
            found.append(replace(beside, lines=lines))
    return tuple(found)


def _described(how: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={how[name]}" for name in _HOW if how.get(name) not in (None, False, [], ()))
