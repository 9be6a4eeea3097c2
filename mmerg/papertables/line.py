"""A row of a drawn table: whose it is, and a cell for each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mmerg.scoring.score import Score
from mmerg.scoring.spread import Spread


@dataclass(frozen=True)
class Cell:
    """A figure with its 95 % interval and n, None where unknown. inside: whether the paper's figure lies in our
    interval, None where there are not both. spread: of a mean over seeds, its standard deviation; n then counts seeds.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    method: str = ""
    signature: str = ""
    inside: bool | None = None
    spread: float | None = None

    @classmethod
    def of(cls, score: Score | None, inside: bool | None = None) -> Cell:
        if score is None:
            return cls()
        low, high = score.interval or (None, None)
        spread = score.sd if isinstance(score, Spread) else None
        return cls(score.value, low, high, score.n, score.method, score.signature, inside, spread)


@dataclass(frozen=True)
class Line:
    """A row: the paper's, a run of ours (`run`), which stands with `row` of the paper or, where that is empty, with
    none of them, or the mean of runs that differ in their seeds, which stands as they do. note: what a reader must
    know of it. fits: whether all settings are the row's."""

    name: str
    by: Literal["paper", "ours", "seeds"]
    row: str
    cells: tuple[Cell, ...]
    run: str = ""
    note: str = ""
    fits: bool = True

    @property
    def tail(self) -> str:
        """What stands after the name where the settings are not those of a row."""
        if self.by == "paper" or (self.row and self.fits):
            return ""
        return " (differs)" if self.row else " (no row)"
