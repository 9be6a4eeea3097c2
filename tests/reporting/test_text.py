"""File names that are safe anywhere, and foreign text whose steering characters are spelled out."""

import re

from markupsafe import Markup

from mmerg.reporting.render import _environment, clipped, duration, file_name, spelled_out
from tests.reporting.parts import HOSTILE_IDS

SAFE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}\.html")


def test_hostile_ids_have_safe_names_that_differ_in_any_case() -> None:
    names = [file_name(id) for id in HOSTILE_IDS]
    assert len({name.lower() for name in names}) == len(names)
    assert all(SAFE.fullmatch(name) for name in names), names


def test_steering_characters_are_spelled_out() -> None:
    assert spelled_out("a\u202eb\x00\ud800") == "a\\u202eb\\u0000\\ud800"
    assert spelled_out(Markup("<b>")) == Markup("<b>")
    assert spelled_out(3) == 3


def test_figures_and_times_are_written_for_a_reader() -> None:
    """As on a terminal, with a true minus."""
    filters = _environment().filters
    assert [filters["number"](value) for value in (None, 0.0, -1.234, 64.789, 12345.6)] == [
        *("–", "0.00", "−1.23", "64.79", "12,346"),
    ]
    assert [filters["signed"](value) for value in (None, 1.5, -1.5)] == ["–", "+1.50", "−1.50"]
    assert [duration(value) for value in (0.214, 34.2, 252, 3 * 3600 + 299)] == [
        *("0.21 s", "34 s", "4 min 12 s", "3 h 4 min"),
    ]
    assert clipped("a" * 300, 10) == "aaaaaaaaa…"
    assert clipped("short", 10) == "short"
