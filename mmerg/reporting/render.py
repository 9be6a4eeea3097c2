"""Templates as pages: strict, everything escaped. Foreign text and names on pages: what could steer a reader is spelled
out, and file names are safe anywhere.

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
from mmerg.runs.manifest import short

ASSETS = ("report.css", "report.js")
ID, TEXT, SEARCHED = 80, 220, 2000  # characters of an id and a text in a table, and of each that its search looks at
STEP = 200  # rows of the table of samples that are shown at once
_NAME, _DIGITS = 40, 20


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("mmerg.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=spelled_out,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals |= {"ID": ID, "TEXT": TEXT, "SEARCHED": SEARCHED, "STEP": STEP}
    made.filters |= {
        "pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
        "number": lambda value: tables.format_number(value).replace("-", "−"),
        "signed": lambda value: tables.format_difference(value).replace("-", "−"),
        "short": short,
        "clipped": clipped,
        "counted": counted,
        "duration": duration,
        "href": file_name,
        "outcome": outcome,
        "rewritten": rewritten,
        "sampling": sampling,
    }
    made.tests["wrong"] = wrong_label
    return made


def render(template: str, **values: Any) -> str:
    """A page. up: how to get from it to the top of its run's pages, "" or "../"; top: to the top of the report."""
    return _environment().get_template(template).render(**values)


def asset(name: str) -> bytes:
    """A file of the package that every report holds."""
    return (files("mmerg.reporting") / "assets" / name).read_bytes()


def spelled_out(value: object) -> object:
    """What a template prints for `value`: control, bidirectional and unpaired characters as visible escapes. Markup
    that templates made themselves stays."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return terminal.printable(value)


def file_name(id: str) -> str:
    """The name of a sample's page: readable, lower case, at most 66 characters of ASCII, and another one for every id,
    also where a file system takes upper for lower case or knows names such as CON."""
    readable = re.sub("[^a-z0-9]+", "-", id[: 4 * _NAME].lower()).strip("-")[:_NAME].strip("-")
    digest = hashlib.sha256(id.encode()).hexdigest()[:_DIGITS]
    return f"{readable or 'sample'}-{digest}.html"


def clipped(text: str, length: int = 200) -> str:
    """At most so many characters, with … where some were left out."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 sample, 2 samples; many: a plural that is not regular."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def sampling(settings: Mapping[str, float | Sequence[str]]) -> str:
    """The settings of a call as text."""
    values = {
        name: one if isinstance(one, int | float) else json.dumps(" ".join(one)) for name, one in settings.items()
    }
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()))


def duration(seconds: float) -> str:
    """Seconds as a reader says them: 0.21 s, 34 s, 4 min 12 s, 3 h 5 min."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
