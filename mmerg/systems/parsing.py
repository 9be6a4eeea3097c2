"""The parsing of a completion into a record of its schema class.

Only this validation decides whether a completion is valid, as servers may ignore a schema or parts of it.
"""

import json
import re
from contextlib import suppress
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from mmerg.errors import CompletionError, Failure, SampleError, format_exception, locate_error
from mmerg.storage.json_objects import find_objects
from mmerg.systems.fields import QUOTE, REMOVED
from mmerg.systems.schema import Bounds, build_json_schema
from mmerg.systems.wire import Node, from_wire, wire_path

Record = TypeVar("Record", bound=BaseModel)
_BETWEEN = re.compile(r"\s|```(?:json)?")  # may stand around JSON


def parse_output(cls: type[Record], bounds: Bounds, text: str) -> tuple[Record, tuple[str, ...]]:
    """Returns the record in a model's `text`, and what was removed: words around the JSON object, ends of long texts.
    Uses the last valid object, unless the text consists of several different objects. Raises CompletionError
    (schema_invalid), whose `what` is the complaint for the model."""
    node = build_json_schema(cls, bounds).node

    def read(part: str, removed: list[str]) -> tuple[Record, tuple[str, ...]]:
        record = _validate(cls, bounds, from_wire(part, node), node, removed)
        return record, tuple(dict.fromkeys(removed))

    if _is_json(text):
        return read(text, [])
    objects = [text[place.start : place.stop] for place in find_objects(text)]
    differ = any(json.loads(other) != json.loads(objects[0]) for other in objects)
    if differ and _BETWEEN.sub("", text) == _BETWEEN.sub("", "".join(objects)):
        raise CompletionError(Failure.SCHEMA_INVALID, "the answer is several JSON objects that differ; write one")
    for candidate in reversed(objects):
        with suppress(CompletionError):
            return read(candidate, ["words around the JSON"])
    # The complaint is about the last object, unless a later brace shows that it is a part of a broken object.
    is_whole = objects and text[: text.rfind("}") + 1].endswith(objects[-1])
    return read(objects[-1] if is_whole else text, [])


def validate_output(cls: type[Record], bounds: Bounds, value: object) -> Record:
    """Returns the record of a `value` that the user's code returns, with class names. Raises CompletionError
    (schema_invalid), and TypeError or ValueError if JSON cannot hold the value."""
    return _validate(cls, bounds, json.dumps(value), {}, [])


def _validate(cls: type[Record], bounds: Bounds, text: str, node: Node, removed: list[str]) -> Record:
    """Returns the record in JSON with class names. node: the schema that gives complaints their wire names; {}: they
    get class names. removed: gets what is removed."""
    context = {**bounds.choices, **bounds.counts, QUOTE: bounds.quotable, REMOVED: removed}
    try:
        record = cls.model_validate_json(text, strict=True, context=context)
    except ValidationError as error:
        raise CompletionError(Failure.SCHEMA_INVALID, _complaint(error, node)) from error
    except Exception as error:  # a user's validator may raise anything; pydantic handles ValueError
        what = f"{cls.__name__} raised {format_exception(error)}"
        hint = "to reject a completion, raise ValueError in the validator: the model is shown its text"
        raise SampleError(Failure.CODE_ERROR, what, where=locate_error(error), hint=hint) from error
    requested = build_json_schema(cls, bounds).required
    if extra := sorted(record.model_fields_set - set(requested)):
        raise CompletionError(Failure.SCHEMA_INVALID, f"{', '.join(extra)}: was not asked for")
    for name in requested:
        if name not in record.model_fields_set or getattr(record, name) is None:
            raise CompletionError(Failure.SCHEMA_INVALID, f'"{wire_path([name], node)}" is missing')
    return record


def _is_json(text: str) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _complaint(error: ValidationError, node: Node) -> str:
    """Returns the first violations, each with its place."""
    lines = []
    for item in error.errors(include_url=False, include_input=False)[:8]:
        place = wire_path(item["loc"], node)
        what = item["msg"].removeprefix("Value error, ")
        lines.append(f"{place}: {what}" if place else what)
    return "; ".join(lines)
