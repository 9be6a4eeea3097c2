"""Marks on the fields of schema classes. They bound a field by the sample (its labels, its numbers of turns and frames,
missing inputs), or by a length in words.

`schema.py` turns marks into the JSON schema of one call. Validation checks the same bounds, which it gets in pydantic's
context. Without a context, as for records that are read from files, it checks none.

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
REMOVED = "removed"  # key in pydantic's context: the list of what was removed from the completion
ROOM = 12  # characters per word: about twice the usual length, so that few texts are shortened
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*(?=\s|$)")
_SPEAKER = re.compile(r"^(?:\d+\. )?[^:]{1,40}: ")  # the start of a turn in a prompt
_BLANK = re.compile(r"\S(?=\s)")
MIN_WORDS = 3  # of a quote; two words appear in almost any turn
QUOTED = "a sentence of one turn, copied word for word"


@dataclass(frozen=True)
class _Mark:
    """A mark on a field. The argument is the limit, or the key of the bound in pydantic's context."""

    argument: Any

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._validate, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), f"x-{type(self).__name__.lower()}": self.argument}

    def _validate(self, value: Any, info: ValidationInfo) -> Any:
        if info.context and (complaint := self.complaint(value, info.context[self.argument])):
            raise ValueError(complaint)
        return value

    def complaint(self, value: Any, bound: Any) -> str:  # noqa: ARG002 - for marks that bound a value
        """Returns what is wrong with a value; "" if it is valid."""
        return ""


class Choice(_Mark):
    """A word of a vocabulary, which the argument names, such as the sample's emotions or the stances of a plan."""

    def complaint(self, value: str, bound: tuple[str, ...]) -> str:
        return "" if value in bound else f"{value!r} is not one of {', '.join(bound)}"


class Index(_Mark):
    """The number, from 1, of a turn or frame that the agent may cite. The argument is "turn" or "frame"."""

    def complaint(self, value: int, bound: range) -> str:
        if value in bound:
            return ""
        if 1 <= value < bound.start:
            return f"{self.argument} {value} is too early, name {bound.start} to {bound.stop - 1}"
        return f"there is no {self.argument} {value}, they are numbered {bound.start} to {bound.stop - 1}"


@dataclass(frozen=True)
class Quote(_Mark):
    """At least three words, or a whole turn, of the people to whom the responder replies. If only the responder has
    spoken, any turn may be quoted. Case and punctuation do not matter. A speaker's name before the quote is removed."""

    argument: str = QUOTE

    def _validate(self, value: Any, info: ValidationInfo) -> Any:
        without_speaker = _SPEAKER.sub("", value)
        if not info.context or without_speaker == value or not self.complaint(value, info.context[self.argument]):
            return super()._validate(value, info)
        super()._validate(without_speaker, info)
        info.context[REMOVED].append("speaker's name before a quote")
        return without_speaker

    def complaint(self, value: str, bound: tuple[str, ...]) -> str:
        if not any(_contains(turn, value) for turn in bound):
            return f"{value!r} is not a quote: copy from one turn of the people being answered, word for word"
        if _count_words(value) >= MIN_WORDS or any(_join_words(turn) == _join_words(value) for turn in bound):
            return ""
        least = MIN_WORDS
        return f"{value!r} is under {least} words: copy more of that turn, {least} words or more, or the whole turn"


def list_quotes(turns: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the quotes that a grammar allows: every sentence of at least `MIN_WORDS` words, and whole turns that have
    no such sentence."""
    choices: dict[str, None] = {}
    for turn in (" ".join(turn.split()) for turn in turns):
        ends = [0, *(end.end() for end in _SENTENCE.finditer(turn)), len(turn)]
        sentences = [turn[start:end].strip() for start, end in pairwise(ends)]
        long_enough = [sentence for sentence in sentences if _count_words(sentence) >= MIN_WORDS]
        choices |= dict.fromkeys(long_enough or [turn])
    return tuple(choices)


class AtMost(_Mark):
    """A text of at most as many words as the argument says.

    Its limit in characters is `ROOM` times as high. A text that reaches this limit is shortened to whole sentences or
    words, even if it has exactly that length, as a grammar may have cut it off there.
    """

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), "maxLength": self.argument * ROOM, "x-words": self.argument}

    def _validate(self, value: str, info: ValidationInfo) -> str:
        if not info.context or (shortened := shorten(value, self.argument * ROOM)) == value:
            return value
        info.context[REMOVED].append(f"the end of a long {info.field_name!r}")
        return shortened


def shorten(text: str, most: int) -> str:
    """Shortens a text of `most` characters or more.

    Returns the whole sentences within the first `most` characters if they fill at least half of them; otherwise the
    whole words if these do; otherwise the first `most` characters. Shorter texts remain as they are.
    """
    if len(text) < most:
        return text
    for pattern in (_SENTENCE, _BLANK):
        ends = [match.end() for match in pattern.finditer(text) if most / 2 <= match.end() <= most]
        if ends:
            return text[: ends[-1]]
    return text[:most]


def _contains(turn: str, quote: str) -> bool:
    words, quoted = _join_words(turn), _join_words(quote)
    return f" {quoted} " in f" {words} " if quoted else quote.strip() == turn.strip()


def _join_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", _separate_words(text).casefold()))


def _count_words(text: str) -> int:
    return len(list(filter(_join_words, _separate_words(text).split())))


def _separate_words(text: str) -> str:
    """Returns the text with blanks between words, even in scripts that write none."""
    return UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFKC", text))


def needs(symbol: str) -> dict[str, str]:
    """Returns the `json_schema_extra` of a field that is requested only if the agent sees the input `symbol`."""
    return {"x-needs": symbol}
