"""A backend whose completions come from a script: a function of the request, or a list in order.

It serves tests and measurements of the framework's overhead. It records every request, counts words as tokens, and
ignores schemas.

    backend = Scripted(lambda request: '{"emotion": "joy"}')
    backend = Scripted(["first", CallError(Failure.BUSY, "queue full"), "third"])
"""

import re
import threading
from collections.abc import Callable, Sequence

from mmerg.backends.cancel import CancelToken
from mmerg.backends.protocol import Completion, Engine, Finish, Request, TokenLogprob
from mmerg.errors import CallError, Failure

ScriptItem = str | Completion | Exception
Script = Callable[[Request], ScriptItem] | Sequence[ScriptItem]

ENGINE = Engine(backend="scripted", version="1", model="script", digest="0" * 64, capabilities=("completion", "vision"))
WORD_LOGPROB = -1.0  # of each word, if the request asks for log-probabilities


class Scripted:
    """A `Backend` that returns the result of `script`, or its next item. Raises exceptions, and completes with strings.

    `requests` has all requests so far, in order of arrival. Each call takes `latency` seconds. Raises CallError:
    server_error if the list has no item left, and interrupted once the backend is closed.
    """

    def __init__(self, script: Script, engine: Engine = ENGINE, latency: float = 0.0) -> None:
        self._script, self._engine, self._latency = script, engine, latency
        self._lock, self._closed = threading.Lock(), CancelToken()
        self.requests: list[Request] = []

    @property
    def calls(self) -> int:
        return len(self.requests)

    def describe(self) -> Engine:
        return self._engine

    def complete(self, request: Request) -> Completion:
        with self._lock:
            index = len(self.requests)
            self.requests.append(request)
        self._closed.wait(self._latency)
        if callable(self._script):
            item = self._script(request)
        elif index < len(self._script):
            item = self._script[index]
        else:
            hint = "give the script one item for each call"
            raise CallError(Failure.SERVER_ERROR, "the script has no item left", where="scripted", hint=hint)
        if isinstance(item, Exception):
            raise item
        if isinstance(item, str):
            return build_completion(request, item, "scripted", WORD_LOGPROB, self._latency)
        return item

    def close(self) -> None:
        self._closed.cancel()


def build_completion(request: Request, text: str, host: str, logprob: float, seconds: float = 0.0) -> Completion:
    """Builds a completion. Its tokens are the words of `text`, each with the whitespace before it."""
    words = re.findall(r"\s*\S+", text)
    return Completion(
        text=text,
        finish=Finish.STOP,
        logprobs=tuple(TokenLogprob(token=word, logprob=logprob) for word in words) if request.logprobs else (),
        prompt_tokens=sum(len(message.text.split()) for message in request.messages),
        response_tokens=len(words),
        seconds=seconds,
        host=host,
    )
