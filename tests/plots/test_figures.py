"""The texts of figures do not overlap, lie inside the figure, and are large enough, for any data and labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mmerg.console.terminal import printable
from mmerg.plots import style
from mmerg.plots.blame import PASSED, UNAUDITED, UNFINISHED, draw_blame
from mmerg.plots.dots import draw_scores
from mmerg.plots.matrix import draw_matrix
from mmerg.plots.run_data import TITLES, RunData
from mmerg.runs.manifest import RunRef
from tests.plots.audited_runs import build, score
from tests.plots.boxes import drawn_texts, outside, overlaps
from tests.scoring.run_builder import make_manifest

CAPTION = "meld test · targets=last emotions=all, n=268, 12 dialogues without a history · merg · qwen3.5-27b"
MANY = [f"{word}-{number}" for number in range(3) for word in ("anger", "anticipating", "joy", "embarrassed")]
HOSTILE = [
    "$\\frac{1}$",
    "a\nb\tc",
    "\x1b[31m\u202e",
    "悲しみ",
    "😀 joy",
    "x" * 300,
    "\ud800",
    "",
    "%s {0} & <b>",
]


@pytest.fixture(autouse=True)
def styled() -> Iterator[None]:
    with style.styled():
        yield


def check(figure: Figure | None) -> None:
    """Checks what holds for all figures."""
    assert figure
    texts = drawn_texts(figure)
    assert not overlaps(texts)
    assert not outside(texts, figure)
    assert min(size for _, _, size in texts) >= style.SMALL
    assert figure.get_size_inches()[0] >= style.WIDTH


def counts(rows: list[str], columns: list[str], most: int) -> pd.DataFrame:
    numbers = np.arange(len(rows) * len(columns)).reshape(len(rows), len(columns))
    return pd.DataFrame((numbers * 7919) % (most + 1), list(map(printable, rows)), list(map(printable, columns)))


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")  # of fonts that are not installed
@pytest.mark.parametrize(
    ("rows", "columns", "most"),
    [
        (MANY[:1], MANY[:1], 0),
        (HOSTILE, HOSTILE[:5], 9999),
        (MANY[:12], MANY[:7], 42),
    ],
)
def test_a_matrix_of_any_size(rows: list[str], columns: list[str], most: int) -> None:
    table = counts(rows, columns, most)
    check(draw_matrix(table, "Tone by forecast emotion", CAPTION, "forecast emotion", "tone", apart=1))


def test_a_matrix_shows_counts_and_colours_cells_by_their_share_of_the_row() -> None:
    table = pd.DataFrame([[3, 1, 0], [0, 0, 0]], ["joy", "fear"], ["gentle", "firm", "blunt"])
    axes = draw_matrix(table, "t", "c", "r", "c").axes[0]
    assert [(text.get_text(), text.get_position()) for text in axes.texts] == [("3", (0.5, 0.5)), ("1", (1.5, 0.5))]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["joy  n=4", "fear  n=0"]
    shares = axes.collections[0].get_array()
    assert shares is not None
    assert np.ravel(shares).tolist() == [75, 25, 0, 0, 0, 0]


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
@pytest.mark.parametrize(("passes", "stages"), [(1, ["mpa", "caef"]), (5, HOSTILE)])
def test_bars_of_any_number_of_passes(passes: int, stages: list[str], tmp_path: Path) -> None:
    verdicts = [*map(printable, stages), PASSED, UNAUDITED, UNFINISHED]
    table = pd.DataFrame({t: [(t + 1) * k for k in range(len(verdicts))] for t in range(passes)}, verdicts)
    check(draw_blame(table, scored(tmp_path, "run")))


def scored(
    folder: Path, name: str, value: float | None = 62.0, metrics: tuple[str, ...] = tuple(TITLES), **config: Any
) -> RunData:
    """A run on IEMOCAP whose metrics all have this value; if it is None, the run has no scores."""
    settings = {"system": {"name": "merg"}, "backbone": {"name": name.partition("-")[0]}} | config
    run = build(folder / name, [], corpus="iemocap", model="tiny", config=settings)
    if value is not None:
        score(run, dict.fromkeys(metrics, (value, 31)), half=8.0)
    return RunData(RunRef(run, make_manifest([], corpus="iemocap", model="tiny", config=settings)), name)


@pytest.mark.parametrize(
    ("count", "metrics", "value"),
    [(1, ("acc",), 62.1), (6, tuple(TITLES), 0.0), (2, tuple(TITLES), 1e6)],
)
def test_dots_of_any_number_of_runs(count: int, metrics: tuple[str, ...], value: float, tmp_path: Path) -> None:
    runs = [scored(tmp_path, f"run-{number}", value + 3 * number, metrics) for number in range(count)]
    bare = scored(tmp_path, "not-scored", None)
    figure = draw_scores([*runs, bare])
    check(figure)
    assert figure
    assert figure.get_supxlabel().replace("\n", " ").endswith(f"1 of {count + 1} runs not scored")
    assert draw_scores([bare]) is None
