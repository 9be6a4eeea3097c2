"""Prints the papers' tables with our runs beside: `mmerg tables [TABLE …] [RUN …]`.

Tables: main (the default), ablations, iterations, topk, backbones (MERG), trace, hef. Without RUN all scored runs under
`--runs` that are of a table's dataset. Each figure of ours has its 95 % interval and n, and a mark whether the paper's
lies in the interval. A run of a row's system on other data or another model stands with it, without marks; runs that
fit no row are listed below. What differs is told. Reads scores.json and judgement-*.json. A small empathetic model, the
folder that `mmerg train sem` makes, stands with HEF's own; the folder of a pairwise judging with TRACE's wins.
Exit code 0 printed, 2 a run or an option is wrong, 130 interrupted.
"""

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
from mmerg.papertables.others import other_of, with_others
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
    others = {path: other for path in paths if (other := other_of(path))}
    for path, other in others.items():
        if not any(other.column in paper.columns for paper in papers):
            what = f"{path} is a {other.whole}, and none of these tables takes one"
            raise ConfigError(what, where="arguments", hint=f"mmerg tables {other.table} {path}")
    if paths:
        folders = [path for path in paths if path not in others]
        check_runs(folders)
        runs, left_out = _scored(folders, None)
    else:
        runs, left_out = _scored(_under(given.runs), {paper.dataset for paper in papers})
    if given.judge:
        runs = judged_by(runs, given.judge)
    drawn = [with_others(put_beside(paper, _of(paper, papers, runs)), others) for paper in papers]
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


def _under(folder: Path) -> list[Path]:
    """The folders with a manifest in `folder`, one that a link names, too, once."""
    found: dict[Path, Path] = {}
    for file in sorted(folder.glob(f"*/{MANIFEST}")):
        found.setdefault(file.parent.resolve(), file.parent)
    return list(found.values())


def _scored(paths: Sequence[Path], datasets: set[str] | None) -> tuple[list[Ours], list[str]]:
    """The scored runs in these folders, and why others are left out; of `datasets` alone, unless that is None: then the
    folders were named, and none may be left out. Raises RunError."""
    runs: list[Ours] = []
    left_out: list[str] = []
    other: Counter[str] = Counter()
    unscored: dict[Path, UnscoredError] = {}
    for path in paths:
        try:
            dataset = dataset_of(read_any_manifest(path))
            if datasets is None or dataset in datasets:
                runs.append(read_ours(path))
            elif dataset:
                other[dataset] += 1
        except UnscoredError as error:
            unscored[path] = error
        except RunError as error:
            if datasets is None:
                raise
            left_out.append(f"left out: {error}")
    if unscored:
        together = _together(unscored)
        if datasets is None:
            raise together
        left_out.append(f"left out: {together}")
    left_out += [
        f"left out: {count} of {dataset}, of which none of these tables is; name their folders to see them beside"
        for dataset, count in other.items()
    ]
    return runs, left_out


def _together(unscored: Mapping[Path, UnscoredError]) -> UnscoredError:
    """One error for all of them, with one command that scores them."""
    if len(unscored) == 1:
        return next(iter(unscored.values()))
    what, hint = f"{len(unscored)} runs have no scores, or stale ones", shlex.join(map(str, unscored))
    return UnscoredError(what, where=", ".join(map(str, unscored)), hint=f"mmerg score {hint}")


def _of(paper: PaperTable, papers: Sequence[PaperTable], runs: Sequence[Ours]) -> list[Ours]:
    """The runs of a table: those of its dataset, and those whose dataset none of the tables is of."""
    datasets = {other.dataset for other in papers}
    return [run for run in runs if (of := dataset_of(run.manifest)) == paper.dataset or of not in datasets]


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
