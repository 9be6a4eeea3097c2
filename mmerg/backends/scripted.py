"""A backend that answers from a script: a function of the request, or a list of answers in order.

For tests, and to measure what the framework itself costs. It keeps every request, counts words as tokens, and ignores
schemas: it replies with the script's text as it is.

    backend = Scripted(lambda request: '{"emotion": "joy"}')
    backend = Scripted(["first reply", CallError(Failure.BUSY, "queue full"), "third reply"])
"""

import re
import threading
from collections.abc import Callable, Sequence

from mmerg.backends.cancel import CancelToken
from mmerg.backends.protocol import Engine, Finish, Reply, Request, TokenLogprob
from mmerg.errors import CallError, Failure

Answer = str | Reply | Exception
Script = Callable[[Request], Answer] | Sequence[Answer]

ENGINE = Engine(backend="scripted", version="1", model="script", digest="0" * 64, capabilities=("completion", "vision"))
WORD_LOGPROB = -1.0  # of every word of a scripted text, where log-probabilities are asked for


class Scripted:
    """Answers by calling `script`, or with its next item. An exception is raised, a string becomes a whole reply.

    latency: seconds that each call takes. requests: every request so far, in the order of arrival. Raises CallError:
    server_error where a list has no item left, interrupted once closed.
    """

    def __init__(self, script: Script, engine: Engine = ENGINE, latency: float = 0.0) -> None:
        self._script, self._engine, self._latency = script, engine, latency
        self._lock, self._closed = threading.Lock(), CancelToken()
        self.requests: list[Request] = []

    @property
    def calls(self) -> int:
        """How many calls have arrived so far."""
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
            return whole_reply(request, answer, "scripted", WORD_LOGPROB, self._latency)
        return answer

    def close(self) -> None:
        self._closed.cancel()


def whole_reply(request: Request, text: str, host: str, logprob: float, seconds: float = 0.0) -> Reply:
    """A whole reply of `text`. Its tokens are words, each with the blanks before it."""
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
