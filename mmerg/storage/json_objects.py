"""JSON objects in a model's text."""

import json
from collections.abc import Iterator


def find_objects(text: str) -> Iterator[range]:
    """Yields the positions of the complete JSON objects in a text, in order. Skips objects inside other objects."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield range(start, end)
        start = text.find("{", end)
