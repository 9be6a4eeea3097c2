"""A stage's output as fields, with the changes since the previous pass.

compare_fields({"emotion": "joy"}, before={"emotion": "anger"})
diff("It is fine.", "It is not fine.")    # same 'It is ', ins 'not ', same 'fine.'
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

Kind = Literal["same", "ins", "del"]
MIN_SIMILARITY = 0.4  # share of common words; less similar texts are not compared word by word
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


class Span(NamedTuple):
    """A part of a text that is unchanged, added or removed."""

    kind: Kind
    text: str


class OutputLine(NamedTuple):
    """A line of an output, with the number (from 1) of the history turn or keyframe that it cites."""

    spans: tuple[Span, ...]
    turn: int | None = None
    frame: int | None = None

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans if span.kind != "del")


class OutputField(NamedTuple):
    """A field of an output."""

    name: str  # "" if the output is one text
    lines: tuple[OutputLine, ...]
    many: bool = False  # True for a list or mapping

    @property
    def text(self) -> str:
        return "".join(line.text for line in self.lines)

    @property
    def changed(self) -> bool:
        return any(span.kind != "same" for line in self.lines for span in line.spans)


def compare_fields(value: Any, before: Any = None) -> tuple[OutputField, ...]:
    """Returns the fields of an output that are not empty, with the changes since the output `before`, if given."""
    new, old = _as_mapping(value), _as_mapping(before)
    compared = []
    for name in dict.fromkeys([*new, *old]):
        many = any(isinstance(output.get(name), list | tuple | Mapping) for output in (new, old))
        lines = _lines(new.get(name))
        changes = lines if before is None else _compare(_lines(old.get(name)), lines)
        compared.append(OutputField(str(name), tuple(changes), many))
    return tuple(field for field in compared if field.lines)


def _as_mapping(output: Any) -> Mapping[Any, Any]:
    if isinstance(output, Mapping):
        return output
    return {} if output is None else {"": output}


def _lines(value: Any) -> list[OutputLine]:
    """Returns one line per item. An item with the number of a `turn` or `frame` cites it."""
    if isinstance(value, Mapping):
        return [OutputLine(as_unchanged(f"{key}: {as_text(inner)}")) for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return [_item(item) if isinstance(item, Mapping) else OutputLine(as_unchanged(as_text(item))) for item in value]
    return [] if value in (None, "") else [OutputLine(as_unchanged(as_text(value)))]


def _item(item: Mapping[str, object]) -> OutputLine:
    cited = {name: value for name in ("turn", "frame") if type(value := item.get(name)) is int}  # a bool is no number
    rest = {key: inner for key, inner in item.items() if key not in cited and inner not in (None, "", [])}
    texts = [as_text(inner) if len(rest) == 1 else f"{key}: {as_text(inner)}" for key, inner in rest.items()]
    return OutputLine(as_unchanged(" · ".join(texts)), **cited)


def as_text(value: Any) -> str:
    """Returns a value as text: strings as they are, other values as JSON."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _compare(old: Sequence[OutputLine], new: Sequence[OutputLine]) -> Iterator[OutputLine]:
    """Yields the new lines, each compared with the old line at its position, and the removed lines."""
    for tag, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for before, after in zip_longest(old[old_start:old_end], new[new_start:new_end]):
            if after is None:
                yield OutputLine((Span("del", before.text),), before.turn, before.frame)
            else:
                spans = after.spans if tag == "equal" else diff(before.text if before else "", after.text)
                yield OutputLine(spans, after.turn, after.frame)


def as_unchanged(text: str) -> tuple[Span, ...]:
    return (Span("same", text),) if text else ()


def diff(old: str, new: str) -> tuple[Span, ...]:
    """Returns the words that were added to and removed from `old`. White space is ignored. Texts that
    share few words are replaced as a whole."""
    if old.split() == new.split():
        return (Span("same", new),) if new else ()
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, [word.strip() for word in before], [word.strip() for word in after], autojunk=False)
    spans: list[Span] = []
    if matcher.ratio() < MIN_SIMILARITY:
        spans += (Span("del", old), Span("ins", new))
    else:
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
            removed, added = "".join(before[old_start:old_end]), "".join(after[new_start:new_end])
            spans += (Span("same", added),) if tag == "equal" else (Span("del", removed), Span("ins", added))
    return tuple(span for span in spans if span.text)


def is_rewritten(spans: tuple[Span, ...]) -> bool:
    """Returns True if a text of several words was replaced as a whole."""
    return [span.kind for span in spans] == ["del", "ins"] and all(" " in span.text for span in spans)
