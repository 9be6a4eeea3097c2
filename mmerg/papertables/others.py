"""What stands in a paper's table and is no run: small empathetic models beside HEF's own (2024), and pairwise judgings
of two runs in TRACE's table of wins (arXiv 2509.21849). A line each; none is held against the paper's figures, which
are another model's, or another judge's.

with_others(put_beside(table, []), {Path("sem"): other_of(Path("sem"))})
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from mmerg.errors import RunError
from mmerg.judging.judgement import read_match
from mmerg.paper.published import Name
from mmerg.papertables.beside import Beside
from mmerg.papertables.line import Cell, Line
from mmerg.runs.manifest import JudgingManifest, read_any_manifest, read_manifest
from mmerg.scoring.score import Score
from mmerg.sem.artefact import CARD, read

WIN = "win_"  # a column win_<aspect>


@dataclass(frozen=True)
class Other:
    """A folder that is no run. called: what its line is called; whole: the same in full; table: the paper's that takes
    it, as `mmerg tables` has it; column: one that no other table has. read gives its figures by column, what a reader
    must know of them, and whether they are of the system that the table's first row is of."""

    called: str
    whole: str
    table: Name
    column: str
    read: Callable[[], tuple[Mapping[str, Score], str, bool]]


def other_of(path: Path) -> Other | None:
    """What the folder is, sound or not; None where it is nothing of the kind, as a run."""
    if (path / CARD).is_file():
        return Other("model", "small empathetic model", "hef", "top1", partial(_model, path))
    with suppress(RunError):
        manifest = read_any_manifest(path)
        if isinstance(manifest, JudgingManifest) and len(manifest.judged) > 1:
            return Other("judging", "pairwise judging", "trace", f"{WIN}empathy", partial(_match, path))
    return None


def with_others(beside: Beside, others: Mapping[Path, Other]) -> Beside:
    """The table with a line for each folder that it takes. Raises ConfigError or RunError where one cannot be read."""
    lines, notes = list(beside.lines), list(beside.notes)
    taken = [(path.resolve().name, other) for path, other in others.items() if other.column in beside.columns]
    for number, (name, other) in enumerate(taken, start=1):
        figures, note, of_the_row = other.read()
        cells = tuple(Cell.of(figures.get(column)) for column in beside.columns)
        row = beside.lines[0].name if of_the_row else ""
        lines.append(Line(f"{other.called} {number}", "ours", row, cells, name, note=note, fits=False))
        notes.append(f"{other.called} {number} is {name}")
    return replace(beside, lines=tuple(lines), notes=tuple(notes))


def _model(path: Path) -> tuple[Mapping[str, Score], str, bool]:
    card = read(path).card
    features, data = "an embedding" if card.embedder else "tf-idf", card.validated_on
    differs = f"logistic regression over {features}, not ESCM; {data.corpus} {data.split}, {len(card.labels)} labels"
    return card.figures, differs, True


def _match(path: Path) -> tuple[Mapping[str, Score], str, bool]:
    match = read_match(path)
    first, second = match.runs
    wins = {f"{WIN}{aspect}": figures["win"] for aspect, figures in match.aspects.items()}
    own = f"; the judge wrote the replies of {' and '.join(match.self_judged)}" if match.self_judged else ""
    note = f"wins of {first} over {second}, where {match.judge} prefers it in both orders; {match.corpus}{own}"
    system = ""
    with suppress(RunError):  # the judging may have been copied without its runs
        system = read_manifest(path.resolve().parent / first).system
    return wins, note, system == "trace"
