"""Planted faults of a run: how often its auditor passes what is clean, finds what is planted, and blames its stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmerg.auditing.planted import COLUMNS, Planted
from mmerg.plots import dots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Planted faults: what the auditor passes, finds and blames"


def draw(found: Planted, caption: str) -> Figure:
    """A panel a figure, a row a stage."""
    scores = {f"{head}, %": [of[name] for of in found.figures.values()] for name, head in COLUMNS.items()}
    return dots.panels(scores, list(found.figures), TITLE, caption)
