"""Retries: which failures, how many times, and what ends a pause."""

import threading
from functools import partial

import pytest

from mmerg.backends.cancel import CancelToken
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.backends.retry import retry
from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, Failure

RETRIED = ["runner_crash", "timeout", "busy", "server_error", "unreachable"]
REQUEST = Request((Message("user", "hello"),), Sampling())


def failing(failure: Failure, times: int) -> Scripted:
    return Scripted([*(CallError(failure, f"it failed {n}", where="host", hint="look") for n in range(times)), "fine"])


def complete_with_retries(inner: Scripted, attempts: int = 3) -> str:
    return retry(partial(inner.complete, REQUEST), attempts, 0.0, CancelToken()).text


@pytest.mark.parametrize("failure", list(Failure))
def test_only_failures_that_may_pass_are_retried(failure: Failure) -> None:
    inner = failing(failure, 2)
    if failure in RETRIED:
        assert (complete_with_retries(inner), inner.calls) == ("fine", 3)
    else:
        with pytest.raises(CallError) as caught:
            complete_with_retries(inner)
        assert (inner.calls, caught.value.failure, caught.value.what) == (1, failure, "it failed 0")


def test_the_last_error_has_the_number_of_attempts() -> None:
    inner = failing(Failure.TIMEOUT, 9)
    with pytest.raises(CallError) as caught:
        complete_with_retries(inner, attempts=4)
    error = caught.value
    assert (error.what, error.where, error.hint) == ("it failed 3 (tried 4 times)", "host", "look")
    assert (error.failure, inner.calls) == (Failure.TIMEOUT, 4)


@pytest.mark.parametrize("ended_by", ["close", "cancel"])
def test_closing_or_cancelling_ends_a_pause(ended_by: str) -> None:
    waiting, closed, token = threading.Event(), CancelToken(), CancelToken()
    caught: list[Failure] = []

    def fail() -> None:
        waiting.set()
        raise CallError(Failure.BUSY, "queue full")

    def call() -> None:
        with token.scope(), pytest.raises(CallError) as error:
            retry(fail, 3, 3600.0, closed)
        caught.append(error.value.failure)

    thread = threading.Thread(target=call)
    thread.start()
    waiting.wait()
    {"close": closed, "cancel": token}[ended_by].cancel()
    thread.join(60)
    assert caught == [Failure.INTERRUPTED]
