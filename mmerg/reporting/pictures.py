"""The plots of a run, as SVG files of a report, with what they show in words for who cannot see them.

Drawn by `mmerg.plots`; here is only which, from what, and under which name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mmerg.plots import blame, dots, matrix
from mmerg.plots.scored import Scored, caption, with_any
from mmerg.runs.labels import labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mmerg.reporting.overview import Overview
    from mmerg.scoring.comparisons import Pair
    from mmerg.scoring.paired import Comparison


class Picture(NamedTuple):
    """A plot by its file's name, and what it shows."""

    name: str
    alt: str
    figure: Figure


def of_run(overview: Overview, blamed: blame.Blame) -> Iterator[Picture]:
    """Those that the run has something for; what a table of its page holds in full is not drawn again."""
    about = overview.about
    told = caption([about])
    for dimension in ("tone", "stance"):
        if figure := matrix.draw_plans(about, overview.results, dimension):
            yield Picture(dimension, f"How often each {dimension} was planned for each forecast emotion", figure)
    if blamed.audits:
        yield Picture("blame", f"{blame.TITLE}; the table beside it has the counts", blame.draw(blamed, told))
    if overview.planted:
        alt = f"{dots.PLANTED}; the table beside it has the same numbers"
        yield Picture("planted", alt, dots.planted(overview.planted, told))
    yield from of_runs([overview])


def of_runs(
    overviews: Sequence[Overview], compared: Sequence[tuple[Pair, Sequence[Comparison]]] = ()
) -> Iterator[Picture]:
    """Figures side by side, and differences from the first run, where there are any."""
    abouts = [overview.about for overview in overviews]
    short = labels(abouts)
    differences = {label: found for label, (_, found) in zip(short[1:], compared, strict=False)}
    if figure := dots.forest(differences, f"Differences from {short[0]}, with 95 % intervals", caption(abouts)):
        yield Picture("differences", "Differences with 95 % intervals; the tables below have the same numbers", figure)
    scored = [Scored(overview.about, overview.scores) for overview in overviews]
    if not with_any(scored):
        return
    alt = f"{dots.FIGURES}; the table of figures has the same numbers"
    yield Picture("scores", alt, dots.draw(scored, short, caption(abouts)))
