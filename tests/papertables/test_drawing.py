"""A paper's table with ours beside, drawn: no digit or name lost, and every form says where a run is not its row."""

import io
from collections import Counter
from typing import Any

import pytest
from rich.console import Console

from mmerg.console.tables import as_latex, as_markdown, figure
from mmerg.paper.published import NAMES, published
from mmerg.papertables.candidates import read_candidate
from mmerg.papertables.matched import MatchedTable, facts, sheet
from tests.papertables.maker import Maker, match, rate, run_lines


def drawn_at(width: int, table: MatchedTable) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(sheet(table))
    return out.getvalue()


def test_no_table_is_wider_than_its_terminal_or_loses_a_digit_or_a_name(make: Maker) -> None:
    run = make("r" * 60, backbone={"name": "a-backbone-with-quite-a-long-name"}, right=31)
    rate(run, "x", 3.9)
    runs = [read_candidate(one) for one in (run, *(make(f"s{seed}", seed=seed, right=31) for seed in range(2)))]
    for name in NAMES:
        for number, paper in enumerate(published(name)):
            drawn = match(name, *runs, number=number)
            wanted = Counter(figure(value) for row in paper.rows for value in row.figures if value is not None)
            values = (score.value for line in run_lines(drawn) for score in line.scores.values())
            wanted += Counter(figure(value) for value in values if value)
            for width in (60, 100):
                shown = drawn_at(width, drawn)
                assert max(map(len, shown.splitlines())) <= width, name
                assert "…" not in shown
                assert not wanted - Counter(shown.split())
                flat = " ".join(shown.split())
                assert all(line.name in flat for line in drawn.lines if line.by == "paper")


def test_a_run_stands_below_its_row_with_interval_and_n(make: Maker) -> None:
    table = match("topk", make("run", right=24))
    [line] = [row for row in sheet(table).rows if row[0] == "· run 1"]
    assert line[1 + table.paper.columns.index("acc")] == "77.42\n60.19–88.60\nn=31"
    assert "source: MERG, arXiv 2604.18988" in sheet(table).notes[0]
    assert [note for note in sheet(table).notes if note.startswith("ours, dist1: n:1|")]


def test_facts_have_a_figure_a_row(make: Maker) -> None:
    rows = list(facts(match("topk", make("run"))))
    assert len([row for row in rows if row["by"] == "paper"]) == 6 * 7
    [acc] = [row for row in rows if row["by"] == "ours" and row["metric"] == "acc"]
    assert (acc["row"], acc["fits"], acc["run"], acc["n"]) == ("1", "true", "run", 31)
    assert acc["value"] == 100 * 24 / 31
    [paper] = [row for row in rows if row["by"] == "paper" and row["row"] == "none" and row["metric"] == "acc"]
    assert (paper["value"], paper["fits"], paper["n"], paper["method"]) == (74.2, "", 31, "wilson")
    assert "74.20 where 23 of 31 is 74.19" in str(paper["note"])


@pytest.mark.parametrize("changes", [{"dataset": {"name": "meld"}}, {"max_iterations": 5}])
def test_every_form_says_where_a_run_and_its_mean_are_not_the_rows(changes: dict[str, Any], make: Maker) -> None:
    drawn = match("topk", *(make(f"seed{seed}", seed=seed, **changes) for seed in (0, 1)))
    names = [cells[0] for cells in sheet(drawn).rows]
    for name in ("run 1", "mean of runs 1, 2"):
        assert f"· {name} (differs)" in names
    for text in (drawn_at(120, drawn), as_markdown(sheet(drawn)), as_latex(sheet(drawn))):
        assert "run 1 (differs)" in text
    found = [line for line in facts(drawn) if line["by"] != "paper"]
    assert {line["by"] for line in found} == {"ours", "seeds"}
    assert {(line["row"], line["fits"]) for line in found} == {("1", "false")}
    assert all(line["note"] for line in found)
