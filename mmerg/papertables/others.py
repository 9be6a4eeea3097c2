"""What stands in a paper's table and is no run: small empathetic models beside HEF's own (2024), and pairwise judgings
of two runs in TRACE's table of wins (arXiv 2509.21849). A line each; none is held against the paper's figures, which
are another model's, or another judge's.

with_others(put_beside(table, []), [Path("sem"), Path("runs/judge-pairwise-gemma3-12b-1a2b3c4d")])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
class Read:
    """What a folder brings: figures by column, what a reader must know of them, and whether they are of the system that
    the table's first row is of."""

    figures: Mapping[str, Score]
    note: str
    of_the_row: bool = True


@dataclass(frozen=True)
class Kind:
    """Folders of a kind. called: what lines name it; whole: the same in full; table: the paper's that takes them, as
    `mmerg tables` has it; column: one that no other table has. read raises ConfigError or RunError."""

    called: str
    whole: str
    table: Name
    column: str
    is_one: Callable[[Path], bool]
    read: Callable[[Path], Read]


def kind_of(path: Path) -> Kind | None:
    """Of which kind the folder is, sound or not; None where it is of none, as a run."""
    return next((kind for kind in KINDS if kind.is_one(path)), None)


def with_others(beside: Beside, paths: Sequence[Path]) -> Beside:
    """The table with a line for each folder that is of its kind. Raises ConfigError or RunError where one cannot be
    read."""
    kinds = [kind for kind in KINDS if kind.column in beside.columns]
    of_kind = [(kind, path) for path in paths for kind in kinds if kind.is_one(path)]
    lines, notes = list(beside.lines), list(beside.notes)
    for number, (kind, path) in enumerate(of_kind, start=1):
        found, name = kind.read(path), path.resolve().name
        cells = tuple(_cell(found.figures.get(column)) for column in beside.columns)
        row = beside.lines[0].name if found.of_the_row else ""
        lines.append(Line(f"{kind.called} {number}", "ours", row, cells, name, note=found.note, fits=False))
        notes.append(f"{kind.called} {number} is {name}")
    return replace(beside, lines=tuple(lines), notes=tuple(notes))


def _cell(score: Score | None) -> Cell:
    if score is None:
        return Cell()
    low, high = score.interval or (None, None)
    return Cell(score.value, low, high, score.n, score.method, score.signature)


def _is_model(path: Path) -> bool:
    return (path / CARD).is_file()


def _model(path: Path) -> Read:
    card = read(path).card
    features, data = "an embedding" if card.embedder else "tf-idf", card.validated_on
    differs = f"logistic regression over {features}, not ESCM; {data.corpus} {data.split}, {len(card.labels)} labels"
    return Read(card.figures, differs)


def _is_match(path: Path) -> bool:
    with suppress(RunError):
        manifest = read_any_manifest(path)
        return isinstance(manifest, JudgingManifest) and len(manifest.judged) > 1
    return False


def _match(path: Path) -> Read:
    match = read_match(path)
    first, second = match.runs
    wins = {f"{WIN}{aspect}": figures["win"] for aspect, figures in match.aspects.items()}
    own = f"; the judge wrote the replies of {' and '.join(match.self_judged)}" if match.self_judged else ""
    note = f"wins of {first} over {second}, where {match.judge} prefers it in both orders; {match.corpus}{own}"
    system = ""
    with suppress(RunError):  # the judging may have been copied without its runs
        system = read_manifest(path.resolve().parent / first).system
    return Read(wins, note, of_the_row=system == "trace")


KINDS = (
    Kind("model", "small empathetic model", "hef", "top1", _is_model, _model),
    Kind("judging", "pairwise judging", "trace", f"{WIN}empathy", _is_match, _match),
)
