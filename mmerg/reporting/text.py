"""Foreign text and names on pages: what could steer a reader is spelled out, and file names are safe anywhere.

file_name("dia 3/../4")    # 'dia-3-4-' and 20 hexadecimal digits and '.html'
"""

from __future__ import annotations

import hashlib
import re

from markupsafe import Markup

from mmerg.console import tables, terminal

_UNSAFE = re.compile("[^a-z0-9]+")
_NAME, _DIGITS = 40, 20


def spelled_out(value: object) -> object:
    """What a template prints for `value`: control, bidirectional and unpaired characters as visible escapes. Markup
    that templates made themselves stays."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return terminal.printable(value)


def file_name(id: str) -> str:
    """The name of a sample's page: readable, lower case, at most 66 characters of ASCII, and another one for every id,
    also where a file system takes upper for lower case or knows names such as CON."""
    readable = _UNSAFE.sub("-", id[: 4 * _NAME].lower()).strip("-")[:_NAME].strip("-")
    digest = hashlib.sha256(id.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{readable or 'sample'}-{digest}.html"


def clipped(text: str, length: int = 200) -> str:
    """At most so many characters, with … where some were left out."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def figure(value: float | None) -> str:
    """As on a terminal, with a true minus."""
    return tables.figure(value).replace("-", "−")


def signed(value: float | None) -> str:
    """A difference: as on a terminal, with a true minus."""
    return tables.signed(value).replace("-", "−")


def duration(seconds: float) -> str:
    """Seconds as a reader says them: 0.21 s, 34 s, 4 min 12 s, 3 h 5 min."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
