"""What changed between two texts, word by word.

diff("It is fine.", "It is not fine.")    # same 'It is ', ins 'not ', same 'fine.'
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "ins", "del"]
ALIKE = 0.4  # share of the words that two texts must have in common for their words to be compared
LONG = 1500  # words; comparing grows with the square, and nobody reads a longer diff
_CRUMB = 2  # words
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text that stayed, was put in, or was taken out."""

    kind: Kind
    text: str


def diff(old: str, new: str) -> tuple[Span, ...]:
    """`new` with what it put in marked, and what it took out of `old` where it stood. White space does not count, and
    is no part of what is marked: it stands between. A text of more than LONG words, or one that shares less than ALIKE
    of its words with the other, is taken out and put in as a whole.
    """
    if old == new:
        return plain(new)
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > LONG:
        return tuple(_marked(old, new))
    matcher = SequenceMatcher(None, [word.strip() for word in before], [word.strip() for word in after], autojunk=False)
    if matcher.ratio() < ALIKE:
        return tuple(_marked(old, new))
    return tuple(_compared(before, after, matcher))


def rewritten(spans: tuple[Span, ...]) -> bool:
    """Whether nothing of a text of several words was left: before and after are then easier to read apart."""
    return [span.kind for span in spans] == ["del", "ins"] and all(" " in span.text for span in spans)


def plain(text: str) -> tuple[Span, ...]:
    """A text with nothing to compare it with."""
    return (Span("same", text),) if text else ()


def _compared(before: list[str], after: list[str], matcher: SequenceMatcher[str]) -> Iterator[Span]:
    """One or two words that stayed between two changes count as changed: sentences that were written anew share an "it"
    and a comma, and a diff of crumbs cannot be read."""
    found = matcher.get_opcodes()
    gone = new = ""
    for place, (tag, a, b, c, d) in enumerate(found):
        if tag == "equal" and (d - c > _CRUMB or place in (0, len(found) - 1)):
            yield from (*_marked(gone, new), Span("same", "".join(after[c:d])))
            gone = new = ""
        else:
            gone, new = gone + "".join(before[a:b]), new + "".join(after[c:d])
    yield from _marked(gone, new)


def _marked(gone: str, new: str) -> Iterator[Span]:
    """What was taken out and what was put in, white space around them in spans of its own; that of `gone` only keeps
    it apart from what follows."""
    if gone.strip():
        yield from _apart("del", gone)
    yield from _apart("ins", new)


def _apart(kind: Kind, text: str) -> Iterator[Span]:
    """White space put in is as if it had been there: nobody sees a blank that is marked."""
    bare = text.strip()
    blank: Kind = "same" if kind == "ins" else kind
    start = text.index(bare)
    parts = Span(blank, text[:start]), Span(kind, bare), Span(blank, text[start + len(bare) :])
    yield from (span for span in parts if span.text)
