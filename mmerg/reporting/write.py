"""Writes a report: the first page, the table of samples and a page a sample, for one run or several side by side.

One sample at a time is in memory; what overviews need is counted on the way.

    write_report([Path("runs/demo-merg-…")], Path("report"), faces="keep", say=print)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmerg.auditing.planted import COLUMNS
from mmerg.console.run_tables import describe_memory
from mmerg.plots import blame, style
from mmerg.reporting.folder import ReportFolder
from mmerg.reporting.frames import Faces, Frames
from mmerg.reporting.navigation import OUTCOMES, became, outcome, outcomes, ways, wrong_emotion
from mmerg.reporting.overview import Overview, read_overview
from mmerg.reporting.pictures import Picture, of_run, of_runs
from mmerg.reporting.render import ASSETS, asset, render
from mmerg.reporting.sample_model import SamplePage
from mmerg.reporting.sample_page import sample_page
from mmerg.reporting.side_by_side import side_by_side
from mmerg.reporting.stages import stages_of
from mmerg.reporting.tally import Tally
from mmerg.reporting.text import file_name
from mmerg.runs.events import ENDED
from mmerg.runs.folder import FRAMES
from mmerg.runs.manifest import read_abouts
from mmerg.runs.samples import read_events
from mmerg.scoring.answers import describe_improper

EVERY = 500  # samples from one word of progress to the next
STEP = 200  # rows of the table of samples that are shown at once
FORMS = {  # sentences without their full stop
    "images": "The keyframes were sent as images",
    "montage": "The keyframes were sent as one numbered grid",
    "descriptions": "The model takes no images, so descriptions measured from the keyframes were sent in their place",
    "none": "No keyframes were sent",
}
Say = Callable[[str], None]


def write_report(paths: Sequence[Path], out: Path, *, faces: Faces, say: Say) -> Path:
    """Writes and returns the path of the first page. Raises RunError where a run cannot be read, two have one name, or
    `out` holds files that are not a report's or cannot be written."""
    read_abouts(paths)
    overviews = [read_overview(path) for path in paths]
    with ReportFolder(out) as folder:
        for name in ASSETS:
            folder.write(f"assets/{name}", asset(name))
        if len(overviews) == 1:
            _Run(overviews[0], folder, "", faces, {}).write(say)
        else:
            where = {f"run-{number}": one for number, one in enumerate(overviews, start=1)}
            for name, overview in where.items():
                say(f"{name}: {overview.name}")
                others = {other: one for other, one in where.items() if other != name}
                _Run(overview, folder, f"{name}/", faces, others).write(say)
            say("comparing the runs")
            beside = side_by_side(overviews)
            pictures = _drawn(folder, "", of_runs(overviews, beside["compared"]))
            found = outcomes({name for overview in overviews for name in overview.outcomes})
            shared: dict[str, Any] = {"top": "", "up": "", "faces": faces, "outcomes": found}
            shared |= {"runs": list(where.items()), **beside}
            folder.write("index.html", render("runs.j2", **shared, pictures=pictures))
            folder.write("samples.html", render("matrix.j2", **shared, step=STEP, href=file_name))
    return out / "index.html"


@dataclass(frozen=True)
class _Run:
    """One run in a report. prefix: its folder there, "" for the report itself. others: runs beside it, by folder."""

    overview: Overview
    folder: ReportFolder
    prefix: str
    faces: Faces
    others: Mapping[str, Overview]

    def write(self, say: Say) -> None:
        overview, tally = self.overview, Tally()
        path = overview.about.path
        frames = Frames(path / FRAMES, self.folder, self.faces, self.prefix)
        for count, page in enumerate(self._pages(path, frames, tally), start=1):
            self.folder.write(*page)
            if count % EVERY == 0:
                say(f"{count} of {len(overview.results)} samples")
        blamed = blame.count(tally.verdicts, tuple(overview.manifest.setting("system.stages", ())))
        others = (blame.PASSED, blame.UNAUDITED, blame.UNFINISHED)
        agents = [one for one in blamed.verdicts if one not in others and any(counts[one] for counts in blamed.passes)]
        top = "../" if self.prefix else ""
        found = outcomes(overview.outcomes)
        shared: dict[str, object] = {"top": top, "up": "", "faces": self.faces, "outcomes": found}
        samples = render(
            "samples.j2",
            **shared,
            run=overview.name,
            rows=tally.rows,
            step=STEP,
            blamed=agents,
            passes=sorted({row.passes for row in tally.rows}),
        )
        self.folder.write(f"{self.prefix}samples.html", samples)
        pictures = _drawn(self.folder, self.prefix, of_run(overview, blamed)) if overview.results else []
        run = render(
            "run.j2",
            **shared,
            o=overview,
            tally=tally,
            agents=agents,
            blamed=blamed,
            passed=blame.PASSED,
            pictures=pictures,
            memory="; ".join(map(describe_memory, overview.manifest.memories.values())),
            forms=FORMS,
            ended=ENDED,
            frames=frames,
            file_name=file_name,
            describe_improper=describe_improper,
            planted_columns=COLUMNS,
        )
        self.folder.write(f"{self.prefix}index.html", run)

    def _pages(self, path: Path, frames: Frames, tally: Tally) -> Iterator[tuple[str, str]]:
        """Each sample's page as its name and text."""
        results = self.overview.results
        stages = stages_of(self.overview.manifest)
        known = {name: {result.id for result in other.results} for name, other in self.others.items()}
        for number, (result, way) in enumerate(zip(results, ways(results), strict=True), start=1):
            found = read_events(path, result.id)
            page = sample_page(found, stages, frames.held)
            tally.add(result, page, found)
            name = file_name(result.id)
            elsewhere = [
                (other.name, f"../../{folder}/samples/{name}")
                for folder, other in self.others.items()
                if result.id in known[folder]
            ]
            yield (
                f"{self.prefix}samples/{name}",
                render(
                    "sample.j2",
                    up="../",
                    top="../../" if self.prefix else "../",
                    run=self.overview.name,
                    faces=self.faces,
                    result=result,
                    page=page,
                    ways=way,
                    elsewhere=elsewhere,
                    number=number,
                    total=len(results),
                    href=file_name,
                    outcome=outcome(result),
                    made_here=not self.overview.manifest.imported,
                    told=OUTCOMES[outcome(result)],
                    wrong=wrong_emotion(result),
                    became=became(result, page.first_label),
                    forms=FORMS,
                    ended=ENDED,
                    images=self._images(page, frames),
                ),
            )

    def _images(self, page: SamplePage, frames: Frames) -> Mapping[str, str]:
        """What images of calls are called, of those that the report holds; they are put there."""
        named = {shot.sha256: f"frame {shot.number}" for shot in page.shots if shot.held}
        if self.faces == "keep":  # faces in a grid are too small to be found, so it is left out where they are blurred
            named |= {one: "the grid of frames" for one in page.sent if one not in named and frames.held(one)}
        frames.add(named)
        return named


def _drawn(folder: ReportFolder, prefix: str, pictures: Iterator[Picture]) -> list[Picture]:
    """Puts plots into the report."""
    found = []
    with style.styled():
        for picture in pictures:
            folder.write(f"{prefix}plots/{picture.name}.svg", style.drawn(picture.figure, "svg"))
            found.append(picture)
    return found
