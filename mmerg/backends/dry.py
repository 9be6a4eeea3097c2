"""A backend without a model, which shows in seconds whether a system runs.

For a request with a schema, the completion is the smallest value that the schema allows; otherwise it is one sentence.
Every table of such a run names the backend.

    mmerg run dataset=demo backend=dry
"""

import hashlib
import json
from dataclasses import dataclass

from pydantic import JsonValue

from mmerg.backends.protocol import Completion, Engine, Request
from mmerg.backends.scripted import build_completion

TEXT = "This is a dry run."


@dataclass(frozen=True)
class Dry:
    """A backend that responds at once. The request's digest selects the word of an enumeration, so that results differ.
    `model` is the model of the settings, which is not used."""

    host: str = "dry"
    model: str = ""

    def describe(self) -> Engine:
        digest = hashlib.sha256(TEXT.encode()).hexdigest()
        return Engine(backend="dry", version="1", model="none", digest=digest, capabilities=("completion", "vision"))

    def complete(self, request: Request) -> Completion:
        text = TEXT
        if request.schema:
            value = build_smallest(json.loads(request.schema), int(request.digest, 16))
            text = json.dumps(value, ensure_ascii=False)
        return build_completion(request, text, self.host, logprob=0.0)

    def close(self) -> None:
        """Does nothing, as there is nothing to close."""


def build_smallest(schema: dict[str, JsonValue], pick: int) -> JsonValue:
    """Builds the smallest value that a JSON schema of mmerg allows, but for patterns. pick: selects the enum's word."""
    match schema:
        case {"enum": list(words)}:
            return words[pick % len(words)]
        case {"type": "object", "properties": dict(properties)}:
            return {name: build_smallest(inner, pick) for name, inner in properties.items() if isinstance(inner, dict)}
        case {"type": "array", "items": dict(inner)}:
            count = int(str(schema.get("minItems", 0)))
            return [build_smallest(inner, pick + index) for index in range(count)]  # so that items differ
        case {"type": "string"}:
            max_length = schema.get("maxLength")
            return TEXT[:max_length] if isinstance(max_length, int) else TEXT
        case {"type": "boolean"}:
            return True
    number = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    assert isinstance(number, int | float)
    return number + 1 if "exclusiveMinimum" in schema else number
