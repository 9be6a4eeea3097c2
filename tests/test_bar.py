"""How far work is, on a terminal and elsewhere."""

from io import StringIO

from rich.console import Console

from mmerg.console.progress import Bar


def shown(terminal: bool, every: float) -> str:
    file = StringIO()
    with Bar(Console(file=file, force_terminal=terminal, width=100), "clips", every) as bar:
        for done in range(1, 4):
            bar.at(done, 3)
    return file.getvalue()


def test_a_bar_on_a_terminal() -> None:
    assert "3/3" in shown(terminal=True, every=0)


def test_plain_lines_elsewhere_when_their_time_has_come() -> None:
    assert shown(terminal=False, every=0) == "clips: 1 of 3\nclips: 2 of 3\n"
    assert shown(terminal=False, every=3600) == ""
