"""Finds JSON in what a model wrote."""

import json
from collections.abc import Iterator


def objects_in(text: str) -> Iterator[range]:
    """The places of the whole JSON objects in a text, in order. Those within another are not given."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield range(start, end)
        start = text.find("{", end)
