"""Tables: engines kept apart, reasons for what is missing, foreign text harmless."""

from __future__ import annotations

from rich.console import Console

from mmerg.benching.measure import marked, memory_of, of_paper
from mmerg.benching.rows import Bench, Memory, Skipped, Speed
from mmerg.benching.sheets import notes, sheets
from mmerg.benching.written import as_markdown, shown
from tests.benching.parts import bench, row, score


def printed(made: Bench) -> str:
    out = Console(width=120, record=True, file=None, quiet=True)
    with out.capture() as caught:
        out.quiet = False
        for part in shown(made):
            out.print(part)
    return caught.get()


def test_rows_of_other_engines_are_marked() -> None:
    made = bench(*marked([row("a"), row("b", "0.33.0"), row("c")]))
    assert [one.engine.mark for one in made.rows] == ["a", "b", "a"]
    told = list(notes(made))
    assert "(a) ollama 0.24.0" in told
    assert "(b) ollama 0.33.0" in told
    assert "speeds of (a), (b) are of different engines: they do not compare" in told
    assert not any("do not compare" in note for note in notes(bench(*marked([row("a"), row("c")]))))


def test_what_is_missing_has_its_reason() -> None:
    bare = row(
        "bare",
        scores={"acc": score("acc", None, 0, "no sample has a label")},
        speed=Speed(calls=0, why="every call came from the reply cache"),
        memory=None,
        memory_why="the model is not loaded now",
    )
    made = bench(*marked([bare, row("whole")]))
    cells = [cell for sheet in sheets(made) for line in sheet.lines if line[0].startswith("bare") for cell in line]
    assert cells.count("–") == 1 + 4 + 2  # dist2, which the row was not scored for; speeds; memory and its share
    told = list(notes(made))
    assert "bare: acc: no sample has a label" in told
    assert "bare: speed: every call came from the reply cache" in told
    assert "bare: memory: the model is not loaded now" in told
    assert not any(note.startswith("whole:") for note in told)


def test_the_papers_row_stands_below_ours() -> None:
    made = bench(*marked([row("gemma3-12b", paper=of_paper("gemma3-12b"))]), paper="the table")
    [ours, paper] = sheets(made)[0].lines
    assert ours[0] == "gemma3-12b (a)"
    assert paper == ("  the paper's", "83.87", "1.21", "40.19", "83.86", "84.97")
    assert "the paper's: the table" in list(notes(made))
    assert of_paper("another") == {}


def test_spill_and_failures_are_shown() -> None:
    made = bench(*marked([row(failed=3, failures={"empty": 1, "truncated": 2})]))
    [line] = sheets(made)[2].lines
    assert "3\n1 empty\n2 truncated" in line
    assert line[4:7] == ("1.00 GiB", "50 %", "8192")


def test_skipped_backbones_are_listed_with_what_to_do() -> None:
    made = bench(skipped=[Skipped(name="x", why="x:1 is not pulled", next="ollama pull x:1")])
    assert "ollama pull x:1" in printed(made)
    assert "| x | x:1 is not pulled | ollama pull x:1 |" in as_markdown(made)


def test_foreign_text_steers_nothing() -> None:
    hostile = "a\u202e\x1b[31m[bold]|<b>"
    made = bench(*marked([row(hostile, scores={"acc": score("acc", None, 0, hostile)})]))
    assert not set(printed(made)) & {"\u202e", "\x1b"}
    markdown = as_markdown(made)
    assert "<b>" not in markdown
    assert "\x1b" not in markdown


def test_memory_without_a_server_that_tells() -> None:
    plain = {"backend": {"hosts": ["http://127.0.0.1:1"]}}
    assert isinstance(memory_of(plain, {"backend": "embedded", "model": "m"}, 1), Memory)
    assert memory_of(plain, {"backend": "embedded", "model": "m"}, 0) == (
        "the model was not loaded: no call had to be made"
    )
    assert memory_of(plain, {"backend": "other", "model": "m"}, 1) == "other does not tell"
    assert "no Ollama server answers" in str(memory_of(plain, {"backend": "ollama", "model": "m"}, 1))
