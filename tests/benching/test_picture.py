"""The plot: which panels there are, and that nothing of it lies over something else."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from mmerg.benching import picture
from mmerg.benching.measure import marked
from mmerg.benching.rows import Bench, Speed
from mmerg.plots import style
from tests.benching.parts import bench, row, score, speed


def many(count: int) -> Bench:
    rows = [row(f"a-backbone-of-some-length-{n}", str(n % 2), speed=speed(1.0 + n % 3)) for n in range(count)]
    return bench(*marked(rows))


def test_bertscore_takes_the_second_panel_where_there_is_one() -> None:
    assert picture.panels(bench(row()).rows) == ["acc", "dist2"]
    scored = row(scores={name: score(name, 50.0) for name in ("acc", "dist2", "bert_f1")})
    assert picture.panels([scored]) == ["acc", "bert_f1"]
    assert picture.panels([row(scores={"dist2": score("dist2", 3.0)})]) == ["dist2"]


def test_without_times_there_is_nothing_to_draw() -> None:
    assert picture.draw(bench(*marked([row(speed=Speed(calls=0, why="cached"))]))) is None


@pytest.mark.parametrize("value", [0.0, 50.0, 100.0])
def test_no_share_below_0_or_over_100_is_written(value: float) -> None:
    with style.styled():
        figure = picture.draw(bench(*marked([row(scores={"acc": score("acc", value, why="one dialogue")})])))
        assert figure
        [ticks, *_] = [axes.get_yticks() for axes in figure.axes]
    assert len(ticks)
    assert 0.0 <= min(ticks) <= value <= max(ticks) <= 100.0


@pytest.mark.parametrize("count", [1, 6, 25])
def test_no_two_texts_overlap_and_all_are_inside(count: int) -> None:
    with style.styled():
        figure = picture.draw(many(count))
        assert figure
        figure.savefig(io.BytesIO(), format="png", dpi=figure.dpi)
        hidden = {label for axes in figure.axes for label in _out_of_sight(axes)}
        texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text().strip()]
        extents = [(text.get_text(), text.get_window_extent()) for text in texts if text not in hidden]
        boxes = [(told, box) for told, box in extents if box.width > 1]  # what is not drawn has no room
    assert len(boxes) > count + 5
    for told, box in boxes:
        assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, told
    for (told, box), (other, another) in combinations(boxes, 2):
        assert not box.overlaps(another), (told, other)


def _out_of_sight(axes: Axes) -> Iterator[Text]:
    """Labels of ticks beyond an axis's ends, which are made and never drawn, and those that are switched off."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not (low <= tick.get_loc() <= high and axes.axison and tick.label1.get_visible()):
                yield from (tick.label1, tick.label2)


def test_the_same_bench_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with style.styled():
            figure = picture.draw(many(3))
            assert figure
            for ending in (".png", ".svg"):
                style.write(figure, tmp_path / f"{name}{ending}")
    for ending in (".png", ".svg"):
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()
