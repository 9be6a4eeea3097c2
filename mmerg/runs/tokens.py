"""Which of a call's log-probabilities belong to the response itself.

A server gives one for each token that it generated: those of its thinking (Ollama puts them in front), of line feeds
around the reply, of whatever `ask` cut off at a stop text, of the JSON around a field, and on some servers of the end
token. A perplexity of the response is over the tokens that make up its characters and no others. A token that holds
a character of the response and one before or after it belongs to it, whole. llama.cpp counts a last token that holds
the stop text, too (".\\n"), as part of that and gives none for it: such a reply is without its last token.

    of_response(reply.logprobs, reply.text, "Oh no.")    # (-0.25, -1.5, -0.125)
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

from mmerg.backends.protocol import TokenLogprob

TAIL = 16  # characters that one token may hold
BROKEN = "\ufffd"  # what a server writes for the bytes of a character that is made of several tokens


def of_response(
    logprobs: Sequence[TokenLogprob], text: str, response: str, field: str = ""
) -> tuple[float, ...] | None:
    """The natural logarithms of the tokens of `response`, which stands in the reply's `text`: by itself, or as the
    JSON string of `field`. None where it cannot be found there, or the tokens are not those of the text."""
    start = text.find(response)
    place = _in_json(text, response, field) if field else (start, start + len(response))
    spans = _spans([entry.token for entry in logprobs], text)
    if not response or place is None or place[0] < 0 or spans is None:
        return None
    start, end = place
    own = (entry.logprob for entry, (a, b) in zip(logprobs, spans, strict=True) if a < b and a < end and b > start)
    return tuple(own) or None


def _in_json(text: str, response: str, field: str) -> tuple[int, int] | None:
    for found in re.finditer(rf'{re.escape(json.dumps(field))}\s*:\s*("((?:[^"\\]|\\.)*)")', text):
        try:
            value = json.loads(found[1])
        except ValueError:
            continue
        if value.strip() == response.strip():
            return found.span(2)
    return None


def _spans(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Where each token stands in `text`; outside of it for those of the thinking or after the end."""
    first = "".join(tokens).rfind(text)
    if first < 0:
        return _walked(tokens, text)
    ends = list(accumulate(map(len, tokens), initial=-first))
    return list(pairwise(ends))


def _walked(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """The same where characters are split over tokens, which share what stands between their neighbours, or the last
    token is not there."""
    spans: list[tuple[int, int]] = []
    broken: list[int] = []
    at = 0
    for number, token in enumerate(tokens):
        if not token or BROKEN in token:
            broken.append(number)
            spans.append((at, at))
            continue
        start = text.find(token, at) if broken else at
        if start < 0 or not _agree(text, token, start):
            return None
        for index in broken:
            spans[index] = (at, start)
        broken.clear()
        spans.append((start, start + len(token)))
        at = start + len(token)
    for index in broken:
        spans[index] = (at, len(text))
    return spans if broken or at >= len(text) - TAIL else None


def _agree(text: str, token: str, start: int) -> bool:
    """Whether `token` stands at `start`, or goes on over the text's end."""
    return text.startswith(token, start) or token.startswith(text[start:])
