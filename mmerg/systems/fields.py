"""Marks on schema fields whose bounds are known only per sample: labels, numbered turns and frames, absent inputs.

`schema.py` turns the marks into the JSON schema of one call; validation holds a reply to the same bounds through
pydantic's context. Without a context a record is being read back, which was checked when it was made.

    class Forecast(BaseModel):
        emotion: Annotated[str, Choice("emotion")]
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

QUOTE = "x-quote"
LEAST = 3  # words of a quote: fewer are found anywhere
QUOTED = f"copied word for word from one turn, {LEAST} words or more, or the whole turn"


@dataclass(frozen=True)
class _Mark:
    of: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), f"x-{type(self).__name__.lower()}": self.of}

    def _checked(self, value: Any, info: ValidationInfo) -> Any:
        if info.context and (complaint := self.complaint(value, info.context[self.of])):
            raise ValueError(complaint)
        return value

    def complaint(self, value: Any, bound: Any) -> str:
        """What is wrong with a value, "" where nothing is."""
        raise NotImplementedError


class Choice(_Mark):
    """A word of the vocabulary `of` (the sample's emotion labels, a plan's stances, …)."""

    def complaint(self, value: str, bound: tuple[str, ...]) -> str:
        return "" if value in bound else f"{value!r} is not one of {', '.join(bound)}"


class Index(_Mark):
    """The number, from 1, of a turn or frame (`of`) that the agent was shown."""

    def complaint(self, value: int, bound: int) -> str:
        return "" if 1 <= value <= bound else f"there is no {self.of} {value}, they are numbered 1 to {bound}"


@dataclass(frozen=True)
class Quote(_Mark):
    """Three words or more, or a whole turn, of those who are answered (of anybody where nobody else has spoken), case
    and punctuation aside."""

    of: str = QUOTE

    def complaint(self, value: str, bound: tuple[str, ...]) -> str:
        if not any(_says(turn, value) for turn in bound):
            return f"{value!r} was not said so: copy from one turn of those who are answered, word for word"
        if len(list(filter(_words, value.split()))) >= LEAST or any(_words(turn) == _words(value) for turn in bound):
            return ""
        return f"{value!r} is under {LEAST} words: copy more of that turn, {LEAST} words or more, or the whole turn"


def _says(turn: str, quote: str) -> bool:
    said, quoted = _words(turn), _words(quote)
    return f" {quoted} " in f" {said} " if quoted else quote.strip() == turn.strip()


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def needs(symbol: str) -> dict[str, str]:
    """`json_schema_extra` for a field that is asked for only where the agent sees the input `symbol`."""
    return {"x-needs": symbol}
