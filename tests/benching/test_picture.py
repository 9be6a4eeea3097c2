"""The plot: which panels there are, and that nothing of it lies over something else."""

from pathlib import Path

import pytest

from mmerg.benching.drawn import Bench, picture
from mmerg.benching.measure import Speed
from mmerg.plots import style
from tests.benching.parts import bench, row, score, speed
from tests.plots.boxes import outside, overlaps


def many(count: int) -> Bench:
    rows = [row(f"a-backbone-of-some-length-{n}", str(n % 2), speed=speed(1.0 + n % 3)) for n in range(count)]
    return bench(*rows)


def panels(made: Bench) -> list[str]:
    with style.styled():
        figure = picture(made)
        assert figure
        return [axes.get_title(loc="left") for axes in figure.axes]


def test_bertscore_takes_the_second_panel_where_there_is_one() -> None:
    assert panels(bench(row())) == ["Accuracy, %", "Distinct-2, %", "Seconds a sample"]
    scored = row(scores={name: score(name, 50.0) for name in ("acc", "dist2", "bert_f1")})
    assert panels(bench(scored)) == ["Accuracy, %", "BERT F1, %", "Seconds a sample"]
    assert panels(bench(row(scores={"dist2": score("dist2", 3.0)}))) == ["Distinct-2, %", "Seconds a sample"]


def test_without_times_there_is_nothing_to_draw() -> None:
    assert picture(bench(row(speed=Speed(why="cached")))) is None


@pytest.mark.parametrize("value", [0.0, 50.0, 100.0])
def test_no_share_below_0_or_over_100_is_written(value: float) -> None:
    with style.styled():
        figure = picture(bench(row(scores={"acc": score("acc", value, why="one dialogue")})))
        assert figure
        ticks = figure.axes[0].get_xticks()
    assert len(ticks)
    assert 0.0 <= min(ticks) <= value <= max(ticks) <= 100.0


@pytest.mark.parametrize("count", [1, 6, 25])
def test_no_two_texts_overlap_and_all_are_inside(count: int) -> None:
    with style.styled():
        figure = picture(many(count))
        assert figure
        assert not outside(figure)
        assert not overlaps(figure)


def test_the_same_bench_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with style.styled():
            figure = picture(many(3))
            assert figure
            for ending in (".png", ".svg"):
                style.write(figure, tmp_path / f"{name}{ending}")
    for ending in (".png", ".svg"):
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()
