"""A stage's output as fields to read, whatever its class: only what its plain form says is used.

Anything in a list that names a `turn` or a `frame` points to it. Compared with the output of the pass before, each line
shows what changed in it.

    fields({"emotion": "joy"}, before={"emotion": "anger"})
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from mmerg.reporting.diff import Span, diff, plain

_CHANGES = {"ins", "del"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, and the history turn or keyframe (from 1) that it is about."""

    words: tuple[Span, ...]
    turn: int | None = None
    frame: int | None = None

    @property
    def gone(self) -> bool:
        """Whether nothing of it is left in the newer output."""
        return all(span.kind == "del" for span in self.words)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an output by its name, empty for an output that is one text. many: it is a list."""

    name: str
    lines: tuple[Line, ...]
    many: bool = False

    @property
    def text(self) -> str:
        """Its words as they are now."""
        return "".join(span.text for line in self.lines for span in line.words if span.kind != "del")

    @property
    def changed(self) -> bool:
        return any(span.kind in _CHANGES for line in self.lines for span in line.words)


def fields(value: Any, before: Any = None) -> tuple[Field, ...]:
    """The fields of `value`, with what changed since `before` where there is one. Empty ones are left out."""
    now = value if isinstance(value, Mapping) else {"": value}
    then = None if before is None else before if isinstance(before, Mapping) else {"": before}
    names = list(dict.fromkeys([*now, *(then or ())]))
    found = (_field(str(name), now.get(name), then is not None, (then or {}).get(name)) for name in names)
    return tuple(field for field in found if field.lines)


def _field(name: str, value: Any, compared: bool, before: Any) -> Field:
    many = any(isinstance(one, list | tuple | Mapping) for one in (value, before))
    new = list(_lines(value))
    if not compared:
        return Field(name, tuple(Line(plain(text), turn, frame) for text, turn, frame in new), many)
    return Field(name, tuple(_compared(list(_lines(before)), new)), many)


_Flat = tuple[str, int | None, int | None]


def _lines(value: Any) -> Iterator[_Flat]:
    """A value as lines of text with the turn and the frame that each is about."""
    if value is None or value == "":
        return
    if isinstance(value, Mapping):
        yield from ((f"{key}: {_told(inner)}", None, None) for key, inner in value.items())
    elif isinstance(value, list | tuple):
        yield from map(_item, value)
    else:
        yield _told(value), None, None


def _item(value: Any) -> _Flat:
    if not isinstance(value, Mapping):
        return _told(value), None, None
    turn, frame = _number(value.get("turn")), _number(value.get("frame"))
    about = {"turn": turn, "frame": frame}
    rest = {key: inner for key, inner in value.items() if about.get(key) is None and inner not in (None, "", [])}
    told = [_told(inner) if len(rest) == 1 else f"{key}: {_told(inner)}" for key, inner in rest.items()]
    return " · ".join(told), turn, frame


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _compared(old: Sequence[_Flat], new: Sequence[_Flat]) -> Iterator[Line]:
    """The new lines, each against the old one whose place it took, and the old ones that went."""
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (Line(plain(text), turn, frame) for text, turn, frame in new[c:d])
            continue
        pairs = min(b - a, d - c)
        for (then, _, _), (text, turn, frame) in zip(old[a : a + pairs], new[c : c + pairs], strict=True):
            yield Line(diff(then, text), turn, frame)
        yield from (Line((Span("del", text),), turn, frame) for text, turn, frame in old[a + pairs : b])
        yield from (Line((Span("ins", text),), turn, frame) for text, turn, frame in new[c + pairs : d])
