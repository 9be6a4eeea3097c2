"""The pages of a run: the first page, the table of samples, and a page a sample.

One sample's events at a time are in memory; what overviews need of them is counted on the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mmerg.console.run_tables import Summary, describe_memory
from mmerg.judging.judgement import read_judgements
from mmerg.plots import style
from mmerg.plots.blame import (
    PASSED,
    TITLE,
    Verdict,
    blamed_agents,
    count_audits,
    count_blame,
    draw_blame,
    iterate_verdicts,
)
from mmerg.plots.dots import draw_scores
from mmerg.plots.matrix import draw_plans
from mmerg.plots.run_data import RunData, read_or_why
from mmerg.rating.rated import read_rated
from mmerg.reporting.agents import Agents
from mmerg.reporting.folder import ReportFolder
from mmerg.reporting.frames import Frames
from mmerg.reporting.outcome import OUTCOMES, Outcome, counted_outcomes, label_became, outcome
from mmerg.reporting.render import file_name, render
from mmerg.reporting.sample import FORMS, SamplePage
from mmerg.reporting.simple_choice import held_against
from mmerg.runs.config_diff import labels
from mmerg.runs.events import ENDED
from mmerg.runs.folder import FRAMES
from mmerg.runs.inputs import list_inputs
from mmerg.runs.manifest import RunRef, Session, read_manifest
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.runs.story import Story
from mmerg.scoring.answers import describe_without_logprobs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERY = 500  # samples from one word of progress to the next
HOW = ("limit", "ids", "only_failed", "cache")  # of a start, what says which samples it took up; the rest is hosts
WORDS = {"ENDED": ENDED, "FORMS": FORMS, "HOW": HOW, "OUTCOMES": OUTCOMES, "PASSED": PASSED}
Say = Callable[[str], None]


class Row(NamedTuple):
    """A sample in the table. became: what choosing a later pass did to the label. blamed: agents that audits blame.
    repaired: a reply was refused and a later one taken."""

    result: Result
    became: str
    blamed: tuple[str, ...]
    repaired: bool


class RunPages(RunData):
    """A run as its first page shows it. asked_again, given_up: refused replies by stage and reason, the stage being
    called again in the same pass or not. lost: keyframes that the run has no file of.
    Raises RunError where the folder is no run of this version."""

    def __init__(self, path: Path) -> None:
        about = RunRef(path, read_manifest(path))
        super().__init__(about, *labels([about]))
        self.name, self.manifest = about.run, about.manifest
        self.results = dict(self.results)
        self.simple = held_against(path, self.manifest, self.results)
        judged, unjudged = read_or_why(lambda: read_judgements(path))
        self.judged = judged or {}
        rated, unrated = read_or_why(lambda: read_rated(path))
        self.rated = rated or {}
        reasons = (self.unscored, self.unplanted, unjudged, unrated)  # a report names no folder of its maker
        self.unscored, self.unplanted, self.unjudged, self.unrated = (
            why.replace(str(path), self.name) for why in reasons
        )
        results = self.results.values()
        self.outcomes = Counter(map(outcome, results))
        self.ended = Counter(result.ended for result in results if result.ended).most_common()
        self.summary = Summary(results, rows=0)
        failed: dict[str, list[Result]] = {}
        for result in self.summary.failed:
            failed.setdefault(str(result.failure), []).append(result)
        self.failures = sorted(failed.values(), key=len, reverse=True)
        self.made = self.manifest.sessions[0] if self.manifest.sessions else Session()
        self.rows: list[Row] = []
        self.verdicts: list[Verdict] = []
        self.forms: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self.asked_again: Counter[tuple[str, str]] = Counter()
        self.given_up: Counter[tuple[str, str]] = Counter()
        self.lost = 0

    def write(self, folder: ReportFolder, prefix: str, others: Mapping[str, RunPages], say: Say) -> None:
        """prefix: the folder in the report for the pages, "" for its top. others: the other runs, by their prefix."""
        frames = Frames(self.about.path / FRAMES, folder, prefix)
        agents, results = Agents(self.manifest), self.results.values()
        known: dict[str, object] = {"o": self, "results": results, **WORDS}
        for count, (result, ways) in enumerate(zip(results, self._ways(), strict=True), start=1):
            sample = SamplePage(Story(read_events(self.about.path, result.id)), agents, frames.has)
            row, name = self._add(result, sample), file_name(result.id)
            elsewhere = [
                (other.name, f"../../{path}samples/{name}")
                for path, other in others.items()
                if result.id in other.results
            ]
            values = {"page": sample, "row": row, "number": count, "ways": ways, "elsewhere": elsewhere}
            top = "../../" if prefix else "../"
            page = render("sample.j2", up="../", top=top, images=frames.put(sample), **known, **values)
            folder.write(f"{prefix}samples/{name}", page)
            if count % EVERY == 0:
                say(f"{count} of {len(results)} samples")
        blame = count_blame(self.about, self.verdicts)
        audited = count_audits(blame)
        known |= {
            "blame": blame,
            "audited": audited,
            "agents": blamed_agents(blame),
            "outcomes": counted_outcomes(self.outcomes),
            "inputs": ", ".join(list_inputs(self.manifest)) or "–",
            "memory": "; ".join(map(describe_memory, self.manifest.memories.values())),
            "describe_without_logprobs": describe_without_logprobs,
        }
        top = "../" if prefix else ""
        alike = "; the table beside it has the same numbers"
        with style.styled():
            plots = {
                "tone": (draw_plans(self, "tone"), "How often each tone was planned for each forecast emotion"),
                "stance": (draw_plans(self, "stance"), "How often each stance was planned for each forecast emotion"),
                "blame": (draw_blame(blame, self.about) if any(audited) else None, TITLE + alike),
                "scores": (draw_scores([self]), "Scores with 95 % intervals" + alike),
            }
            known["plots"] = write_plots(folder, prefix, plots)
        for name, template in (("samples.html", "samples.j2"), ("index.html", "run.j2")):
            folder.write(f"{prefix}{name}", render(template, up="", top=top, **known))

    def _ways(self) -> Iterator[dict[str, str | None]]:
        """Where the page of each sample leads: the ids of the samples before and after it, of the next that failed, and
        of the next with a later pass chosen. None where there is no such sample."""
        ids, ways = list(self.results), []
        ahead: dict[Outcome, str] = {}
        for at, result in reversed(list(enumerate(self.results.values()))):
            after = ids[at + 1] if at + 1 < len(ids) else None
            near = {"before": ids[at - 1] if at else None, "after": after}
            ways.append(near | {name: ahead.get(name) for name in ("later", "failed")})
            ahead[outcome(result)] = result.id
        return reversed(ways)

    def _add(self, result: Result, sample: SamplePage) -> Row:
        self.verdicts += iterate_verdicts(sample.story)
        self.forms[sample.form] += 1
        self.problems.update(sample.problems.values())
        self.lost += sum(not sample.has_frame(keyframe.frame.sha256) for keyframe in sample.keyframes)
        repaired = False
        for step in (step for this in sample.passes for step in this.steps.values()):
            refused = [call.refused for call in step.calls if call.refused]
            given_up = bool(refused) and refused[-1] is step.calls[-1].refused
            repaired |= bool(refused) and not given_up
            for event in refused:
                kinds = self.given_up if given_up and event is refused[-1] else self.asked_again
                kinds[event.stage, str(event.failure)] += 1
        self.rows.append(Row(result, label_became(result, sample.first_label), sample.blamed, repaired))
        return self.rows[-1]


def write_plots(
    folder: ReportFolder, prefix: str, plots: Mapping[str, tuple[Figure | None, str]]
) -> dict[str, dict[str, object]]:
    """Put the plots that there are into a report; of each its size in pixels, and what it shows in words."""
    written: dict[str, dict[str, object]] = {}
    for name, (figure, alt) in plots.items():
        if figure:
            folder.write(f"{prefix}plots/{name}.svg", style.image(figure, "svg"))
            width, height = (round(96 * inches) for inches in figure.get_size_inches())
            written[name] = {"width": width, "height": height, "alt": alt}
    return written
