"""Templates as pages: strict, everything escaped, steering characters spelled out.

render("index.j2", title="…", …)
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from mmerg.reporting.diff import rewritten
from mmerg.reporting.text import clipped, duration, figure, signed, spelled_out
from mmerg.runs.manifest import short

ASSETS = ("report.css", "report.js")


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
    made.filters |= {"pretty": pretty, "figure": figure, "duration": duration, "clipped": clipped}
    made.filters |= {"rewritten": rewritten, "counted": counted, "signed": signed, "short": short}
    return made


def render(template: str, **values: Any) -> str:
    """A page. up: how to get from it to the top of the report, "" or "../"."""
    return _environment().get_template(template).render(**values)


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 sample, 2 samples; many: a plural that is not regular."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def pretty(value: Any) -> str:
    """JSON to read."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def asset(name: str) -> bytes:
    """A file of the package that every report holds."""
    return (files("mmerg.reporting") / "assets" / name).read_bytes()
