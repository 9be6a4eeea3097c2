"""The likelihood of a given text as the completion of a prompt, by the log-probabilities of its tokens.

`Request.likelihood_of` holds the text. vLLM and SGLang read it as the start of the completion, and return the
log-probabilities of its tokens. Ollama and llama-server return none for a prompt. With them, a schema whose only value
is the text makes the model write it; the log-probabilities are the model's, from before the schema is enforced. The
tokens are then the likeliest ones that spell the text, which may not be those of the tokenizer, so their sum is an
approximation. `mmerg doctor` compares it with the sum for a completion.

    completion = backend.complete(build_likelihood_request(messages, "It's fine."))
    sum(token.logprob for token in completion.logprobs)
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic import JsonValue

from mmerg.backends.protocol import Completion, Finish, Request, TokenLogprob
from mmerg.errors import CompletionError, Failure


def build_writing_request(request: Request) -> Request:
    """Builds a request that makes the model write the text, as the only value that its schema allows."""
    value = _parse_text(request.likelihood_of)
    schema: dict[str, JsonValue] = {"enum": [value]} | ({"type": "string"} if isinstance(value, str) else {})
    return replace(request, schema=json.dumps(schema, ensure_ascii=False), likelihood_of="")


def read_written_text(request: Request, completion: Completion) -> Completion:
    """Reads the text and its tokens from the completion of `build_writing_request(request)`. Raises CompletionError if
    the model wrote another text."""
    value = _parse_text(request.likelihood_of)
    try:
        written = json.loads(completion.text)
    except ValueError:
        written = None
    if written != value or completion.finish is not Finish.STOP or not completion.logprobs:
        what = f"the model should write a given text, but wrote {completion.text[:80]!r}"
        hint = "the server does not enforce schemas, or gives no log-probabilities: run mmerg doctor"
        if completion.thinking:
            hint = "the model thinks first: set backbone.think=false, or use its instruct tag"
        raise CompletionError(Failure.SERVER_ERROR, what, where=completion.host, hint=hint)
    text = completion.text.strip()
    if isinstance(value, str):
        text = text.removeprefix('"').removesuffix('"')
    tokens = _select_tokens(text, completion.logprobs)
    return completion.model_copy(update={"text": request.likelihood_of, "logprobs": tokens})


def _select_tokens(text: str, tokens: Sequence[TokenLogprob]) -> tuple[TokenLogprob, ...]:
    """Selects the tokens that contain a character of `text`, without those of the quotation marks, whitespace and code
    fences around it."""
    start = "".join(token.token for token in tokens).find(text)
    if start < 0:  # the text has a character of several tokens: select all tokens but the quotation marks
        is_mark = [token.token.strip() in ('"', "") for token in tokens]
        before, after = is_mark.index(False), is_mark[::-1].index(False)
        return tuple(tokens[before : len(tokens) - after])
    selected = []
    token_start = 0
    for token in tokens:
        token_end = token_start + len(token.token)
        if token_end > start and token_start < start + len(text):
            selected.append(token)
        token_start = token_end
    return tuple(selected)


def take_end_tokens(tokens: Iterable[TokenLogprob], text: str) -> tuple[TokenLogprob, ...]:
    """Returns the tokens of `text` at the end of a prompt with these `tokens`, or () if it does not end with `text`."""
    taken: list[TokenLogprob] = []
    joined = ""
    for token in reversed(list(tokens)):
        taken.append(token)
        joined = token.token + joined
        if len(joined) >= len(text):
            return tuple(reversed(taken)) if joined.endswith(text) or "\ufffd" in joined else ()
    return ()


def _parse_text(text: str) -> JsonValue:
    """Parses a JSON object, so that the model writes it without escapes. Returns any other text unchanged."""
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
