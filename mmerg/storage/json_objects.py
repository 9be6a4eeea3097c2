"""Finds JSON objects in a model's text."""

import json
from collections.abc import Iterator


def objects_in(text: str) -> Iterator[range]:
    """The positions of the complete JSON objects in a text, in order, without objects inside others."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield range(start, end)
        start = text.find("{", end)
