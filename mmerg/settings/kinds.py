"""The types of settings: texts, paths, bounded numbers, and the base classes of `model.py`."""

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    PlainValidator,
    SerializerFunctionWrapHandler,
    model_serializer,
)

# Marks of settings.
RUNTIME_ONLY = "does not affect results"  # an interrupted run may continue with another value
PLACE = "a path"  # of a file or folder; at most its last name affects results
PASSWORD = re.compile(r"://[^/\s]*@")  # in an address
NO_PASSWORD = "no name and no password, which a run's files would show: reach the server through a tunnel or a proxy"
Plain: TypeAlias = dict[str, Any]  # settings as in YAML
Value = TypeVar("Value")


def _must(holds: Callable[[Value], object], what: str) -> Callable[[Value], Value]:
    """Returns a validator that requires `holds(value)`. what: describes a valid value, for the error."""

    def checked(value: Value) -> Value:
        if not holds(value):
            raise ValueError(what)
        return value

    return checked


def folder_name(model: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", model)


def _is_shard(text: str) -> bool:
    match = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", text)
    return match is not None and int(match[1]) <= int(match[2])


def _is_emotions(value: object) -> bool:
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(label, str) for label in value)
    return value in ("all", "nonneutral")


Text = Annotated[str, Field(strict=False, coerce_numbers_to_str=True)]  # `ids=[5]` is a text, too
Word = Annotated[str, Field(min_length=1)]
Name = Annotated[  # part of a folder's name
    Text,
    AfterValidator(_must(re.compile(r"[\w.+-]*\w[\w.+-]*").fullmatch, "letters, digits, '.', '_', '+' and '-' only")),
]
ModelName = Annotated[
    Text,
    AfterValidator(_must(re.compile(r"[\w./:+-]*\w").fullmatch, "letters, digits and . _ + - / : only")),
]
ShardText = Annotated[  # mmerg.runs.shards
    Text,
    AfterValidator(_must(_is_shard, "i/n with 1 ≤ i ≤ n ≤ 99999: 3/64 is the third of 64")),
]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Words = Annotated[tuple[Word, ...], Field(strict=False, min_length=1)]
OneOrMore = Annotated[  # a text, or a list of texts
    tuple[Word, ...],
    Field(strict=False, min_length=1),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
]
Hosts = Annotated[
    tuple[Word, ...],
    Field(strict=False),
    AfterValidator(_must(lambda hosts: not any(map(PASSWORD.search, hosts)), NO_PASSWORD)),
]
Emotions = Annotated[Any, PlainValidator(_must(_is_emotions, "all, nonneutral, or a list: [joy,anger]"))]
Numbers = Annotated[tuple[int, ...], Field(strict=False)]
Seconds = Annotated[FiniteFloat, Field(gt=0, le=10_000_000)]
Similarity = Annotated[FiniteFloat, Field(ge=-1, le=1)]
Side = Annotated[int, Field(ge=32)]  # pixels


class SettingsModel(BaseModel):
    """A node of the settings. `plain` returns it as in YAML."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    def plain(self) -> Plain:
        return self.model_dump(mode="json", by_alias=True)


class SparseSettings(SettingsModel):
    """A node whose `plain` has only the settings that were set. The code that gets it has defaults for the others."""

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> Plain:
        names = {info.alias or name: name for name, info in type(self).model_fields.items()}
        return {key: value for key, value in handler(self).items() if names.get(key, key) in self.model_fields_set}


class ClassSpec(SparseSettings):
    """A class of mmerg or of the user (`_target_`), and its arguments."""

    model_config = ConfigDict(extra="allow")

    target: Word = Field(alias="_target_")
