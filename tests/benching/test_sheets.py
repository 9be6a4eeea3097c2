"""Tables: engines kept apart, reasons for what is missing, foreign text escape."""

import pytest
from rich.console import Console

from mmerg.backends.protocol import Engine
from mmerg.benching.backbones import Skipped
from mmerg.benching.drawn import Bench, marks, notes, sheet
from mmerg.benching.measure import Memory, Speed, memory_of, of_paper, paper_table
from mmerg.console.tables import as_markdown
from tests.benching.parts import bench, row, score, seeds, speed


def printed(made: Bench, width: int = 120) -> str:
    out = Console(width=width, record=True, file=None, quiet=True)
    with out.capture() as caught:
        out.quiet = False
        out.print(sheet(made))
    return caught.get()


def cells(made: Bench, row: int) -> dict[str, list[str]]:
    """The lines of each cell of a row, by their head."""
    drawn = sheet(made)
    return {head: cell.split("\n") for head, cell in zip(drawn.heads, drawn.rows[row], strict=True)}


def test_rows_of_other_engines_are_marked() -> None:
    made = bench(row("a"), row("b", "0.33.0"), row("c"))
    assert marks(made.rows) == {"ollama 0.24.0": "(a)", "ollama 0.33.0": "(b)"}
    assert [line[0] for line in sheet(made).rows] == ["a (a)", "b (b)", "c (a)"]
    told = list(notes(made))
    assert "(a) ollama 0.24.0" in told
    assert "(b) ollama 0.33.0" in told
    assert "speeds of (a), (b) are of different engines: they do not compare" in told
    assert not any("do not compare" in note for note in notes(bench(row("a"), row("c"))))


def test_what_is_missing_has_its_reason() -> None:
    bare = row(
        "bare",
        scores={"acc": score("acc", None, 0, "no sample has a label")},
        speed=Speed(why="every call came from the reply cache"),
        memory=Memory(why="the model is not loaded now"),
    )
    made = bench(bare, row("whole"))
    found = cells(made, 0)
    missing = {head for head, lines in found.items() if lines[0] == "–"}
    assert missing == {"acc ↑", "dist2 ↑", "s/sample", "tok/s", "memory"}
    told = list(notes(made))
    assert "bare: acc: no sample has a label" in told
    assert "bare: speed: every call came from the reply cache" in told
    assert "bare: memory: the model is not loaded now" in told
    assert not any(note.startswith("whole:") for note in told)


def test_the_papers_row_stands_below_ours() -> None:
    figures, of = of_paper("gemma3-12b")
    made = bench(row("gemma3-12b", paper=figures, paper_of=of))
    [ours, paper] = sheet(made).rows
    assert ours[:2] == ("gemma3-12b (a)", "yes")
    assert paper[:7] == ("· the paper's (IEMOCAP, n=31)", "", "83.87", "1.21", "40.19", "83.86", "84.97")
    assert f"the paper's: {paper_table().source}: {paper_table().title}" in list(notes(made))
    assert "bert_f1 takes a model of its own: --bert" in list(notes(made))
    assert of_paper("another") == ({}, "")


def test_spill_and_failures_are_shown() -> None:
    made = bench(row(failed=3, unaudited=4, failures={"empty": 1, "truncated": 2}))
    found = cells(made, 0)
    assert found["samples"] == ["50", "3 failed", "1 empty", "2 truncated", "4 unaudited"]
    assert found["calls"][:2] == ["250", "0 cached"]
    assert found["memory"] == ["1.00 GiB", "50 % on CPU"]
    assert found["model"][1:] == ["d" * 12, "context 8192"]


def test_seconds_over_fewer_samples_say_which_are_not_in_them() -> None:
    few = Speed(calls=9, samples=40, median=1.0, p25=1.0, p75=1.0, p95=1.0, helped=7)
    made = bench(row("part", failed=3, speed=few), row("whole"))
    assert [cells(made, row)["s/sample"][2] for row in (0, 1)] == ["of 40", "of 50"]
    told = list(notes(made))
    assert "part: s/sample is of 40 of 50 samples: 3 failed, 7 had replies from the cache" in told
    assert not any(note.startswith("whole:") for note in told)


def test_a_row_without_scores_keeps_its_speed_and_says_why() -> None:
    made = bench(row("x", scores={}, scores_why="the disk is full (runs/x)"), row("y"))
    found = cells(made, 0)
    assert (found["acc ↑"], found["dist2 ↑"]) == (["–"], ["–"])
    assert found["s/sample"][:2] == ["10.00", "p95 20.00"]
    assert "x: no quality: the disk is full (runs/x)" in list(notes(made))


def test_the_mean_over_seeds_stands_below_its_rows() -> None:
    made = bench(*seeds(40.0, 50.0, 60.0), row("other"))
    names = [row[0] for row in sheet(made).rows]
    assert names == ["x seed 0 (a)", "x seed 1 (a)", "x seed 2 (a)", "· mean of 3 (a)", "other (a)"]
    found = cells(made, 3)
    assert (found["acc ↑"], found["dist2 ↑"]) == (["50.00 ± 10.00"], ["–"])
    assert found["s/sample"] == ["11.00 ± 1.00", "p95 22.00 ± 2.00"]
    assert "mean of N: over runs that differ in their seed alone, sd: standard deviation over these" in list(
        notes(made)
    )


@pytest.mark.parametrize("width", [50, 80, 120])
def test_no_figure_is_cut_and_no_line_too_long(width: int) -> None:
    columns = ("acc", "self_ppl", "ref_ppl", "dist1", "dist2", "bert_f1")
    long = row(
        "a-model-with-a-very-long-name-for-a-page",
        speed=speed(1234.5),
        failed=50,
        failures={"thinking_exhausted": 49, "context_overflow": 1},
        scores={column: score(column, 95.0) for column in columns},
        num_ctx=262144,
        samples=13708,
        calls=123456,
        memory=Memory(size=120 * 2**30, on_gpu=0, context=262144, of="model at http://h"),
        paper=of_paper("gemma3-12b")[0],
        paper_of=of_paper("gemma3-12b")[1],
    )
    made = bench(long)
    told = printed(made, width)
    assert max(map(len, told.splitlines())) <= width
    words = set(told.split())
    for line in sheet(made).rows:
        assert {word for cell in line[1:] for word in cell.split()} <= words


def test_what_the_table_was_asked_for_is_told() -> None:
    made = bench(row(), settings=("memory=none", "seed=4"), figures=("--level response",))
    for told in (printed(made), as_markdown(sheet(made))):
        assert "settings: memory=none seed=4" in told
        assert "figures: --level response" in told
    assert "settings:" not in printed(bench(row()))


def test_skipped_backbones_are_listed_with_what_to_do() -> None:
    made = bench(skipped=[Skipped(name="x", why="x:1 is not pulled", next="ollama pull x:1")])
    assert "ollama pull x:1" in printed(made)
    assert "- left out: x: x:1 is not pulled; ollama pull x:1" in as_markdown(sheet(made))
    assert sheet(made).rows[0][:2] == ("x", "no")


def test_foreign_text_steers_nothing() -> None:
    hostile = "a\u202e\x1b[31m[bold]|<b>"
    made = bench(row(hostile, scores={"acc": score("acc", None, 0, hostile)}))
    assert not set(printed(made)) & {"\u202e", "\x1b"}
    markdown = as_markdown(sheet(made))
    assert "<b>" not in markdown
    assert "\x1b" not in markdown


def served(backend: str) -> Engine:
    return Engine(backend=backend, version="1", model="m", digest="d")


def test_memory_without_a_server_that_tells() -> None:
    hosts = ["http://127.0.0.1:1"]
    assert memory_of(hosts, served("embedded"), 1).size
    assert memory_of(hosts, served("embedded"), 0).why == "the model was not loaded: no call had to be made"
    assert memory_of(hosts, served("other"), 1).why == "other does not tell"
    assert "no Ollama server answers" in memory_of(hosts, served("ollama"), 1).why
