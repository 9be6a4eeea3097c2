"""A backend that needs no model, to see in seconds whether a system of one's own runs: it answers a schema with the
least that it allows and free text with one sentence. Its figures mean nothing, and its name stands in every table.

    mmerg run dataset=demo backend=dry
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from pydantic import JsonValue

from mmerg.backends.protocol import Engine, Reply, Request
from mmerg.backends.scripted import worded

TEXT = "This is a dry run."
QUOTED = "copied word for word from one turn"  # what a schema says of words of the dialogue
TURN = re.compile(r"^[0-9]+\. (?P<speaker>.+?): (?P<text>.*)$", re.MULTILINE)  # of a dialogue in a prompt


@dataclass(frozen=True)
class Dry:
    """Answers at once. The words of an enumeration are picked by the request's digest, so that results differ."""

    host: str = "dry"
    model: str = ""  # what would answer

    def describe(self) -> Engine:
        digest = hashlib.sha256(TEXT.encode()).hexdigest()
        return Engine(backend="dry", version="1", model="none", digest=digest, capabilities=("completion", "vision"))

    def complete(self, request: Request) -> Reply:
        text = TEXT
        if request.schema:
            prompt = "\n".join(message.text for message in request.messages)
            value = least(json.loads(request.schema), int(request.digest(), 16), quotable(prompt))
            text = json.dumps(value, ensure_ascii=False)
        return worded(request, text, self.host, logprob=0.0)

    def close(self) -> None:
        """Nothing is held."""


def quotable(prompt: str) -> str:
    """The last turn in the prompt of someone whom the step, which names only who answers, does not name."""
    turns = list(TURN.finditer(prompt))
    step = turns[-1].string[turns[-1].end() :] if turns else ""
    said = [turn["text"] for turn in turns if turn["speaker"] not in step] or [turn["text"] for turn in turns]
    return said[-1] if said else TEXT


def least(schema: dict[str, JsonValue], pick: int, quote: str = TEXT) -> JsonValue:
    """The least value that a JSON schema of ours allows, without patterns; `pick` chooses among an enumeration, and
    `quote` stands where words of the dialogue are asked for."""
    match schema:
        case {"enum": list(words)}:
            return words[pick % len(words)]
        case {"type": "object", "properties": dict(properties)}:
            return {name: least(inner, pick, quote) for name, inner in properties.items() if isinstance(inner, dict)}
        case {"type": "array", "items": dict(inner)}:
            least_items = schema.get("minItems", 0)
            count = least_items if isinstance(least_items, int) else 0
            return [least(inner, pick + number, quote) for number in range(count)]  # of three choices no two alike
        case {"type": "string"}:
            most = schema.get("maxLength")
            text = quote if QUOTED in str(schema.get("description")) else TEXT
            if text is quote and isinstance(most, int) and len(text) > most:  # whole words
                text = text[: most + 1].rsplit(" ", 1)[0]
            return text[:most] if isinstance(most, int) else text
        case {"type": "boolean"}:
            return True
    number = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    assert isinstance(number, int | float)
    return number + 1 if "exclusiveMinimum" in schema else number
