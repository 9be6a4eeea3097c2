"""A backend without a model, which shows in seconds whether a system runs. A reply under a schema is the smallest that
the schema allows; any other is one sentence. Every table names it.

    mmerg run dataset=demo backend=dry
"""

import hashlib
import json
from dataclasses import dataclass

from pydantic import JsonValue

from mmerg.backends.protocol import Engine, Reply, Request
from mmerg.backends.scripted import build_reply

TEXT = "This is a dry run."


@dataclass(frozen=True)
class Dry:
    """Replies at once. The request's digest selects the word of an enumeration, so that results differ. model: the
    model of the settings, which is not used."""

    host: str = "dry"
    model: str = ""

    def describe(self) -> Engine:
        digest = hashlib.sha256(TEXT.encode()).hexdigest()
        return Engine(backend="dry", version="1", model="none", digest=digest, capabilities=("completion", "vision"))

    def complete(self, request: Request) -> Reply:
        text = TEXT
        if request.schema:
            value = least(json.loads(request.schema), int(request.digest(), 16))
            text = json.dumps(value, ensure_ascii=False)
        return build_reply(request, text, self.host, logprob=0.0)

    def close(self) -> None:
        """Nothing is held."""


def least(schema: dict[str, JsonValue], pick: int) -> JsonValue:
    """The smallest value that a JSON schema of mmerg allows, ignoring patterns. pick: selects from an enumeration."""
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
