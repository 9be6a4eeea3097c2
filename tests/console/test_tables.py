"""Tables in three formats: every digit is shown, rows are equally long, and texts are escaped."""

import csv
import io
import re

import pytest
from rich.console import Console

from mmerg.console.tables import Table, as_csv, as_latex, escape_formula

NAME = "a row with a long name"
TABLE = Table(
    "Results of 5 % & more",
    ("", "acc ↑", "dist_1 ↑", "self_ppl ↓"),
    [(NAME, "83.87\n67.37–92.91\nn=31", "4.10", "–"), ("二つ", "80.65", "3.00 ± 0.10", "1.20")],
    notes=["a_note | of $x$"],
    best={(0, 1), (1, 3)},
)


def print_table(table: Table, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(table)
    return out.getvalue()


@pytest.mark.parametrize("width", [50, 100])
def test_every_number_is_shown_on_a_narrow_terminal(width: int) -> None:
    shown = print_table(TABLE, width)
    assert all(len(line) <= width for line in shown.splitlines())
    words = set(shown.split())
    assert {word for row in TABLE.rows for cell in row[1:] for word in cell.split()} <= words
    assert set(NAME.split()) <= words
    assert shown.count("二つ") == shown.count("a row with")


def test_latex_is_a_table_of_equal_rows_with_the_best_in_bold() -> None:
    text = as_latex(TABLE)
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {3}
    assert r"\textbf{83.87} & 4.10" in rows[1]
    assert rows[2].startswith(r" & \scriptsize 67.37--92.91 &")
    assert r"80.65 & 3.00 $\pm$ 0.10 & \textbf{1.20}" in rows[4]
    assert r"\caption{Results of 5 \% \& more}" in text
    for name in ("table*", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert not set(text) & set("–↑↓±")
    assert not re.search(r"(?<!\\)[%#_]", text)
    bare = as_latex(Table("", ("", "x"), [("a", "1")]))
    assert not {r"\label", r"\caption"} & {word.partition("{")[0] for word in bare.split()}


def test_csv_has_unformatted_numbers_and_no_formulas() -> None:
    facts = [
        {"run": "=1+1", "value": 100 * 24 / 31, "n": 31, "low": None},
        {"run": "a,b", "value": 2, "n": None, "low": 1.5},
    ]
    rows = list(csv.DictReader(io.StringIO(as_csv(facts))))
    assert [row["run"] for row in rows] == ["'=1+1", "a,b"]
    assert (float(rows[0]["value"]), rows[0]["n"], rows[0]["low"]) == (100 * 24 / 31, "31", "")
    assert (rows[1]["n"], rows[1]["low"]) == ("", "1.5")
    assert [escape_formula(text) for text in ("=1+1", "-a", "@b", "fine")] == ["'=1+1", "'-a", "'@b", "fine"]


def test_control_characters_and_markup_in_texts_are_escaped() -> None:
    hostile = 'a_b {c} 5 % \\ ~ "q" <b>|x|\u202e\x1b[31m[bold]'
    table = Table(hostile, ("", hostile), [(hostile, hostile)], notes=[hostile])
    forms = [print_table(table, 200), as_latex(table), as_csv([{"x": hostile}])]
    assert not any(set(text) & {"\u202e", "\x1b"} for text in forms)
    assert r"a\_b \{c\} 5 \% \textbackslash{} \textasciitilde{} ''q'' \textless{}b\textgreater{}\textbar{}" in forms[1]
    assert "[bold]" in forms[0]
