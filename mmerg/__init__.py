"""Multimodal empathetic response generation with audited agents; importing it loads nothing.

tidy = mmerg.load("runs/meld-merg-…", "runs/meld-trace-…")
tidy.samples, tidy.passes, tidy.calls, tidy.scores, tidy.verdicts    # pandas data frames, a row a fact
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from mmerg.tidy.frames import Tidy


def load(*runs: str | os.PathLike[str]) -> Tidy:
    """What run folders hold, as data frames (see `mmerg.tidy.frames.Tidy`). Raises RunError where one is no run."""
    from mmerg.tidy.frames import load as load_runs

    return load_runs(runs)
