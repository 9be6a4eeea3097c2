"""A stage's output as fields to read, whatever its class: only what its plain form says is used.

Anything in a list that names a `turn` or a `frame` points to it. Compared with the output of the pass before, each line
shows what changed in it.

    fields({"emotion": "joy"}, before={"emotion": "anger"})
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from mmerg.reporting.diff import Span, diff, plain


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, and the history turn or keyframe (from 1) that it is about."""

    words: tuple[Span, ...]
    turn: int | None = None
    frame: int | None = None

    @property
    def text(self) -> str:
        """Its words as they are now."""
        return "".join(span.text for span in self.words if span.kind != "del")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an output by its name, empty for an output that is one text. many: it is a list."""

    name: str
    lines: tuple[Line, ...]
    many: bool = False

    @property
    def text(self) -> str:
        """Its words as they are now."""
        return "".join(line.text for line in self.lines)

    @property
    def changed(self) -> bool:
        return any(span.kind != "same" for line in self.lines for span in line.words)


def fields(value: Any, before: Any = None) -> tuple[Field, ...]:
    """The fields of `value`, with what changed since `before` where there is one. Empty ones are left out."""
    now = value if isinstance(value, Mapping) else {"": value}
    then = None if before is None else before if isinstance(before, Mapping) else {"": before}
    names = list(dict.fromkeys([*now, *(then or ())]))
    found = (_field(str(name), now.get(name), then is not None, (then or {}).get(name)) for name in names)
    return tuple(field for field in found if field.lines)


def _field(name: str, value: Any, compared: bool, before: Any) -> Field:
    many = any(isinstance(one, list | tuple | Mapping) for one in (value, before))
    new = tuple(_lines(value))
    return Field(name, tuple(_compared(tuple(_lines(before)), new)) if compared else new, many)


def _lines(value: Any) -> Iterator[Line]:
    """A value as lines of text with the turn and the frame that each is about."""
    if isinstance(value, Mapping):
        yield from (Line(plain(f"{key}: {_told(inner)}")) for key, inner in value.items())
    elif isinstance(value, list | tuple):
        yield from map(_item, value)
    elif value not in (None, ""):
        yield Line(plain(_told(value)))


def _item(value: Any) -> Line:
    if not isinstance(value, Mapping):
        return Line(plain(_told(value)))
    about = {name: value[name] if type(value.get(name)) is int else None for name in ("turn", "frame")}
    rest = {key: inner for key, inner in value.items() if about.get(key) is None and inner not in (None, "", [])}
    told = [_told(inner) if len(rest) == 1 else f"{key}: {_told(inner)}" for key, inner in rest.items()]
    return Line(plain(" · ".join(told)), **about)


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _compared(old: Sequence[Line], new: Sequence[Line]) -> Iterator[Line]:
    """The new lines, each against the old one whose place it took, and the old ones that went."""
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from new[c:d]
            continue
        for then, now in zip_longest(old[a:b], new[c:d]):
            if now is None:
                yield Line((Span("del", then.text),), then.turn, then.frame)
            else:
                yield Line(diff(then.text, now.text) if then else (Span("ins", now.text),), now.turn, now.frame)
