"""Lines of a paper's table for what is no run: a small empathetic model beside HEF's own (2024), and a pairwise judging
of two runs in TRACE's table of wins (arXiv 2509.21849). None is compared with the paper's figures, which are of another
model or judge.

add_others(match_rows(Rows(table), []), [read_other(Path("sem"))])
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mmerg.errors import RunError
from mmerg.judging.judgement import read_match
from mmerg.paper.published import Name
from mmerg.papertables.matched import Line, MatchedTable
from mmerg.runs.manifest import JudgingManifest, read_any_manifest, read_manifest
from mmerg.scoring.score import Score
from mmerg.sem.artefact import CARD, read


@dataclass(frozen=True)
class Other:
    """A folder that is no run. table: the paper's table for it. note: what a reader must know. of_first: whether it
    belongs to the first row of the table."""

    kind: str
    name: str
    table: Name
    scores: Mapping[str, Score]
    note: str
    of_first: bool


def read_other(path: Path) -> Other | None:
    """The model or judging in the folder; None where it holds something else, as a run. Raises ConfigError or RunError
    where it cannot be read."""
    name = path.resolve().name
    if (path / CARD).is_file():
        card = read(path).card
        features, data = "an embedding" if card.embedder else "tf-idf", card.validated_on
        note = f"logistic regression over {features}, not ESCM; {data.corpus} {data.split}, {len(card.labels)} labels"
        return Other("model", name, "hef", card.figures, note, of_first=True)
    try:
        manifest = read_any_manifest(path)
    except RunError:
        return None  # whoever reads it as a run says why
    return _judging(path, name) if isinstance(manifest, JudgingManifest) and len(manifest.judged) > 1 else None


def _judging(path: Path, name: str) -> Other:
    match = read_match(path)
    first, second = match.runs
    wins = {f"win_{aspect}": figures["win"] for aspect, figures in match.aspects.items()}
    own = f"; the judge wrote the replies of {' and '.join(match.self_judged)}" if match.self_judged else ""
    note = f"wins of {first} over {second}, where {match.judge} prefers it in both orders; {match.corpus}{own}"
    system = ""
    with suppress(RunError):  # the judging may have been copied without its runs
        system = read_manifest(path.resolve().parent / first).system
    return Other("judging", name, "trace", wins, note, of_first=system == "trace")


def add_others(matched: MatchedTable, others: Sequence[Other]) -> MatchedTable:
    """The table with a line for each folder that it takes."""
    columns = matched.paper.columns
    taken = [other for other in others if set(columns) & set(other.scores)]
    lines, notes = list(matched.lines), list(matched.notes)
    for number, other in enumerate(taken, start=1):
        row = matched.lines[0].name if other.of_first else ""
        scores = {column: other.scores[column] for column in columns if column in other.scores}
        lines.append(Line(f"{other.kind} {number}", "ours", row, scores, other.name, other.note, fits=False))
        notes.append(f"{other.kind} {number} is {other.name}")
    return replace(matched, lines=tuple(lines), notes=tuple(notes))
