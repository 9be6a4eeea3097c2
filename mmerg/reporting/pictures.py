"""The plots of a run, as SVG files of a report, with what they show in words for who cannot see them.

Drawn by `mmerg.plots`; here is only which, from what, and under which name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mmerg.plots import blame
from mmerg.plots.blame import count_audits
from mmerg.plots.dots import draw_differences, draw_planted, draw_scores
from mmerg.plots.matrix import draw_plans
from mmerg.plots.run_data import describe_runs
from mmerg.runs.labels import labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from mmerg.reporting.overview import Overview
    from mmerg.scoring.comparisons import Pair
    from mmerg.scoring.paired import Comparison


class Picture(NamedTuple):
    """A plot by its file's name, and what it shows."""

    name: str
    alt: str
    figure: Figure


def of_run(overview: Overview, blamed: DataFrame) -> Iterator[Picture]:
    """Those that the run has something for; what a table of its page holds in full is not drawn again."""
    for field in ("tone", "stance"):
        if figure := draw_plans(overview, field):
            yield Picture(field, f"How often each {field} was planned for each forecast emotion", figure)
    if any(count_audits(blamed)):
        alt = f"{blame.TITLE}; the table beside it has the counts"
        yield Picture("blame", alt, blame.draw_blame(blamed, overview.about))
    if overview.planted:
        alt = "Planted faults: what the auditor passes, finds and blames; the table beside it has the same numbers"
        yield Picture("planted", alt, draw_planted(overview.about, overview.planted))
    yield from of_runs([overview])


def of_runs(
    overviews: Sequence[Overview], compared: Sequence[tuple[Pair, Sequence[Comparison]]] = ()
) -> Iterator[Picture]:
    """Figures side by side, and differences from the first run, where there are any."""
    names = labels([overview.about for overview in overviews])
    for overview, name in zip(overviews, names, strict=True):
        overview.label = name
    differences = {label: found for label, (_, found) in zip(names[1:], compared, strict=False)}
    title, caption = f"Differences from {names[0]}, with 95 % intervals", describe_runs([o.about for o in overviews])
    if figure := draw_differences(differences, title, caption):
        yield Picture("differences", "Differences with 95 % intervals; the tables below have the same numbers", figure)
    if figure := draw_scores(overviews):
        yield Picture("scores", "Figures with 95 % intervals; the table of figures has the same numbers", figure)
