"""Templates that become pages, with everything that comes from data escaped.

Text that could mislead a reader, such as control characters, is shown as visible escapes. File names are safe on any
file system.

    render("run.j2", run=pages, …)
    file_name("dia 3/../4")    # 'dia-3-4-' and 20 hexadecimal digits and '.html'
"""

import hashlib
import json
import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mmerg.console import tables, terminal
from mmerg.reporting.changes import is_rewritten
from mmerg.reporting.outcome import classify_outcome, is_label_wrong
from mmerg.runs.manifest import shorten_digest
from mmerg.scoring.comparisons import format_p

ID, TEXT, SEARCHED = 80, 220, 2000  # limits, in characters, of an id and a text in a table, and of a searched text
PAGE_SIZE = 200  # rows of the table of samples to show at once


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
    environment.globals |= {"ID": ID, "TEXT": TEXT, "SEARCHED": SEARCHED, "PAGE_SIZE": PAGE_SIZE}
    environment.policies["truncate.leeway"] = 0
    environment.filters |= {
        "pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
        "number": lambda value: tables.format_number(value).replace("-", "−"),
        "signed": lambda value: tables.format_difference(value).replace("-", "−"),
        "short": shorten_digest,
        "p": format_p,
        "counted": count_noun,
        "duration": format_duration,
        "href": file_name,
        "indented": indent_json,
        "outcome": classify_outcome,
        "rewritten": is_rewritten,
    }
    environment.tests["wrong"] = is_label_wrong
    return environment


def render(template: str, **values: Any) -> str:
    """Renders a page. All templates need `top`, the path from the page to the top of the report. Pages of a run and a
    sample also need `up`, the path to the top of the run's pages. Both are "" or end with a slash."""
    return _environment().get_template(template).render(**values)


def spell_out(value: object) -> object:
    """Replaces control, bidirectional and unpaired characters in a string with visible escapes."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return terminal.printable(value)
    return value


def file_name(id: str) -> str:
    """Returns the name of a sample's page. It is readable, has at most 66 characters of lower-case ASCII, and is unique
    for each id, even if the file system ignores case or reserves names such as CON."""
    readable = re.sub("[^a-z0-9]+", "-", id[:160].lower()).strip("-")[:40].strip("-")
    return f"{readable or 'sample'}-{hashlib.sha256(id.encode()).hexdigest()[:20]}.html"


def indent_json(text: str) -> str:
    """Indents JSON. Any other text is returned unchanged."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def count_noun(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_duration(seconds: float) -> str:
    """Formats a duration: 0.21 s, 34 s, 4 min 12 s, 3 h 5 min."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
