"""What a setting may be: texts, paths, numbers within bounds, and the classes of which `model.py` builds its tree."""

import math
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    SerializerFunctionWrapHandler,
    model_serializer,
)

RUNTIME = "decides no result"  # it says how results are had, not what they are: a run goes on with it changed
PLACE = "a path"  # where a file or folder lies, which decides no result either
PASSWORD = re.compile(r"://[^/\s]*@")  # in an address
NO_PASSWORD = "no name and no password, which a run's files would show: reach the server through a tunnel or a proxy"
Plain: TypeAlias = dict[str, Any]  # settings as YAML has them
Value = TypeVar("Value")


def _where(holds: Callable[[Value], object], otherwise: str) -> Callable[[Value], Value]:
    """Passes on a value for which `holds`."""

    def checked(value: Value) -> Value:
        if not holds(value):
            raise ValueError(otherwise)
        return value

    return checked


def _text(value: Any) -> str:
    """Takes what pydantic's own type refuses, as names of files may hold it, and numbers, as in `ids=[5]`."""
    if type(value) in (int, float):
        return str(value)
    if not isinstance(value, str):
        raise ValueError("a text")  # noqa: TRY004 - as pydantic takes it
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_shard(text: str) -> bool:
    found = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", text)
    return found is not None and int(found[1]) <= int(found[2])


def _is_emotions(value: object) -> bool:
    labels = value if isinstance(value, list | tuple) else ()
    return value in ("all", "nonneutral") or (len(labels) > 0 and all(map(_is_text, labels)))


def _is_finite(value: object) -> bool:
    """Whether JSON, as which settings are kept, has all of the value: nan and inf would turn to null."""
    if isinstance(value, dict | list | tuple):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


Text = Annotated[str, PlainValidator(_text)]
Word = Annotated[str, PlainValidator(_where(lambda value: _is_text(value) and value, "a text that is not empty"))]
Name = Annotated[  # becomes a part of a folder's name
    Text,
    AfterValidator(_where(re.compile(r"[\w.+-]*\w[\w.+-]*").fullmatch, "letters, digits, '.', '_', '+' and '-' only")),
]
Path = Annotated[str, PlainValidator(_where(_is_text, "a path; in quotes where it looks like something else"))]
JsonFile = Annotated[
    Path,
    AfterValidator(_where(lambda file: file.endswith(".json"), "a file that ends in .json; the sheet goes beside it")),
]
ShardOf = Annotated[  # mmerg.runs.shards
    Text,
    AfterValidator(_where(_is_shard, "i/n with 1 ≤ i ≤ n ≤ 99999: 3/64 is the third of 64")),
]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Words = Annotated[tuple[Word, ...], Field(strict=False, min_length=1)]
Hosts = Annotated[
    tuple[Word, ...],
    Field(strict=False),
    AfterValidator(_where(lambda hosts: not any(map(PASSWORD.search, hosts)), NO_PASSWORD)),
]
Emotions = Annotated[Any, PlainValidator(_where(_is_emotions, "all, nonneutral, or a list: [joy,anger]"))]
Numbers = Annotated[tuple[int, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[Number, Field(gt=0, le=10_000_000)]
Similarity = Annotated[Number, Field(ge=-1, le=1)]
Side = Annotated[int, Field(ge=32)]  # pixels


class Part(BaseModel):
    """A node of the settings. `plain` is what YAML has, keys as they are set."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    def plain(self) -> Plain:
        return self.model_dump(mode="json", by_alias=True)


class Given(Part):
    """A node of which only what was set counts: for the rest, what it is handed to has defaults of its own."""

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> Plain:
        names = {info.alias or name: name for name, info in type(self).model_fields.items()}
        return {key: value for key, value in handler(self).items() if names.get(key, key) in self.model_fields_set}


class Target(Given):
    """A class of anybody's (`_target_`) and what it is made with."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[
        str, Annotated[Any, AfterValidator(_where(_is_finite, "numbers, which nan and inf are not"))]
    ]

    target: Word = Field(alias="_target_")
