"""Prints the papers' tables with our runs beside: `python -m mmerg.tables [TABLE …] [RUN …]`.

Tables: main (the default), ablations, iterations, topk, backbones (MERG), trace, hef. Without RUN all scored runs under
`--runs` that are of a table's dataset. Each figure of ours has its 95 % interval and n, and a mark whether the paper's
lies in the interval. A run of a row's system on other data or another model stands with it, without marks; runs that
fit no row are listed below. What differs is told. Reads scores.json and judgement-*.json. A small empathetic model, the
folder that `mmerg train sem` makes, stands with HEF's own; the folder of a pairwise judging with TRACE's wins.
Exit code 0 printed, 2 a run or an option is wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmerg.console.tables import FORMATS, deliver
from mmerg.console.terminal import STARTS_OVER, Parser, printable, run_command, start
from mmerg.errors import ConfigError, RunError
from mmerg.paper.published import FILES, Name, PaperTable, published
from mmerg.papertables.beside import put_beside
from mmerg.papertables.drawn import facts, sheet
from mmerg.papertables.others import kind_of, with_others
from mmerg.papertables.ours import Ours, dataset_of, judged_by, read_ours
from mmerg.runs.manifest import MANIFEST, check_runs, read_any_manifest
from mmerg.scoring.score import UnscoredError

DATASETS = ("iemocap", "meld", "empathetic")


def tables(given: argparse.Namespace) -> int:
    """Draw, then print or write. Raises ConfigError and RunError."""
    names, paths = _sorted(given.words)
    papers = [table for name in names for table in published(name) if given.dataset in (None, table.dataset)]
    if not papers:
        raise ConfigError(
            f"the paper has no table {' '.join(names)} of {given.dataset}",
            where="--dataset",
            hint="; ".join(f"{name}: {', '.join(sorted({t.dataset for t in published(name)}))}" for name in names),
        )
    left_out: list[str] = []
    others = {path: kind for path in paths if (kind := kind_of(path))}
    for path, kind in others.items():
        if not any(kind.column in paper.columns for paper in papers):
            what = f"{path} is a {kind.whole}, and none of these tables takes one"
            raise ConfigError(what, where="arguments", hint=f"mmerg tables {kind.table} {path}")
    if paths:
        folders = [path for path in paths if path not in others]
        check_runs(folders)
        runs, unscored = _scored(folders)
        if unscored:
            raise _together(unscored)
    else:
        runs, left_out = _found(given.runs, {paper.dataset for paper in papers})
    if given.judge:
        runs = judged_by(runs, given.judge)
    drawn = [with_others(put_beside(paper, _of(paper, papers, runs)), list(others)) for paper in papers]
    sheets = [sheet(table, given.verbose or given.format != "text") for table in drawn]
    deliver(given.format, given.out, sheets, sheets, (fact for table in drawn for fact in facts(table)))
    for line in left_out:
        print(printable(line), file=sys.stderr)  # noqa: T201
    return 0


def _sorted(words: Sequence[str]) -> tuple[list[Name], list[Path]]:
    """Tables and runs: a word is a table if it is the name of one. Raises ConfigError for what is neither."""
    names = [name for name in FILES if name in words] or ["main"]
    paths = [Path(word) for word in words if word not in FILES]
    for path in paths:
        if not path.exists():
            hint = f"tables: {', '.join(FILES)}; for runs see `ls runs/`"
            raise ConfigError(f"{path} is neither a table nor a run folder", where="arguments", hint=hint)
    return names, paths


def _scored(paths: Sequence[Path]) -> tuple[list[Ours], dict[Path, UnscoredError]]:
    """The runs in these folders, and why some of them have no scores that hold. Raises RunError."""
    runs: list[Ours] = []
    unscored: dict[Path, UnscoredError] = {}
    for path in paths:
        try:
            runs.append(read_ours(path))
        except UnscoredError as error:
            unscored[path] = error
    return runs, unscored


def _together(unscored: Mapping[Path, UnscoredError]) -> UnscoredError:
    """One error for all of them, with one command that scores them."""
    if len(unscored) == 1:
        return next(iter(unscored.values()))
    return UnscoredError(
        f"{len(unscored)} runs have no scores, or stale ones",
        where=", ".join(map(str, unscored)),
        hint=f"python -m mmerg.score {shlex.join(map(str, unscored))}",
    )


def _found(folder: Path, datasets: set[str]) -> tuple[list[Ours], list[str]]:
    """The scored runs under `folder` that are of these datasets, and why others of them are left out."""
    runs: list[Ours] = []
    left_out: list[str] = []
    seen: set[Path] = set()
    other: Counter[str] = Counter()
    unscored: dict[Path, UnscoredError] = {}
    for path in sorted(file.parent for file in folder.glob(f"*/{MANIFEST}")):
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        try:
            dataset = dataset_of(read_any_manifest(path))
            if dataset in datasets:
                runs.append(read_ours(path))
            elif dataset:
                other[dataset] += 1
        except UnscoredError as error:
            unscored[path] = error
        except RunError as error:
            left_out.append(f"left out: {error}")
    if unscored:
        left_out.append(f"left out: {_together(unscored)}")
    left_out += [
        f"left out: {count} of {dataset}, of which none of these tables is; name their folders to see them beside"
        for dataset, count in other.items()
    ]
    return runs, left_out


def _of(paper: PaperTable, papers: Sequence[PaperTable], runs: Sequence[Ours]) -> list[Ours]:
    """The runs of a table: those of its dataset, and those whose dataset none of the tables is of."""
    datasets = {other.dataset for other in papers}
    return [run for run in runs if run.dataset == paper.dataset or run.dataset not in datasets]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.tables", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="TABLE|RUN", help=f"{', '.join(FILES)}; run folders")
    parser.add_argument("--dataset", choices=DATASETS, help="only the tables of it; default: all that there are")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--judge", metavar="NAME", help="whose ratings count where several judged a run: MODEL@RUBRIC")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where runs are; default: runs")
    parser.add_argument("--verbose", action="store_true", help="print signatures, too")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there in place of printing")
    given = parser.parse_intermixed_args(arguments)
    return run_command(lambda: tables(given), STARTS_OVER)


if __name__ == "__main__":
    start(main)
