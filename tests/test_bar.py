"""How far work is, on a terminal and elsewhere."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from mmerg.console.bar import Bar


def test_a_bar_on_a_terminal_and_few_lines_elsewhere() -> None:
    for terminal in (True, False):
        file = StringIO()
        with Bar(Console(file=file, force_terminal=terminal, width=100), "clips") as bar:
            for done in range(1, 31):
                bar.at(done, 30)
        assert ("30/30" in file.getvalue()) is terminal
        assert ("clips" in file.getvalue()) is terminal
