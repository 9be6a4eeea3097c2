"""A paper's table with runs below its rows."""

import io
from collections import Counter

import pytest
from rich.console import Console

from mmerg.console.tables import format_number
from mmerg.paper.published import NAMES, published
from mmerg.papertables.table import RunTable, TableRow, format_table, list_csv_rows
from mmerg.score import main as score
from mmerg.scoring.spread import Spread
from tests.compared_runs import edit_run
from tests.papertables.maker import Maker, match, rate, run_lines


def drawn_at(width: int, table: RunTable) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(format_table(table))
    return out.getvalue()


def means(drawn: RunTable) -> list[TableRow]:
    return [row for row in drawn.rows if row.by == "seeds"]


def test_tables_fit_the_terminal_and_keep_all_digits_and_names(make: Maker) -> None:
    run = make("r" * 60, right=31)
    rate(run, "x", 3.9)
    for name in NAMES:
        for number, paper in enumerate(published(name)[:1]):
            drawn = match(name, run, number=number)
            wanted = Counter(format_number(value) for row in paper.rows for value in row.scores if value is not None)
            values = (score.value for row in run_lines(drawn) for score in row.scores.values())
            wanted += Counter(format_number(value) for value in values if value)
            for width in (60, 100):
                shown = drawn_at(width, drawn)
                assert max(map(len, shown.splitlines())) <= width, name
                assert not wanted - Counter(shown.split())
                assert all(row.name in " ".join(shown.split()) for row in drawn.rows)


def test_runs_and_the_paper_s_accuracy_have_intervals_and_n(make: Maker) -> None:
    table = match("topk", make("run", right=24))
    cells = {row[0]: row[1 + table.paper.columns.index("acc")] for row in format_table(table).rows}
    assert cells["· run 1"] == "77.42\n60.19–88.60\nn=31"
    rows = list(list_csv_rows(table))
    assert len([row for row in rows if row["by"] == "paper"]) == 6 * 7
    [acc] = [row for row in rows if row["by"] == "ours" and row["metric"] == "acc"]
    assert (acc["run"], acc["n"], acc["value"]) == ("run", 31, 100 * 24 / 31)
    [paper] = [row for row in rows if row["row"] == "none" and row["metric"] == "acc"]
    assert (paper["value"], paper["n"], paper["method"]) == (74.2, 31, "wilson")
    assert "74.20 where 23 of 31 is 74.19" in str(paper["note"])


def test_a_row_names_a_split_that_papers_do_not_report(make: Maker) -> None:
    run = make("run")
    edit_run(run, lambda manifest: manifest["corpus"].update(split="dev"))
    assert [row.name for row in run_lines(match("topk", run))] == ["· run 1 (dev)"]


def test_seeds_have_a_mean_and_a_standard_deviation(make: Maker) -> None:
    runs = [make(f"seed{seed}", right=right, seed=seed) for seed, right in ((0, 20), (1, 22), (2, 24))]
    again, other = make("again", right=4, seed=1), make("other", "system.max_iterations=5", right=3, seed=3)
    cut, engine = make("cut", n=20, right=9, samples=31, seed=4), make("engine", right=9, seed=9)
    edit_run(engine, lambda manifest: manifest["identity"].update(engine="9"))
    score([str(engine), "--resamples", "20"])
    drawn = match("iterations", *runs, again, other, cut, engine)
    [mean] = means(drawn)
    assert mean.name == "· mean ± sd of runs 1, 2, 3"
    acc = mean.scores["acc"]
    assert isinstance(acc, Spread)
    assert [acc.value, acc.sd] == pytest.approx([100 * 22 / 31, 100 * 2 / 31])
    assert (acc.n, acc.interval) == (3, None)
    [cells] = [row for row in format_table(drawn).rows if row[0] == mean.name]
    assert cells[1 + drawn.paper.columns.index("acc")] == "70.97 ± 6.45"


def test_scores_measured_in_different_ways_have_no_mean(make: Maker) -> None:
    runs = [make("s0"), make("s1", seed=1)]
    score([str(runs[1]), "--resamples", "20", "--tokenizer", "whitespace"])
    [row] = means(match("topk", *runs))
    assert "dist1" not in row.scores
    assert row.scores["acc"].n == 2
