"""A backend that replies from a script: a function of the request, or a list of replies in order.

For tests, and to measure the framework's own cost. It keeps every request, counts words as tokens, and ignores schemas.

    backend = Scripted(lambda request: '{"emotion": "joy"}')
    backend = Scripted(["first reply", CallError(Failure.BUSY, "queue full"), "third reply"])
"""

import re
import threading
from collections.abc import Callable, Sequence

from mmerg.backends.cancel import CancelToken
from mmerg.backends.protocol import Engine, Finish, Reply, Request, TokenLogprob
from mmerg.errors import CallError, Failure

ScriptItem = str | Reply | Exception
Script = Callable[[Request], ScriptItem] | Sequence[ScriptItem]

ENGINE = Engine(backend="scripted", version="1", model="script", digest="0" * 64, capabilities=("completion", "vision"))
WORD_LOGPROB = -1.0  # of every word of a scripted text, if the request asks for log-probabilities


class Scripted:
    """Replies with the result of `script`, or with its next item. Exceptions are raised, strings become replies.

    latency: seconds that each call takes. requests: all requests, in order of arrival. Raises CallError: server_error
    if a list has no item left, interrupted once closed.
    """

    def __init__(self, script: Script, engine: Engine = ENGINE, latency: float = 0.0) -> None:
        self._script, self._engine, self._latency = script, engine, latency
        self._lock, self._closed = threading.Lock(), CancelToken()
        self.requests: list[Request] = []

    @property
    def calls(self) -> int:
        """The number of calls."""
        return len(self.requests)

    def describe(self) -> Engine:
        return self._engine

    def complete(self, request: Request) -> Reply:
        with self._lock:
            place = len(self.requests)
            self.requests.append(request)
        self._closed.wait(self._latency)
        if callable(self._script):
            answer = self._script(request)
        elif place < len(self._script):
            answer = self._script[place]
        else:
            hint = "give the script one answer for each call"
            raise CallError(Failure.SERVER_ERROR, "the script has no answer left", where="scripted", hint=hint)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return build_reply(request, answer, "scripted", WORD_LOGPROB, self._latency)
        return answer

    def close(self) -> None:
        self._closed.cancel()


def build_reply(request: Request, text: str, host: str, logprob: float, seconds: float = 0.0) -> Reply:
    """A complete reply. Its tokens are the words of `text`, each with the whitespace before it."""
    words = re.findall(r"\s*\S+", text)
    return Reply(
        text=text,
        finish=Finish.STOP,
        logprobs=tuple(TokenLogprob(token=word, logprob=logprob) for word in words) if request.logprobs else (),
        prompt_tokens=sum(len(message.text.split()) for message in request.messages),
        response_tokens=len(words),
        seconds=seconds,
        host=host,
    )
