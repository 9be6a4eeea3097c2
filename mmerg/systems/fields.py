"""Marks on schema fields whose bounds are known only per sample: labels, numbered turns and frames, absent inputs.

A schema class stays one frozen pydantic class; `schema.py` in the engine turns the marks into the JSON schema of one
call, and validation holds a reply to the same bounds through pydantic's context.

    class Forecast(BaseModel):
        emotion: Annotated[str, Choice("emotion")]
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

CHOICE, INDEX, QUOTE, NEEDS = "x-choice", "x-index", "x-quote", "x-needs"


@dataclass(frozen=True)
class Choice:
    """A word of the vocabulary `of` (the sample's emotion labels, a plan's stances, …)."""

    of: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), CHOICE: self.of}

    def _check(self, value: str, info: ValidationInfo) -> str:
        # Without a context a record is being read back, which was checked when it was made.
        if info.context and value not in info.context[self.of]:
            raise ValueError(f"{value!r} is not one of {', '.join(info.context[self.of])}")
        return value


@dataclass(frozen=True)
class Index:
    """The number, from 1, of a turn or frame (`of`) that the agent was shown."""

    of: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), INDEX: self.of}

    def _check(self, value: int, info: ValidationInfo) -> int:
        if info.context and not 1 <= value <= info.context[self.of]:
            raise ValueError(f"there is no {self.of} {value}, they are numbered 1 to {info.context[self.of]}")
        return value


@dataclass(frozen=True)
class Quote:
    """Words of one turn of those who are answered (of any turn where nobody else has spoken), case and punctuation
    aside."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), QUOTE: True}

    def _check(self, value: str, info: ValidationInfo) -> str:
        if info.context and not any(_says(turn, value) for turn in info.context[QUOTE]):
            raise ValueError(f"{value!r} was not said so: copy from one turn of those who are answered, word for word")
        return value


def _says(turn: str, quote: str) -> bool:
    said, quoted = _words(turn), _words(quote)
    return f" {quoted} " in f" {said} " if quoted else quote.strip() == turn.strip()


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def needs(symbol: str) -> dict[str, str]:
    """`json_schema_extra` for a field that is asked for only where the agent sees the input `symbol`."""
    return {NEEDS: symbol}
