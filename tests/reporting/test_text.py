"""How pages show file names, numbers, durations and hostile text."""

import re

from markupsafe import Markup

from mmerg.reporting.render import _environment, file_name, format_duration, spell_out
from tests.reporting.parts import HOSTILE_IDS

SAFE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}\.html")


def test_hostile_ids_have_safe_names_that_differ_in_any_case() -> None:
    names = [file_name(id) for id in HOSTILE_IDS]
    assert len({name.lower() for name in names}) == len(names)
    assert all(SAFE.fullmatch(name) for name in names), names


def test_control_characters_are_spelled_out() -> None:
    assert spell_out("a\u202eb\x00\ud800") == "a\\u202eb\\u0000\\ud800"
    assert spell_out(Markup("<b>\u202e")) == Markup("<b>\u202e")


def test_numbers_and_times_are_formatted_for_a_reader() -> None:
    filters = _environment().filters
    assert [filters["number"](value) for value in (None, 0.0, -1.234, 64.789, 12345.6)] == [
        *("–", "0.00", "−1.23", "64.79", "12,346"),
    ]
    assert [filters["signed"](value) for value in (None, 1.5, -1.5)] == ["–", "+1.50", "−1.50"]
    assert [format_duration(value) for value in (0.214, 34.2, 252, 3 * 3600 + 299)] == [
        *("0.21 s", "34 s", "4 min 12 s", "3 h 4 min"),
    ]
