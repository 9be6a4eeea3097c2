"""A stage's output as fields, with the changes since the pass before.

fields({"emotion": "joy"}, before={"emotion": "anger"})
diff("It is fine.", "It is not fine.")    # same 'It is ', ins 'not ', same 'fine.'
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

Kind = Literal["same", "ins", "del"]
ALIKE = 0.4  # texts that share fewer of their words are not compared word by word
LONG = 1500  # words; the time grows with the square, and nobody reads a longer diff
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


class Span(NamedTuple):
    """A part of a text that stayed, was added, or was removed."""

    kind: Kind
    text: str


class Line(NamedTuple):
    """A line of text, with the history turn or keyframe (from 1) that it cites."""

    words: tuple[Span, ...]
    turn: int | None = None
    frame: int | None = None

    @property
    def text(self) -> str:
        """The current words."""
        return "".join(span.text for span in self.words if span.kind != "del")


class Field(NamedTuple):
    """A field of an output. name: "" if the output is one text. many: whether it is a list."""

    name: str
    lines: tuple[Line, ...]
    many: bool = False

    @property
    def text(self) -> str:
        """The current words."""
        return "".join(line.text for line in self.lines)

    @property
    def changed(self) -> bool:
        return any(span.kind != "same" for line in self.lines for span in line.words)


def fields(value: Any, before: Any = None) -> tuple[Field, ...]:
    """The fields of `value` that are not empty, with the changes since `before` if there is one."""
    new, old = (
        output if isinstance(output, Mapping) else {} if output is None else {"": output} for output in (value, before)
    )
    compared = []
    for name in dict.fromkeys([*new, *old]):
        many = any(isinstance(output.get(name), list | tuple | Mapping) for output in (new, old))
        lines = _lines(new.get(name))
        changes = lines if before is None else _compare(_lines(old.get(name)), lines)
        compared.append(Field(str(name), tuple(changes), many))
    return tuple(field for field in compared if field.lines)


def _lines(value: Any) -> list[Line]:
    """One line per item. An item with a `turn` or a `frame` cites it."""
    if isinstance(value, Mapping):
        return [Line(plain(f"{key}: {describe(inner)}")) for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return [_item(item) if isinstance(item, Mapping) else Line(plain(describe(item))) for item in value]
    return [] if value in (None, "") else [Line(plain(describe(value)))]


def _item(item: Mapping[str, object]) -> Line:
    places = {name: value for name in ("turn", "frame") if type(value := item.get(name)) is int}
    rest = {key: inner for key, inner in item.items() if key not in places and inner not in (None, "", [])}
    texts = [describe(inner) if len(rest) == 1 else f"{key}: {describe(inner)}" for key, inner in rest.items()]
    return Line(plain(" · ".join(texts)), **places)


def describe(value: Any) -> str:
    """A value as text: words as they are, the rest as JSON."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _compare(old: Sequence[Line], new: Sequence[Line]) -> Iterator[Line]:
    """The new lines, each compared with the old line in its place, and the removed lines."""
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for then, now in zip_longest(old[a:b], new[c:d]):
            if now is None:
                yield Line((Span("del", then.text),), then.turn, then.frame)
            else:
                words = now.words if tag == "equal" else diff(then.text if then else "", now.text)
                yield Line(words, now.turn, now.frame)


def plain(text: str) -> tuple[Span, ...]:
    """A text without changes."""
    return (Span("same", text),) if text else ()


def diff(old: str, new: str) -> tuple[Span, ...]:
    """The words that were added to and removed from `old`. White space does not count. Texts that are long or share few
    words are replaced as a whole."""
    if old.split() == new.split():
        return (Span("same", new),) if new else ()
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, [word.strip() for word in before], [word.strip() for word in after], autojunk=False)
    spans: list[Span] = []
    if max(len(before), len(after)) > LONG or matcher.ratio() < ALIKE:
        spans += (Span("del", old), Span("ins", new))
    else:
        for tag, a, b, c, d in matcher.get_opcodes():
            removed, added = "".join(before[a:b]), "".join(after[c:d])
            spans += (Span("same", added),) if tag == "equal" else (Span("del", removed), Span("ins", added))
    return tuple(span for span in spans if span.text)


def rewritten(spans: tuple[Span, ...]) -> bool:
    """Whether a text of several words was replaced as a whole."""
    return [span.kind for span in spans] == ["del", "ins"] and all(" " in span.text for span in spans)
