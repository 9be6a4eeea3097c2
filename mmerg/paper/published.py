"""The tables of the papers, as printed: MERG (arXiv 2604.18988), TRACE (arXiv 2509.21849), HEF (2024).

    [iterations] = published("iterations")
    iterations.printed(iterations.rows[1])["acc"], iterations.rows[1].n    # 83.87, 31

Columns are named like our metrics, if there is one.
"""

from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from mmerg.storage.record import Record

Name = Literal["main", "ablations", "iterations", "topk", "backbones", "trace", "hef"]
NAMES: tuple[Name, ...] = get_args(Name)
_FILES = ("merg", "trace", "hef")  # of several tables each


class Published(Record):
    """A row as printed; None: not in the paper. n: samples as its digits tell, None if they do not."""

    name: str
    scores: tuple[float | None, ...]
    n: int | None = None


class PaperTable(Record):
    """A table of one dataset. notes: what the paper does not state, and what is inferred."""

    source: str
    title: str
    dataset: str
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    rows: tuple[Published, ...]

    def printed(self, row: Published) -> dict[str, float]:
        """The scores of a row by column, without those missing in the paper."""
        scores = zip(self.columns, row.scores, strict=True)
        return {column: score for column, score in scores if score is not None}


def published(name: Name) -> list[PaperTable]:
    """The tables of that name, one per dataset or kind of score."""
    return [PaperTable.model_validate(table) for table in _read()[name]]


@cache
def _read() -> dict[str, list[object]]:
    import yaml

    tables: dict[str, list[object]] = {}
    for file in _FILES:
        tables |= yaml.safe_load((files("mmerg.paper") / f"{file}.yaml").read_text(encoding="utf-8"))
    return tables
