"""Every figure holds its texts apart, inside, and large enough to read, with few data, many, none, and odd labels."""

import io
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from mmerg.plots import blame, curve, dots, matrix, style
from mmerg.plots.scored import TITLES, Scored, measured_apart
from mmerg.runs.manifest import About
from mmerg.scoring.paired import Comparison
from mmerg.scoring.score import Confusion, Score, Scores
from tests.plots.boxes import outside, overlaps, smallest
from tests.scoring.run_builder import LABELS, manifest_of

CAPTION = "meld test · targets=last emotions=all, n=268, 12 dialogues without a history · merg · qwen3.5-27b"
MANY = tuple(f"{word}-{number}" for number in range(8) for word in ("anger", "anticipating", "joy", "embarrassed"))
HOSTILE = (
    "$\\frac{1}$",
    "a\nb\tc",
    "\x1b[31m\u202e",
    "悲しみ",
    "😀 joy",
    "حزن",
    "x" * 300,
    "\ud800",
    "",
    "%s {0} & <b>",
)


def check(figure: Figure) -> None:
    """What holds for all figures."""
    assert not overlaps(figure)
    assert not outside(figure)
    assert smallest(figure) >= style.SMALL
    assert figure.get_size_inches()[0] >= style.WIDTH


def counts(rows: int, columns: int, most: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    numbers = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    return (numbers * 7919) % (most + 1)


@pytest.mark.parametrize(
    ("rows", "columns", "most"),
    [
        *((MANY[:1], MANY[:1], most) for most in (0, 9999)),
        *((MANY[:7], MANY[:12], most) for most in (0, 1, 42, 9999)),
        *((HOSTILE, HOSTILE, most) for most in (0, 9999)),
        (MANY, MANY, 9999),
    ],
)
def test_a_map_of_any_size(rows: tuple[str, ...], columns: tuple[str, ...], most: int) -> None:
    with style.styled():
        table = matrix.Matrix(rows, columns, counts(len(rows), len(columns), most), apart=1)
        check(matrix.draw(table, "Tone by forecast emotion", CAPTION, "forecast emotion", "tone"))


def test_few_columns_fit_a_column_of_a_paper() -> None:
    with style.styled():
        table = matrix.Matrix(LABELS, (*LABELS, "failed"), counts(7, 8, 99))
        assert matrix.draw(table, "t", CAPTION, "r", "c").get_size_inches()[0] == style.WIDTH


def test_a_map_says_counts_and_colours_shares() -> None:
    table = matrix.Matrix(("joy", "fear"), ("gentle", "firm", "blunt"), np.array([[3, 1, 0], [0, 0, 0]]))
    assert table.n.tolist() == [4, 0]
    np.testing.assert_array_equal(table.shares, [[75, 25, 0], [np.nan] * 3])
    with style.styled():
        axes = matrix.draw(table, "t", "c", "r", "c").axes[0]
    assert [(text.get_text(), text.get_position()) for text in axes.texts] == [("3", (0.5, 0.5)), ("1", (1.5, 0.5))]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["joy  n=4", "fear  n=0"]


def test_failures_are_a_column_apart() -> None:
    table = matrix.of_confusion(Confusion(labels=("joy", "fear"), counts=((2, 1), (0, 3)), failed=(4, 0)))
    assert table.columns == ("joy", "fear", "failed")
    assert table.counts.tolist() == [[2, 1, 4], [0, 3, 0]]
    assert (table.n.tolist(), table.apart) == ([7, 3], 1)


@pytest.mark.parametrize("passes", [1, 3, 7])
@pytest.mark.parametrize("stages", [("mpa", "caef", "psp", "sgrg"), HOSTILE])
def test_bars_of_any_number_of_passes(passes: int, stages: tuple[str, ...]) -> None:
    verdicts = (*stages, blame.PASSED, blame.UNAUDITED, blame.UNFINISHED)
    every = tuple({verdict: (t + 1) * k for k, verdict in enumerate(verdicts)} for t in range(passes))
    with style.styled():
        check(blame.draw(blame.Blame(verdicts, every), CAPTION))


def test_a_bar_that_is_all() -> None:
    with style.styled():
        figure = blame.draw(blame.Blame(("mpa", blame.PASSED), ({"mpa": 0, blame.PASSED: 12345},)), CAPTION)
        check(figure)
        assert [patch.get_width() for patch in figure.axes[1].patches] == [0, 100]  # type: ignore[attr-defined]


def scored(name: str, value: float = 62.0, metrics: tuple[str, ...] = tuple(TITLES), **config: object) -> Scored:
    settings = {"system": {"name": "merg"}, "backbone": {"name": name}} | config
    about = About(Path(name), manifest_of([], corpus="iemocap", model=name, config=settings))
    figures = {m: Score(name=m, value=value, n=31, interval=(value - 8, value + 9)) for m in metrics}
    scores = Scores(run=name, corpus="iemocap", protocol="p", engine="e", n=31, failed=0, unfinished=0, scores=figures)
    return Scored(about, scores)


@pytest.mark.parametrize(
    ("count", "metrics", "value"),
    [
        *((count, metrics, 62.1) for count in (1, 2, 12) for metrics in (("acc",), ("acc", "dist1"), tuple(TITLES))),
        *((count, tuple(TITLES), value) for count in (1, 12) for value in (0.0, 1e6)),
    ],
)
def test_dots_of_any_number_of_runs(count: int, metrics: tuple[str, ...], value: float) -> None:
    runs = [scored(f"run-{number}", value + 3 * number, metrics) for number in range(count - 1)]
    bare = Scored(runs[0].about, None, "not scored") if runs else scored("only", value, metrics)
    with style.styled():
        names = [f"qwen2.5vl-7b self-refine {number}" for number in range(count)]
        check(dots.draw([*runs, bare], names, CAPTION))


def test_differences_are_read_from_a_line_at_zero() -> None:
    def compared(metric: str, difference: float | None) -> Comparison:
        return Comparison(metric=metric, a="a", b="b", n=5, dialogues=5, left_out=0, difference=difference)

    figure = dots.forest({"b": [compared("acc", -10.0), compared("self_ppl", 3.0)], "c": []}, "title", "caption")
    assert figure
    [left, right] = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["Accuracy"]  # a perplexity has another unit
    assert all(axes.get_xlim()[0] < 0 < axes.get_xlim()[1] for axes in (left, right))
    assert dots.forest({"b": [compared("acc", None)]}, "title", "caption") is None


@pytest.mark.parametrize(("shown", "low", "high"), [([50.0, 50.0], 47.5, 52.5), ([0.0], -1, 1), ([0, 10], -1.2, 11.2)])
def test_an_axis_has_room_also_where_all_values_are_equal(shown: list[float], low: float, high: float) -> None:
    assert style.limits(shown) == pytest.approx((low, high))


def test_dots_with_odd_names() -> None:
    with style.styled():
        check(dots.panels({"Accuracy, %": [None] * len(HOSTILE)}, HOSTILE, "\n$x$ " * 30, " ".join(HOSTILE)))


def iterated(backbone: str, values: tuple[int, ...]) -> list[Scored]:
    return [scored(backbone, 60.0 + x, system={"name": "merg", "max_iterations": x}) for x in values]


@pytest.mark.parametrize("metrics", [("acc",), tuple(TITLES)])
@pytest.mark.parametrize("backbones", [("a",), ("a", "b", "c", "d", "e", "f")])
def test_curves_of_any_number_of_series(backbones: tuple[str, ...], metrics: tuple[str, ...]) -> None:
    runs = [run for k, name in enumerate(backbones) for run in iterated(name, (1, 2, 6))]
    for number, run in enumerate(runs):
        run.about.manifest.settings["system"]["name"] = backbones[number // 3]
    paper = curve.of_paper(runs, "max_iterations")
    assert paper
    with style.styled():
        series = curve.series(runs, "max_iterations")
        assert len(series) == len(backbones)
        check(curve.draw(series, metrics, "max_iterations", CAPTION, paper[0]))


def test_a_series_is_runs_that_differ_in_the_setting_alone() -> None:
    runs = [*iterated("a", (3, 1)), scored("b", 9.0, system={"name": "merg", "max_iterations": 1, "prompts": "other"})]
    first, second = curve.series(runs, "max_iterations")
    assert [(point.x, point.value, point.interval, point.n) for point in first.points["acc"]] == [
        (1, 61.0, (53.0, 70.0), 31),
        (3, 63.0, (55.0, 72.0), 31),
    ]
    assert [(point.x, point.value) for point in second.points["acc"]] == [(1, 9.0)]
    assert (first.name, second.name) == ("a", "b")


def remembering(name: str, k: int, **memory: object) -> Scored:
    system = {"name": "merg", "stages": {"psp": {"sees": ["M"]}}}
    node = {"top_k": k, **memory}
    return scored(name, 50.0 + k, system=system, memory=node, sources={"M": node}, backbone={"name": "b"})


def test_runs_of_another_memory_are_another_series_and_share_the_one_without_exemplars() -> None:
    keys = ("history", "situation")
    runs = [remembering("none", 0), *(remembering(f"{key}{k}", k, key={"text": key}) for key in keys for k in (1, 2))]
    found = curve.series(runs, "top_k")
    assert [[point.x for point in one.points["acc"]] for one in found] == [[0, 1, 2], [0, 1, 2]]
    other = replace(
        runs[1], about=About(Path("z"), runs[1].about.manifest.model_copy(update={"identity": {"engine": "other"}}))
    )
    assert len(curve.series([*runs[:3], other], "top_k")) == 2
    assert [point.x for point in curve.series(runs[:1], "top_k")[0].points["acc"]] == [0]


def test_figures_that_were_not_measured_in_one_way_are_named() -> None:
    one, other = scored("a"), scored("b")
    assert other.scores
    assert measured_apart([one, other]) == ""
    changed = other.scores.scores["dist1"].model_copy(update={"signature": "tok:13a"})
    scores = other.scores.model_copy(update={"scores": other.scores.scores | {"dist1": changed}})
    assert measured_apart([one, replace(other, scores=scores)]).endswith("(see signatures): Distinct-1, %")


def test_the_paper_stands_beside_runs_of_its_corpus_alone() -> None:
    found = curve.of_paper([scored("a")], "top_k")
    assert found
    assert [(point.x, point.value, point.n) for point in found[0].points["acc"]][:2] == [(0, 74.2, 31), (1, 83.87, 31)]
    other = Scored(About(Path("m"), manifest_of([], corpus="meld")), None)
    assert curve.of_paper([other], "top_k") is None


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_the_same_figure_gives_the_same_bytes_and_names_no_program_or_time(ending: str, tmp_path: Path) -> None:
    table = matrix.Matrix(("joy",), ("gentle",), np.array([[3]]))
    for name in "ab":
        with style.styled():
            style.write(matrix.draw(table, "t", CAPTION, "r", "c"), tmp_path / f"{name}{ending}")
    data = (tmp_path / f"a{ending}").read_bytes()
    assert data == (tmp_path / f"b{ending}").read_bytes()
    assert not [
        word
        for word in (b"dc:date", b"dc:creator", b"Software", b"tIME", b"CreationDate", b"/Producer", b"/Creator")
        if word in data
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a{ending}", f"b{ending}"]


def test_a_users_settings_are_neither_used_nor_changed() -> None:
    table = matrix.Matrix(("joy",), ("gentle",), np.array([[3]]))

    def drawn() -> bytes:
        data = io.BytesIO()
        with style.styled():
            matrix.draw(table, "t", CAPTION, "r", "c").savefig(data, format="png", metadata={"Software": None})
        return data.getvalue()

    usual = drawn()
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red"}):
        assert drawn() == usual
        assert mpl.rcParams["font.size"] == 20


def test_labels_stay_on_a_line_and_within_what_the_font_has() -> None:
    assert style.label("a\nb\t c") == "a b c"
    assert style.label("悲しみ") == "\\u60b2\\u3057\\u307f"
    assert style.label("x" * 30) == "x" * (style.LONGEST - 1) + "…"
    assert style.label("Zärtlich, печаль") == "Zärtlich, печаль"
