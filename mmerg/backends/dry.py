"""A backend without a model, to see in seconds whether a system runs. It answers a schema with the least that the
schema allows, and free text with one sentence. Every table names it.

    mmerg run dataset=demo backend=dry
"""

import hashlib
import json
from dataclasses import dataclass

from pydantic import JsonValue

from mmerg.backends.protocol import Engine, Reply, Request
from mmerg.backends.scripted import whole_reply

TEXT = "This is a dry run."


@dataclass(frozen=True)
class Dry:
    """Answers at once. The request's digest picks the word of an enumeration, so that results differ."""

    host: str = "dry"
    model: str = ""  # what would answer

    def describe(self) -> Engine:
        digest = hashlib.sha256(TEXT.encode()).hexdigest()
        return Engine(backend="dry", version="1", model="none", digest=digest, capabilities=("completion", "vision"))

    def complete(self, request: Request) -> Reply:
        text = TEXT
        if request.schema:
            value = least(json.loads(request.schema), int(request.digest(), 16))
            text = json.dumps(value, ensure_ascii=False)
        return whole_reply(request, text, self.host, logprob=0.0)

    def close(self) -> None:
        """Nothing is held."""


def least(schema: dict[str, JsonValue], pick: int) -> JsonValue:
    """The least value that a JSON schema of mmerg allows, without patterns. pick: chooses a word of an enumeration."""
    match schema:
        case {"enum": list(words)}:
            return words[pick % len(words)]
        case {"type": "object", "properties": dict(properties)}:
            return {name: least(inner, pick) for name, inner in properties.items() if isinstance(inner, dict)}
        case {"type": "array", "items": dict(inner)}:
            count = schema.get("minItems", 0)
            return [least(inner, pick + number) for number in range(int(str(count)))]  # of three no two alike
        case {"type": "string"}:
            most = schema.get("maxLength")
            return TEXT[:most] if isinstance(most, int) else TEXT
        case {"type": "boolean"}:
            return True
    number = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    assert isinstance(number, int | float)
    return number + 1 if "exclusiveMinimum" in schema else number
