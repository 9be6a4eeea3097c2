"""The tables of the papers, as printed: MERG (arXiv 2604.18988), TRACE (arXiv 2509.21849), HEF (arXiv 2402.11801).

    [iterations] = published("iterations")
    iterations.printed(iterations.rows[1])["acc"], iterations.rows[1].n    # 83.87, 31

A column has the name of the same metric in mmerg, if there is one.
"""

from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from mmerg.storage.record import Record

Name = Literal["main", "ablations", "iterations", "topk", "backbones", "trace", "hef"]
NAMES: tuple[Name, ...] = get_args(Name)
_FILES = ("merg", "trace", "hef")  # each with several tables


class Published(Record):
    """A row as printed."""

    name: str
    scores: tuple[float | None, ...]  # by column; None if the paper gives no score
    n: int | None = None  # the number of samples, if the digits of the scores reveal it


class PaperTable(Record):
    """A table of a paper, for one dataset."""

    source: str
    title: str
    dataset: str
    columns: tuple[str, ...]
    notes: tuple[str, ...]  # what the paper does not state, and what is inferred
    rows: tuple[Published, ...]

    def printed(self, row: Published) -> dict[str, float]:
        """Returns the scores of a row by column, without those that the paper does not give."""
        scores = zip(self.columns, row.scores, strict=True)
        return {column: score for column, score in scores if score is not None}


@cache
def published(name: Name) -> list[PaperTable]:
    """Reads the tables of that name, one per dataset or kind of score."""
    import yaml

    tables: dict[str, list[object]] = {}
    for file in _FILES:
        tables |= yaml.safe_load((files("mmerg.paper") / f"{file}.yaml").read_text(encoding="utf-8"))
    return [PaperTable.model_validate(table) for table in tables[name]]
