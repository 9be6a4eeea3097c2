"""How likely a given text is as the reply to a prompt: the log-probabilities of its tokens (`Request.likelihood_of`).

vLLM and SGLang read the text as the start of the reply and give the log-probabilities of its tokens. Ollama and
llama-server give none for a prompt. There, a schema whose only value is the text makes the model write it, and the
log-probabilities are those before the schema is enforced. The tokens are then the likeliest that spell the text, not
those of the tokenizer, so their sum is an approximation. `mmerg doctor` compares it with the sum for a reply.

    reply = backend.complete(build_likelihood_request(messages, "It's fine."))
    sum(token.logprob for token in reply.logprobs)
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from pydantic import JsonValue

from mmerg.backends.protocol import Finish, Reply, Request, TokenLogprob
from mmerg.errors import Failure, ReplyError


def writing(request: Request) -> Request:
    """A request that makes the model write the text, as the only value that its schema allows."""
    value = _value(request.likelihood_of)
    schema: dict[str, JsonValue] = {"enum": [value]} | ({"type": "string"} if isinstance(value, str) else {})
    return replace(request, schema=json.dumps(schema, ensure_ascii=False), likelihood_of="")


def as_written(request: Request, reply: Reply) -> Reply:
    """The text with its tokens, from the reply to `writing(request)`. Raises ReplyError if the model wrote another."""
    value = _value(request.likelihood_of)
    try:
        wrote = json.loads(reply.text)
    except ValueError:
        wrote = None
    if wrote != value or reply.finish is not Finish.STOP or not reply.logprobs:
        what = f"asked to write a given text, the model wrote {reply.text[:80]!r}"
        hint = "the server does not enforce schemas, or gives no log-probabilities: run mmerg doctor"
        if reply.thinking:
            hint = "the model thinks first: set backbone.think=false, or use its instruct tag"
        raise ReplyError(Failure.SERVER_ERROR, what, where=reply.host, hint=hint)
    own = reply.text.strip()[1:-1] if isinstance(value, str) else reply.text.strip()
    return reply.model_copy(update={"text": request.likelihood_of, "logprobs": _of(own, reply.logprobs)})


def _of(own: str, tokens: Sequence[TokenLogprob]) -> tuple[TokenLogprob, ...]:
    """The tokens that contain a character of `own`, without quotation marks, whitespace and code fences around it."""
    start = "".join(one.token for one in tokens).find(own)
    if start < 0:  # a character of several tokens cannot be found; then all tokens but the quotation marks
        marks = [one.token.strip() in ('"', "") for one in tokens]
        first, last = marks.index(False), marks[::-1].index(False)
        return tuple(tokens[first : len(tokens) - last])
    ends = accumulate(len(one.token) for one in tokens)
    return tuple(
        one for one, end in zip(tokens, ends, strict=True) if end > start and end - len(one.token) < start + len(own)
    )


def at_end(tokens: Iterable[TokenLogprob], text: str) -> tuple[TokenLogprob, ...]:
    """The tokens of `text` at the end of a prompt with these `tokens`; () if it does not end with the text."""
    own: list[TokenLogprob] = []
    joined = ""
    for token in reversed(list(tokens)):
        own.append(token)
        joined = token.token + joined
        if len(joined) >= len(text):
            return tuple(reversed(own)) if joined.endswith(text) or "\ufffd" in joined else ()
    return ()


def _value(text: str) -> JsonValue:
    """A JSON object as a dict, so that the model writes it without escapes; any other text unchanged."""
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
