"""Writes a report: the first page, the table of samples and a page a sample, for one run or several side by side.

One sample at a time is in memory; what overviews need is counted on the way.

    write_report([Path("runs/demo-merg-…")], Path("report"), faces="keep", say=print)
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmerg.auditing.planted import COLUMNS
from mmerg.console.run_tables import describe_memory
from mmerg.plots import blame, style
from mmerg.reporting.folder import ReportFolder
from mmerg.reporting.frames import Faces, Frames
from mmerg.reporting.navigation import OUTCOMES, outcomes, ways
from mmerg.reporting.overview import Overview, side_by_side
from mmerg.reporting.pictures import Picture, of_run, of_runs
from mmerg.reporting.render import ASSETS, asset, file_name, render
from mmerg.reporting.sample_page import SamplePage
from mmerg.reporting.stages import Stages
from mmerg.reporting.table_row import ID, TEXT, TableRow
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
HOW = ("limit", "ids", "only_failed", "cache")  # of a start, what says which samples it took up; the rest is hosts
_WORDS = {"ENDED": ENDED, "FORMS": FORMS, "HOW": HOW, "OUTCOMES": OUTCOMES, "PASSED": blame.PASSED, "PLANTED": COLUMNS}
_SIZES = {"ID": ID, "TEXT": TEXT, "STEP": STEP}
Say = Callable[[str], None]


def write_report(paths: Sequence[Path], out: Path, *, faces: Faces, say: Say) -> Path:
    """Writes and returns the path of the first page. Raises RunError where a run cannot be read, two have one name, or
    `out` holds files that are not a report's or cannot be written."""
    read_abouts(paths)
    overviews = [Overview(path) for path in paths]
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
            beside["pictures"] = _drawn(folder, "", of_runs(overviews, beside["compared"]))
            found = outcomes({name for overview in overviews for name in overview.outcomes})
            shared = {**_SIZES, "top": "", "up": "", "faces": faces, "outcomes": found, "runs": list(where.items())}
            for name, template in (("index.html", "runs.j2"), ("samples.html", "matrix.j2")):
                folder.write(name, render(template, **shared, **beside))
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
        overview, rows = self.overview, list[TableRow]()
        frames = Frames(overview.about.path / FRAMES, self.folder, self.faces, self.prefix)
        for count, (name, page) in enumerate(self._pages(frames, rows), start=1):
            self.folder.write(f"{self.prefix}samples/{name}", page)
            if count % EVERY == 0:
                say(f"{count} of {len(overview.results)} samples")
        blamed = blame.count_blame(overview.about, (one for row in rows for one in row.verdicts))
        others = (blame.PASSED, blame.UNAUDITED, blame.UNFINISHED)
        known: dict[str, Any] = {
            "o": overview,
            "results": list(overview.results.values()),
            "rows": rows,
            "forms": Counter(row.form for row in rows),
            "problems": Counter(problem for row in rows for problem in row.problems),
            "asked_again": Counter(refused for row in rows for refused in row.asked_again),
            "given_up": Counter(refused for row in rows for refused in row.given_up),
            "frames": frames,
            "blamed": blamed,
            "audited": blame.count_audits(blamed),
            "agents": [one for one in blamed.index if one not in others and blamed.loc[one].any()],
            "outcomes": outcomes(overview.outcomes),
            "memory": "; ".join(map(describe_memory, overview.manifest.memories.values())),
            "describe_improper": describe_improper,
            "pictures": _drawn(self.folder, self.prefix, of_run(overview, blamed)) if overview.results else [],
        }
        for name, template in (("samples.html", "samples.j2"), ("index.html", "run.j2")):
            self.folder.write(f"{self.prefix}{name}", self._page(template, "", **known))

    def _page(self, template: str, up: str, **values: Any) -> str:
        top = up + "../" * bool(self.prefix)
        return render(template, **_WORDS, **_SIZES, up=up, top=top, faces=self.faces, **values)

    def _pages(self, frames: Frames, rows: list[TableRow]) -> Iterator[tuple[str, str]]:
        """Each sample's page as its name and text; its row is put to `rows`."""
        about, results = self.overview.about, list(self.overview.results.values())
        stages = Stages(about.manifest)
        for result, way in zip(results, ways(results), strict=True):
            page = SamplePage(read_events(about.path, result.id), stages, frames.held)
            rows.append(TableRow(len(rows) + 1, result, page))
            name = file_name(result.id)
            beside = ((folder, other) for folder, other in self.others.items() if result.id in other.results)
            values = {
                "o": self.overview,
                "result": result,
                "page": page,
                "row": rows[-1],
                "ways": way,
                "elsewhere": [(other.name, f"../../{folder}/samples/{name}") for folder, other in beside],
                "images": self._images(page, frames),
            }
            yield name, self._page("sample.j2", "../", **values)

    def _images(self, page: SamplePage, frames: Frames) -> Mapping[str, str]:
        """What images of calls are called, of those that the report holds; they are put there."""
        named = {shot.frame.sha256: f"frame {shot.number}" for shot in page.shots if shot.held}
        if self.faces == "keep":  # faces in a grid are too small to be found, so it is left out where they are blurred
            sent = (one for call in page.calls for message in call.event.messages for one in message.images)
            named |= {one: "the grid of frames" for one in sent if one not in named and frames.held(one)}
        frames.add(named)
        return named


def _drawn(folder: ReportFolder, prefix: str, pictures: Iterator[Picture]) -> list[Picture]:
    """Puts plots into the report."""
    found = []
    with style.styled():
        for picture in pictures:
            folder.write(f"{prefix}plots/{picture.name}.svg", style.image(picture.figure, "svg"))
            found.append(picture)
    return found
