"""Renders templates as pages and escapes everything that comes from data.

Text that could mislead a reader, such as control characters, is shown as visible escapes. File names are safe on any
file system.

    render("run.j2", o=pages, …)
    file_name("dia 3/../4")    # 'dia-3-4-' and 20 hexadecimal digits and '.html'
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mmerg.console import tables, terminal
from mmerg.reporting.changes import rewritten
from mmerg.reporting.outcome import outcome, wrong_label
from mmerg.runs.manifest import shorten_digest

ASSETS = ("report.css", "report.js")
ID, TEXT, SEARCHED = 80, 220, 2000  # characters of an id and a text in a table, and of each that the search covers
STEP = 200  # rows of the table of samples that are shown at once


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("mmerg.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=spell_out,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {"ID": ID, "TEXT": TEXT, "SEARCHED": SEARCHED, "STEP": STEP}
    environment.filters |= {
        "pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
        "number": lambda value: tables.format_number(value).replace("-", "−"),
        "signed": lambda value: tables.format_difference(value).replace("-", "−"),
        "short": shorten_digest,
        "clipped": clip,
        "counted": count_noun,
        "duration": format_duration,
        "href": file_name,
        "indented": indent_json,
        "outcome": outcome,
        "rewritten": rewritten,
        "sampling": format_sampling,
    }
    environment.tests["wrong"] = wrong_label
    return environment


def render(template: str, **values: Any) -> str:
    """Render a page. up: the path to the top of its run's pages, "" or "../". top: that to the top of the report."""
    return _environment().get_template(template).render(**values)


def read_asset(name: str) -> bytes:
    """A file of the package that every report holds."""
    return (files("mmerg.reporting") / "assets" / name).read_bytes()


def spell_out(value: object) -> object:
    """Replace control, bidirectional and unpaired characters in a string with visible escapes."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else terminal.printable(value)


def file_name(id: str) -> str:
    """The name of a sample's page: readable, at most 66 characters of lower-case ASCII, and unique for each id, even if
    the file system ignores case or reserves names such as CON."""
    readable = re.sub("[^a-z0-9]+", "-", id[:160].lower()).strip("-")[:40].strip("-")
    return f"{readable or 'sample'}-{hashlib.sha256(id.encode()).hexdigest()[:20]}.html"


def clip(text: str, length: int = 200) -> str:
    """Shorten a text to at most `length` characters, with … at the end."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def indent_json(text: str) -> str:
    """Indent JSON. Any other text stays as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def count_noun(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 sample, 2 samples. many: an irregular plural."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_sampling(settings: Mapping[str, float | Sequence[str]]) -> str:
    """The settings of a call as text."""
    values = {
        name: value if isinstance(value, int | float) else json.dumps(" ".join(value))
        for name, value in settings.items()
    }
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()))


def format_duration(seconds: float) -> str:
    """Seconds for a reader: 0.21 s, 34 s, 4 min 12 s, 3 h 5 min."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
