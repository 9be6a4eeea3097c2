"""The pages of a run: an overview, a table of samples, and a page for each sample.

Only one sample's events are in memory at a time. `RunPages` counts for the overview while it writes the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mmerg.console.run_tables import Summary, describe_memory
from mmerg.judging.judgement import read_judgements
from mmerg.plots import style
from mmerg.plots.blame import PASSED, Verdict, count_audits, count_blame, iterate_verdicts, list_blamed_agents
from mmerg.plots.matrix import draw_plans
from mmerg.plots.run_data import RunData, try_read
from mmerg.rating.people import read_people_ratings
from mmerg.reporting.outcome import OUTCOMES, classify_label_change, classify_outcome, list_outcomes
from mmerg.reporting.render import file_name, render
from mmerg.reporting.sample import FORMS, Agents, SamplePage
from mmerg.reporting.simple_choice import compare_with_simple
from mmerg.runs.config_diff import label_runs
from mmerg.runs.events import LOOP_ENDS
from mmerg.runs.folder import FRAMES
from mmerg.runs.manifest import RunRef, Session, read_manifest
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.runs.trace import SampleTrace
from mmerg.storage.files import write_atomically

TEXTS = {"LOOP_ENDS": LOOP_ENDS, "FORMS": FORMS, "OUTCOMES": OUTCOMES, "PASSED": PASSED}


class SampleRow(NamedTuple):
    """A row of the table of samples."""

    result: Result
    label_change: str  # see `classify_label_change`
    blamed: tuple[str, ...]  # the agents that audits blame
    rejected: bool  # True if a completion was rejected


class RunPages(RunData):
    """A run and the counts of its overview. Raises RunError if the folder in `path` is not a run of this version."""

    def __init__(self, path: Path) -> None:
        ref = RunRef(path, read_manifest(path))
        super().__init__(ref, *label_runs([ref]))
        self.name, self.manifest = ref.run, ref.manifest
        self.results = dict(self.results)
        self.simple = compare_with_simple(path, self.manifest, self.results)
        judged, unjudged = try_read(lambda: read_judgements(path))
        self.judged = judged or {}
        rated, unrated = try_read(lambda: read_people_ratings(path))
        self.rated = rated or {}
        # A report must not contain the paths of its author.
        self.unscored, self.unplanted, self.unjudged, self.unrated = (
            reason.replace(str(path), self.name) for reason in (self.unscored, self.unplanted, unjudged, unrated)
        )
        results = self.results.values()
        self.outcomes = Counter(map(classify_outcome, results))
        self.ended = Counter(result.ended for result in results if result.ended).most_common()
        self.summary = Summary(results)
        failed: dict[str, list[Result]] = {}
        for result in self.summary.failed:
            failed.setdefault(str(result.failure), []).append(result)
        self.failures = sorted(failed.values(), key=len, reverse=True)
        self.first_session = self.manifest.sessions[0] if self.manifest.sessions else Session()
        self.rows: list[SampleRow] = []
        self.verdicts: list[Verdict] = []
        self.forms: Counter[str] = Counter()  # how keyframes were shown
        self.problems: Counter[str] = Counter()  # why history turns have no frames
        self.rejected: Counter[tuple[str, str]] = Counter()  # by stage and reason

    def write(self, folder: Path, prefix: str, others: Mapping[str, RunPages]) -> None:
        """Writes the pages below `prefix`, "" for the top of the report. others: the other runs, by their prefix."""
        agents, results = Agents(self.manifest), self.results.values()
        values: dict[str, object] = {"run": self, "results": results, **TEXTS}
        ids: list[str | None] = [None, *self.results, None]
        for number, result in enumerate(results, start=1):
            sample = SamplePage(SampleTrace(read_events(self.ref.path, result.id)), agents, self._has_frame)
            name = file_name(result.id)
            elsewhere = [
                (other.name, f"../../{other_prefix}samples/{name}")
                for other_prefix, other in others.items()
                if result.id in other.results
            ]
            page = render(
                "sample.j2",
                up="../",
                top="../../" if prefix else "../",
                page=sample,
                row=self._add_row(result, sample),
                number=number,
                before=ids[number - 1],
                after=ids[number + 1],
                elsewhere=elsewhere,
                images=self._write_frames(folder, prefix, sample),
                **values,
            )
            write_atomically(folder / f"{prefix}samples/{name}", page)
        blame = count_blame(self.ref, self.verdicts)
        values |= {
            "blame": blame,
            "audited": count_audits(blame),
            "agents": list_blamed_agents(blame),
            "outcomes": list_outcomes(self.outcomes),
            "memory": "; ".join(map(describe_memory, self.manifest.memories.values())),
            "plots": self._write_plots(folder, prefix),
        }
        for name, template in (("samples.html", "samples.j2"), ("index.html", "run.j2")):
            write_atomically(folder / f"{prefix}{name}", render(template, up="", top="../" if prefix else "", **values))

    def _add_row(self, result: Result, sample: SamplePage) -> SampleRow:
        """Counts a sample for the overview. Returns its row in the table."""
        self.verdicts += iterate_verdicts(sample.trace)
        self.forms[sample.form] += 1
        self.problems.update(sample.problems.values())
        rejected = [call.refused for call in sample.trace.calls if call.refused]
        self.rejected.update((event.stage, str(event.failure)) for event in rejected)
        label_change = classify_label_change(result, sample.first_label)
        row = SampleRow(result, label_change, sample.blamed, bool(rejected))
        self.rows.append(row)
        return row

    def _has_frame(self, sha256: str) -> bool:
        """Returns True if the run's folder holds this frame. A link does not count: it could name any file."""
        file = self.ref.path / FRAMES / f"{sha256}.jpg"
        return bool(re.fullmatch("[0-9a-f]{64}", sha256)) and file.is_file() and not file.is_symlink()

    def _write_frames(self, folder: Path, prefix: str, page: SamplePage) -> dict[str, str]:
        """Adds the images of a sample that the run has to the report. Returns the name of each by its hash."""
        keyframes = [keyframe.frame.sha256 for keyframe in page.keyframes]
        sent = [image for call in page.trace.calls for message in call.event.messages for image in message.images]
        names = dict.fromkeys(sent, "the grid of frames")
        names |= {image: f"frame {number}" for number, image in enumerate(keyframes, start=1)}
        names = {image: name for image, name in names.items() if self._has_frame(image)}
        for image in names:
            copy = folder / f"{prefix}frames/{image}.jpg"
            if not copy.exists():  # another sample may show it, too
                write_atomically(copy, (self.ref.path / FRAMES / copy.name).read_bytes())
        return names

    def _write_plots(self, folder: Path, prefix: str) -> dict[str, tuple[int, int]]:
        """Draws the plans by emotion. Returns the width and height of each plot that has data, in pixels."""
        sizes = {}
        with style.styled():
            for name in ("tone", "stance"):
                if figure := draw_plans(self, name):
                    write_atomically(folder / f"{prefix}plots/{name}.svg", style.encode_figure(figure, "svg"))
                    width, height = (round(96 * inches) for inches in figure.get_size_inches())
                    sizes[name] = width, height
        return sizes
