"""What changed between two texts, word by word.

diff("It is fine.", "It is not fine.")    # same 'It is ', ins 'not ', same 'fine.'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "ins", "del"]
LONG = 1500  # words; comparing grows with the square, and nobody reads a longer diff
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text that stayed, was put in, or was taken out."""

    kind: Kind
    text: str


def diff(old: str, new: str) -> tuple[Span, ...]:
    """`new` with what it put in marked, and what it took out of `old` where it stood. White space does not count.
    A text of more than LONG words is taken out and put in as a whole."""
    if old == new:
        return plain(new)
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > LONG:
        return tuple(span for span in (Span("del", old), Span("ins", new)) if span.text)
    return tuple(_joined(before, after))


def plain(text: str) -> tuple[Span, ...]:
    """A text with nothing to compare it with."""
    return (Span("same", text),) if text else ()


def _joined(before: list[str], after: list[str]) -> Iterator[Span]:
    matcher = SequenceMatcher(None, [word.strip() for word in before], [word.strip() for word in after], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            yield Span("same", "".join(after[c:d]))
            continue
        if b > a:
            yield Span("del", "".join(before[a:b]))
        if d > c:
            yield Span("ins", "".join(after[c:d]))
