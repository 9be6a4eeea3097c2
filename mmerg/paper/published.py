"""The tables of the papers, as printed: MERG (arXiv 2604.18988), TRACE (arXiv 2509.21849), HEF (2024).

    [iterations] = published("iterations")
    iterations.printed(iterations.rows[1])["acc"], iterations.rows[1].n    # 83.87, 31

Columns have the names of our figures. A row's `fits` are its settings on top of its table's, and these on top of what
`mmerg run dataset=…` has, a page of a group by its name; a row without `fits` is a system that mmerg does not run.
"""

from importlib.resources import files
from typing import Literal

from pydantic import Field

from mmerg.settings.kinds import Plain
from mmerg.storage.record import Record

Name = Literal["main", "ablations", "iterations", "topk", "backbones", "trace", "hef"]
FILES: dict[Name, tuple[str, ...]] = {
    "main": ("main_iemocap", "main_meld"),
    "ablations": ("ablations",),
    "iterations": ("iterations",),
    "topk": ("topk",),
    "backbones": ("backbones",),
    "trace": ("trace", "trace_wins"),
    "hef": ("hef", "hef_sem"),
}


class Published(Record):
    """A row as printed; None where the paper has no figure. n: samples, None where the paper does not let us know.
    sure: whether the row is sure to be the one of these settings."""

    name: str
    figures: tuple[float | None, ...]
    fits: Plain | None = None
    n: int | None = None
    sure: bool = True


class PaperTable(Record):
    """A table of one dataset. samples: n of a run with the whole of its data, where that is known. keyframes: whether
    the agents saw any. notes: what a reader must know of its figures."""

    source: str
    title: str
    dataset: str
    fits: Plain = Field(default_factory=dict)
    samples: int | None = None
    keyframes: bool = False
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    rows: tuple[Published, ...]

    def printed(self, row: Published) -> dict[str, float]:
        """The figures of a row by column, without those that the paper has not."""
        figures = zip(self.columns, row.figures, strict=True)
        return {column: figure for column, figure in figures if figure is not None}


def published(name: Name) -> list[PaperTable]:
    """The tables of that name, one a dataset or kind of figure."""
    import yaml

    texts = ((files("mmerg.paper") / f"{file}.yaml").read_text(encoding="utf-8") for file in FILES[name])
    return [PaperTable.model_validate(yaml.safe_load(text)) for text in texts]
