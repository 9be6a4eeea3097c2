"""Marks on schema fields: bounds that depend on the sample (labels, numbers of turns and frames, absent inputs), and
lengths in words.

`schema.py` turns marks into the JSON schema of one call. Validation checks the same bounds with pydantic's context;
without a context, as when records are read from files, it checks none.

    class Forecast(BaseModel):
        reasoning: Annotated[str, Field(min_length=1), AtMost(40)]
        emotion: Annotated[str, Choice("emotion")]
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from mmerg.storage.words import UNSPACED

QUOTE = "x-quote"
REMOVED = "removed"  # key in pydantic's context for removals from the reply
ROOM = 12  # characters per word, about twice the usual, so that few texts are shortened
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*(?=\s|$)")
_SPEAKER = re.compile(r"^(?:\d+\. )?[^:]{1,40}: ")  # the start of a turn in a prompt
_BLANK = re.compile(r"\S(?=\s)")
LEAST = 3  # words of a quote; two appear in almost any turn
QUOTED = "a sentence of one turn, copied word for word"


@dataclass(frozen=True)
class _Mark:
    of: Any

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), f"x-{type(self).__name__.lower()}": self.of}

    def _checked(self, value: Any, info: ValidationInfo) -> Any:
        if info.context and (complaint := self.complaint(value, info.context[self.of])):
            raise ValueError(complaint)
        return value

    def complaint(self, value: Any, bound: Any) -> str:  # noqa: ARG002 - for marks that bound a value
        """What is wrong with a value; "" if it is valid."""
        return ""


class Choice(_Mark):
    """A word of the vocabulary `of`, such as the sample's emotions or the stances of a plan."""

    def complaint(self, value: str, bound: tuple[str, ...]) -> str:
        return "" if value in bound else f"{value!r} is not one of {', '.join(bound)}"


class Index(_Mark):
    """The number, from 1, of a turn or frame (`of`) that the agent may cite."""

    def complaint(self, value: int, bound: range) -> str:
        if value in bound:
            return ""
        if 1 <= value < bound.start:
            return f"{self.of} {value} is too early, name {bound.start} to {bound.stop - 1}"
        return f"there is no {self.of} {value}, they are numbered {bound.start} to {bound.stop - 1}"


@dataclass(frozen=True)
class Quote(_Mark):
    """At least three words, or a whole turn, of the speakers who are answered; of any speaker if there is no other.
    Ignores case and punctuation. A speaker's name in front is removed."""

    of: str = QUOTE

    def _checked(self, value: Any, info: ValidationInfo) -> Any:
        words = _SPEAKER.sub("", value)
        if not info.context or words == value or not self.complaint(value, info.context[self.of]):
            return super()._checked(value, info)
        super()._checked(words, info)
        info.context[REMOVED].append("speaker's name before a quote")
        return words

    def complaint(self, value: str, bound: tuple[str, ...]) -> str:
        if not any(_says(turn, value) for turn in bound):
            return f"{value!r} is not a quote: copy from one turn of the people being answered, word for word"
        if _count(value) >= LEAST or any(_words(turn) == _words(value) for turn in bound):
            return ""
        return f"{value!r} is under {LEAST} words: copy more of that turn, {LEAST} words or more, or the whole turn"


def list_quotes(turns: tuple[str, ...]) -> tuple[str, ...]:
    """The quotes for a grammar: every sentence of `LEAST` words or more, and turns without one as a whole."""
    choices: dict[str, None] = {}
    for turn in (" ".join(turn.split()) for turn in turns):
        ends = [0, *(end.end() for end in _SENTENCE.finditer(turn)), len(turn)]
        sentences = [turn[start:end].strip() for start, end in pairwise(ends)]
        choices |= dict.fromkeys([one for one in sentences if _count(one) >= LEAST] or [turn])
    return tuple(choices)


class AtMost(_Mark):
    """A text of at most `of` words. Texts of `ROOM` characters per word or more are shortened to whole sentences or
    words, also at exactly that length, where a grammar may have stopped."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), "maxLength": self.of * ROOM, "x-words": self.of}

    def _checked(self, value: str, info: ValidationInfo) -> str:
        if not info.context or (left := shorten(value, self.of * ROOM)) == value:
            return value
        info.context[REMOVED].append(f"the end of a long {info.field_name!r}")
        return left


def shorten(text: str, most: int) -> str:
    """A text under `most` characters, unchanged. Else its whole sentences within `most`, if at least half of it; else
    its whole words, if at least half; else its first `most` characters."""
    if len(text) < most:
        return text
    for ends in (_SENTENCE, _BLANK):
        if places := [place for end in ends.finditer(text) if most / 2 <= (place := end.end()) <= most]:
            return text[: places[-1]]
    return text[:most]


def _says(turn: str, quote: str) -> bool:
    words, quoted = _words(turn), _words(quote)
    return f" {quoted} " in f" {words} " if quoted else quote.strip() == turn.strip()


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", _spaced(text).casefold()))


def _count(text: str) -> int:
    return len(list(filter(_words, _spaced(text).split())))


def _spaced(text: str) -> str:
    """A text with single blanks between words."""
    return UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFKC", text))


def needs(symbol: str) -> dict[str, str]:
    """`json_schema_extra` of a field that is requested only if the agent sees the input `symbol`."""
    return {"x-needs": symbol}
