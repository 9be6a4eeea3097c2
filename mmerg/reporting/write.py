"""The report of one run, or of several side by side.

write_report([Path("runs/demo-merg-…")], Path("report"))
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from mmerg.errors import RunError
from mmerg.reporting.folder import report_folder
from mmerg.reporting.outcome import list_outcomes
from mmerg.reporting.render import render
from mmerg.reporting.run_pages import RunPages
from mmerg.runs.comparison import CHANGES, compare_samples
from mmerg.runs.config_diff import diff_configs, label_runs
from mmerg.runs.inputs import describe_unequal_inputs
from mmerg.runs.manifest import read_run_refs
from mmerg.scoring.comparisons import DRAWS, compare_sides
from mmerg.scoring.run_results import read_run
from mmerg.scoring.standard import Options
from mmerg.storage.files import write_atomically


def write_report(paths: Sequence[Path], out: Path) -> Path:
    """Writes a report, and returns the path of its first page. Raises RunError if a run cannot be read, if two runs
    have one name, or if `out` cannot be written or holds files of no report."""
    read_run_refs(paths)
    several = len(paths) > 1
    by_prefix = {f"run-{number}/" if several else "": RunPages(path) for number, path in enumerate(paths, start=1)}
    with report_folder(out) as folder:
        for name in ("styles/base.css", "reporting/assets/report.css", "reporting/assets/report.js"):
            asset = files("mmerg") / name
            write_atomically(folder / f"assets/{asset.name}", asset.read_bytes())
        for prefix, run in by_prefix.items():
            others = {name: other for name, other in by_prefix.items() if name != prefix}
            run.write(folder, prefix, others)
        if several:
            _write_comparison(folder, by_prefix)
    return out / "index.html"


def _write_comparison(folder: Path, by_prefix: dict[str, RunPages]) -> None:
    """Writes the first pages of several runs: how they differ in settings, scores and each sample. Paired tests compare
    each run with the first one, by the defaults of `mmerg compare`. If runs cannot be compared, the page says why."""
    runs = list(by_prefix.values())
    refs = [run.ref for run in runs]
    for run, label in zip(runs, label_runs(refs), strict=True):
        run.label = label
    rows = compare_samples([run.results for run in runs])
    values: dict[str, object] = {
        "runs": list(by_prefix.items()),
        "outcomes": list_outcomes({name for run in runs for name in run.outcomes}),
        "rows": rows,
        "changes": {name: (meaning, sum(getattr(row, name) for row in rows)) for name, meaning in CHANGES.items()},
        "unequal": describe_unequal_inputs(refs, [run.inputs for run in runs]),
        "settings": diff_configs([run.manifest for run in runs]),
        "names": list(dict.fromkeys(name for run in runs if run.scores for name in run.scores.overall)),
        "refused": "",
        "compared": (),
    }
    try:
        baseline, *others = (read_run(run.ref.path) for run in runs)
        compared = compare_sides([baseline], [[other] for other in others], Options(resamples=DRAWS))
        values |= {"compared": compared.pairs, "warnings": compared.warnings, "how_p": compared.describe_p()}
    except RunError as error:
        values["refused"] = f"These runs are not compared: {error.what}. {error.hint}".strip()
    for name, template in (("index.html", "runs.j2"), ("samples.html", "matrix.j2")):
        write_atomically(folder / name, render(template, top="", up="", **values))
