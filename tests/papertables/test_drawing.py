"""The four forms of a table: no digit lost, rows of one length, foreign text escape."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import Any

import pytest
from rich.console import Console

from mmerg.paper.published import FILES, published
from mmerg.papertables.as_csv import as_csv, plain
from mmerg.papertables.as_latex import as_latex
from mmerg.papertables.as_latex import escaped as latex
from mmerg.papertables.as_markdown import as_markdown
from mmerg.papertables.as_markdown import escaped as markdown
from mmerg.papertables.as_text import as_text, figure
from mmerg.papertables.beside import Beside
from tests.papertables.maker import Maker, beside, ours, rate


def drawn_at(width: int, table: Beside) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    for part in as_text(table):
        console.print(part)
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_table_is_wider_than_its_terminal_or_loses_a_digit_or_a_name(width: int, make: Maker) -> None:
    run = make("r" * 60, backbone={"name": "a-backbone-with-quite-a-long-name"}, right=31)
    rate(run, "x", 3.9)
    seeds = [make(f"s{seed}", seed=seed, right=31) for seed in range(8)]
    for name in FILES:
        for number, paper in enumerate(published(name)):
            drawn = beside(name, run, *seeds, number=number)
            shown = drawn_at(width, drawn)
            assert max(map(len, shown.splitlines())) <= width, name
            assert "…" not in shown
            words = Counter(shown.split())
            wanted = Counter(figure(value) for row in paper.rows for value in row.figures if value is not None)
            wanted += Counter(figure(cell.value) for line in ours(drawn) for cell in line.cells if cell.value)
            assert not wanted - words
            flat = " ".join(shown.split())
            assert all(line.name in flat for line in drawn.lines if line.by == "paper")


def test_the_figures_of_a_long_name_stand_on_its_last_line(make: Maker) -> None:
    runs = [make(f"s{seed}", seed=seed, right=20) for seed in range(8)]
    lines = drawn_at(120, beside("topk", *runs)).splitlines()
    [first] = [number for number, line in enumerate(lines) if line.startswith("   mean of runs 1, 2, 3")]
    assert lines[first].split() == lines[first].strip().split()
    assert not re.search(r"\d\.\d", lines[first])
    assert "64.52" in lines[first + 1]
    assert lines[first + 2].split()[0] == "sd"


def test_markdown_is_a_table_of_equal_rows(make: Maker) -> None:
    text = as_markdown(beside("topk", make("run", right=24)))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {9}
    assert len(rows) == 2 + 6 + 1
    [line] = [row for row in rows if "run 1" in row]
    assert line.startswith("| **run 1** | ")
    assert "77.42 ✓<br>" in line
    assert "<br>n = 31" in line
    assert "- source: MERG, arXiv 2604.18988" in text


def test_latex_is_a_table_of_equal_rows(make: Maker) -> None:
    text = as_latex(beside("topk", make("run", right=24)))
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert {row.count("&") for row in rows} == {7}
    assert r"77.42\,$\in$" in text
    assert r"\scriptsize 67.37--92.91" in text
    for name in ("table*", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert not set(text) & set("✓✗–")
    assert not re.search(r"(?<!\\)[%#_]", text)


def test_csv_has_a_figure_a_line_with_plain_numbers(make: Maker) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv([beside("topk", make("run"))]))))
    assert len(rows) == (6 + 1) * 7
    [acc] = [row for row in rows if row["by"] == "ours" and row["metric"] == "acc"]
    told = (acc["row"], acc["fits"], acc["run"], acc["n"], acc["paper_in_interval"])
    assert told == ("1", "true", "run", "31", "true")
    assert float(acc["value"]) == 100 * 24 / 31
    assert float(acc["low"]) < float(acc["value"]) < float(acc["high"])
    [paper] = [row for row in rows if row["by"] == "paper" and row["row"] == "none" and row["metric"] == "acc"]
    assert (paper["value"], paper["fits"], paper["n"], paper["method"]) == ("74.2", "", "31", "wilson")
    assert "74.20 where 23 of 31 is 74.19" in paper["note"]


@pytest.mark.parametrize(
    ("changes", "row", "tail"),
    [({"dataset": {"name": "meld"}}, "1", " (differs)"), ({"max_iterations": 5}, "", " (no row)")],
)
def test_every_form_says_where_a_run_and_its_mean_are_not_the_rows(
    changes: dict[str, Any], row: str, tail: str, make: Maker
) -> None:
    drawn = beside("topk", *(make(f"seed{seed}", seed=seed, **changes) for seed in (0, 1)))
    text = drawn_at(120, drawn)
    for name in ("run 1", "mean of runs 1, 2"):
        assert f"  {name}{tail}" in text
        assert re.search(rf"\| \*+{name}\*+{re.escape(tail)} \|", as_markdown(drawn))
        assert re.search(rf"^\\quad(\\emph{{| ){name}}}?{re.escape(tail)} &", as_latex(drawn), re.MULTILINE)
    found = [line for line in csv.DictReader(io.StringIO(as_csv([drawn]))) if line["by"] != "paper"]
    assert {line["by"] for line in found} == {"ours", "seeds"}
    assert {(line["row"], line["fits"]) for line in found} == {(row, "false")}
    assert all(line["note"] for line in found)


def test_foreign_text_is_harmless_in_every_format(make: Maker) -> None:
    drawn = beside("main", make("run_%&|<b>`$x^", without=["=cmd[bold]\x1b[31m#"]))
    assert r"run\_\%\&\textbar{}\textless{}b\textgreater{}`\$x\textasciicircum{}" in as_latex(drawn)
    assert r"run\_%\&\|\<b\>\`\$x^" in as_markdown(drawn)
    text = drawn_at(120, drawn)
    assert "=cmd[bold]\\u001b[31m#" in text
    assert "\x1b" not in text + as_latex(drawn) + as_markdown(drawn) + as_csv([drawn])


def test_escapes() -> None:
    assert latex('a_b {c} 5 % \\ ~ "q"\nnext') == r"a\_b \{c\} 5 \% \textbackslash{} \textasciitilde{} ''q'' next"
    assert markdown("a|b *c* <d> [e]\n# f") == r"a\|b \*c\* \<d\> \[e\] \# f"
    assert [plain(text) for text in ("=1+1", "-a", "@b", "fine")] == ["'=1+1", "'-a", "'@b", "fine"]
