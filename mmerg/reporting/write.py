"""Writes a report of one run, or of several side by side.

write_report([Path("runs/demo-merg-…")], Path("report"), say=print)
"""

from collections.abc import Sequence
from pathlib import Path

from mmerg.errors import RunError
from mmerg.plots import style
from mmerg.plots.dots import draw_differences, draw_scores
from mmerg.plots.run_data import describe_runs
from mmerg.reporting.folder import ReportFolder, report_folder
from mmerg.reporting.outcome import counted_outcomes
from mmerg.reporting.render import ASSETS, asset, render
from mmerg.reporting.run_pages import RunPages, Say, write_plots
from mmerg.runs.config_diff import config_diff, labels
from mmerg.runs.inputs import list_inputs, unequal_inputs
from mmerg.runs.manifest import read_run_refs
from mmerg.runs.matrix import JUDGED, matrix
from mmerg.scoring.answers import read_run
from mmerg.scoring.comparisons import DRAWS, Pair, compare_sides, format_p
from mmerg.scoring.standard import Options


def write_report(paths: Sequence[Path], out: Path, *, say: Say) -> Path:
    """Writes and returns the path of the first page. Raises RunError where a run cannot be read, two have one name, or
    `out` holds files that are not a report's or cannot be written."""
    read_run_refs(paths)
    several = len(paths) > 1
    places = {f"run-{number}/" if several else "": RunPages(path) for number, path in enumerate(paths, start=1)}
    with report_folder(out) as folder:
        for name in ASSETS:
            folder.write(f"assets/{name}", asset(name))
        for prefix, run in places.items():
            if several:
                say(f"{prefix[:-1]}: {run.name}")
            others = {place: other for place, other in places.items() if other is not run}
            run.write(folder, prefix, others, say)
        if several:
            say("comparing the runs")
            _write_comparison(folder, places)
    return out / "index.html"


def _write_comparison(folder: ReportFolder, places: dict[str, RunPages]) -> None:
    """The first pages of several runs: how they differ in settings, scores and each sample, and paired tests against
    the first run, as `mmerg compare` makes them by default. For runs that cannot be compared the page says why."""
    runs = list(places.values())
    abouts = [run.about for run in runs]
    for run, label in zip(runs, labels(abouts), strict=True):
        run.label = label
    lines = matrix([run.results for run in runs])
    values: dict[str, object] = {
        "runs": list(places.items()),
        "outcomes": counted_outcomes({name for run in runs for name in run.outcomes}),
        "lines": lines,
        "judged": {name: (words, sum(getattr(line, name) for line in lines)) for name, words in JUDGED.items()},
        "list_inputs": list_inputs,
        "unequal": unequal_inputs(abouts),
        "settings": config_diff([run.manifest for run in runs]),
        "names": list(dict.fromkeys(name for run in runs if run.scores for name in run.scores.overall)),
        "format_p": format_p,
        "refused": "",
    }
    pairs: Sequence[Pair] = ()
    try:
        baseline, *others = (read_run(run.about.path) for run in runs)
        compared = compare_sides([baseline], [[other] for other in others], Options(resamples=DRAWS))
    except RunError as error:
        values["refused"] = f"These runs are not compared: {error.what}. {error.hint}".strip()
    else:
        pairs = compared.pairs
        values |= {"warnings": compared.warnings, "how_p": compared.describe_p()}
    values["compared"] = pairs
    differences = {run.label: pair.comparisons for run, pair in zip(runs[1:], pairs, strict=False)}
    title, alike = f"Differences from {runs[0].label}, with 95 % intervals", "; the table has the same numbers"
    with style.styled():
        forest = draw_differences(differences, title, describe_runs(abouts))
        plots = {"differences": (forest, title), "scores": (draw_scores(runs), "Scores with 95 % intervals")}
        values["plots"] = write_plots(folder, "", {name: (one, alt + alike) for name, (one, alt) in plots.items()})
    for name, template in (("index.html", "runs.j2"), ("samples.html", "matrix.j2")):
        folder.write(name, render(template, top="", up="", **values))
