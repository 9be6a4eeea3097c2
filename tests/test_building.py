"""What the building of a memory shows, on a terminal and elsewhere."""

from io import StringIO

from rich.console import Console

from mmerg.console.progress import Building


def shown(terminal: bool) -> str:
    out = Console(file=StringIO(), force_terminal=terminal, width=100, color_system=None)
    with Building(out) as watch:
        watch.note("[bold]damaged\x1b[31m")
        for done in (128, 256, 300):
            watch.embedded(done, 300)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_plain_lines_where_nobody_watches() -> None:
    assert shown(terminal=False) == "[bold]damaged\\u001b[31m\nmemory: texts embedded: 300 of 300\n"


def test_a_bar_on_a_terminal() -> None:
    said = shown(terminal=True)
    assert "300/300" in said
    assert "memory: texts embedded: 300 of 300" in said
    assert "\\u001b[31m" in said
