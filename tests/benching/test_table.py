"""The table and the plot: engines told, reasons for what is missing, means over seeds alone, foreign text escaped."""

from pathlib import Path

import pytest
from rich.console import Console

from mmerg.benching.backbones import Skipped
from mmerg.benching.measure import Row
from mmerg.benching.table import Bench, picture, sheet, write
from mmerg.console.tables import as_markdown
from mmerg.plots import style
from mmerg.scoring.score import Score
from tests.benching.parts import bench, row, score
from tests.plots.boxes import drawn_texts, outside, overlaps


def printed(made: Bench, width: int = 120) -> str:
    out = Console(width=width, record=True, quiet=True)
    with out.capture() as caught:
        out.quiet = False
        out.print(sheet(made))
    return caught.get()


def cells(made: Bench, number: int = 0) -> dict[str, str]:
    """The cells of a row, by their head."""
    drawn = sheet(made)
    return dict(zip(drawn.heads, drawn.rows[number], strict=True))


def test_a_row_has_quality_cost_and_availability() -> None:
    found = cells(bench(row("x", failed=3, unaudited=4, cached=2)))
    assert found["backbone"] == "x"
    assert found["available"] == "yes"
    assert found["acc ↑"] == "50.00\n45.00–55.00"
    assert found["samples"] == "50\n3 failed\n4 unaudited"
    assert found["calls"] == "250\n2 cached"
    assert found["model"] == "x\ndddddddddddd\ncontext 8192"
    assert found["engine"] == "ollama 0.24.0"


def test_speeds_of_other_engines_do_not_compare() -> None:
    told = "speeds of different engines do not compare"
    assert told in sheet(bench(row("a"), row("b", "0.33.0"))).notes
    assert told not in sheet(bench(row("a"), row("c"))).notes


def test_what_is_missing_has_its_reason() -> None:
    lacking = {"acc": "no sample has a label", "seconds": "every call came from the cache", "GiB": "it is not loaded"}
    bare = row("bare", "1", 0, *(score(name, None, 0, why) for name, why in lacking.items()))
    made = bench(bare, row("whole"))
    assert {head for head, cell in cells(made).items() if cell == "–"} == {"acc ↑", "seconds ↓", "GiB ↓"}
    for name, why in lacking.items():
        assert f"bare: {name}: {why}" in sheet(made).notes
    assert not any("whole" in note for note in sheet(made).notes)


def test_what_a_reader_must_know_of_a_backbone_is_told() -> None:
    notes = sheet(bench(row("smollm2-135m"), row("own", generic=True), row("x", fault="the disk is full"))).notes
    assert "smollm2-135m: it shows the machinery, not the quality" in notes
    assert "own: there is no page of it: it runs as qwen2.5vl-7b is set" in notes
    assert "x: the disk is full" in notes


def test_the_papers_figures_stand_below_those_of_its_backbone() -> None:
    quality = [score(name, 50.0) for name in ("self_ppl", "dist1", "bert_f1")]
    [_, paper] = sheet(bench(row("gemma3-12b", "1", 0, *quality))).rows
    assert paper[:7] == ("· the paper's", "", "83.87", "1.21", "40.19", "83.86", "84.97")
    for other in (row("another"), row(model="another"), row(generic=True)):
        assert len(sheet(bench(other)).rows) == 1


def test_seeds_of_a_backbone_are_one_row_of_means() -> None:
    made = bench(*(row("x", "1", seed, score("acc", 40.0 + 10 * seed), failed=seed) for seed in range(3)), row("y"))
    assert [line[0] for line in sheet(made).rows] == ["x", "y"]
    assert cells(made)["acc ↑"] == "50.00 ± 10.00"
    assert cells(made)["samples"] == "150\n3 failed"
    assert "x: mean ± standard deviation over 3 seeds" in sheet(made).notes


@pytest.mark.parametrize(
    "other",
    [row("x", "0.33.0", seed=1), row("y", seed=1), row("x")],
    ids=["another version", "another backbone", "one seed twice"],
)
def test_no_mean_over_what_differs_in_more_than_its_seed(other: Row) -> None:
    assert len(sheet(bench(row("x"), other)).rows) == 2


@pytest.mark.parametrize("other", [score("acc", 50.0, 49), score("acc", None, 50)])
def test_a_figure_that_not_all_seeds_have_alike_has_no_mean(other: Score) -> None:
    assert cells(bench(row("x", "1"), row("x", "1", 1, other)))["acc ↑"] == "–"


@pytest.mark.parametrize("width", [50, 120])
def test_no_figure_is_cut_and_no_line_too_long(width: int) -> None:
    names = ("acc", "self_ppl", "ref_ppl", "dist1", "dist2", "bert_f1", "seconds", "seconds p95", "reply tok/s", "GiB")
    long = [score(name, 1234.5) for name in names]
    made = bench(row("a-model-with-a-very-long-name-for-a-page", "1", 0, *long, calls=123456), row())
    told = printed(made, width)
    assert max(map(len, told.splitlines())) <= width
    words = set(told.split())
    for line in sheet(made).rows:
        assert {word for cell in line[1:] for word in cell.split()} <= words


def test_what_was_asked_for_and_what_was_skipped_are_told() -> None:
    skipped = Skipped("x", "x:1 is not pulled", "ollama pull x:1")
    made = bench(row(), settings=("memory=none", "seed=4"), skipped=[skipped])
    for told in (printed(made), as_markdown(sheet(made))):
        assert "settings: memory=none seed=4" in told
        assert "left out: x: x:1 is not pulled; ollama pull x:1" in told
    assert sheet(made).rows[-1][:3] == ("x", "no", "–")


def test_foreign_text_steers_nothing() -> None:
    hostile = "a\u202e\x1b[31m[bold]|<b>"
    made = bench(row(hostile, "1", 0, score("acc", None, 0, hostile)))
    assert not set(printed(made)) & {"\u202e", "\x1b"}
    assert "<b>" not in as_markdown(sheet(made))


def panels(*rows: Row) -> list[str]:
    with style.styled():
        figure = picture(rows)
        assert figure
        texts = drawn_texts(figure)
        assert not outside(texts, figure)
        assert not overlaps(texts)
        return [axes.get_title(loc="left") for axes in figure.axes]


def test_bertscore_takes_the_second_panel_where_there_is_one() -> None:
    assert panels(row()) == ["Accuracy, %", "Distinct-2, %", "Seconds a sample"]
    assert panels(row("x", "1", 0, score("bert_f1", 50.0))) == ["Accuracy, %", "BERT F1, %", "Seconds a sample"]
    assert panels(row("x", "1", 0, score("acc", None))) == ["Distinct-2, %", "Seconds a sample"]


def test_names_of_many_backbones_do_not_overlap_in_the_plot() -> None:
    panels(*(row(f"a-backbone-of-some-length-{n}", str(n % 2), 0, score("seconds", 1 + n % 3)) for n in range(12)))


def test_a_table_without_times_has_no_plot_and_removes_an_earlier_one(tmp_path: Path) -> None:
    assert [file.name for file in write(tmp_path, bench(row()))] == ["bench.md", "bench.csv", "bench.png", "bench.svg"]
    before = [file.read_bytes() for file in sorted(tmp_path.iterdir())]
    write(tmp_path, bench(row()))
    assert [file.read_bytes() for file in sorted(tmp_path.iterdir())] == before
    files = write(tmp_path, bench(row("x", "1", 0, score("seconds", None, 0, "cached"))))
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert len(files) == 2
