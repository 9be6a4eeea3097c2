"""Retrying: what is tried again, how often, and that closing ends a wait."""

import threading

import pytest

from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.backends.retry import Retry, pause
from mmerg.backends.scripted import ENGINE, Scripted
from mmerg.backends.stop import Stop
from mmerg.errors import CallError, Failure

RETRIED = ["runner_crash", "timeout", "busy", "server_error", "unreachable"]
OTHERS = sorted(set(Failure) - set(RETRIED))
REQUEST = Request((Message("user", "hello"),), Sampling())


def failing(failure: Failure, times: int) -> Scripted:
    return Scripted([*(CallError(failure, f"it failed {n}", where="host", hint="look") for n in range(times)), "fine"])


@pytest.mark.parametrize("failure", [Failure(name) for name in RETRIED])
def test_what_may_pass_is_tried_again(failure: Failure) -> None:
    inner = failing(failure, 2)
    assert Retry(inner, attempts=3, wait=0.0).complete(REQUEST).text == "fine"
    assert inner.requests == [REQUEST] * 3


@pytest.mark.parametrize("failure", OTHERS)
def test_anything_else_fails_at_once_and_unchanged(failure: Failure) -> None:
    inner = failing(failure, 1)
    with pytest.raises(CallError) as caught:
        Retry(inner, attempts=3, wait=0.0).complete(REQUEST)
    assert (inner.calls, caught.value.failure, caught.value.what) == (1, failure, "it failed 0")


def test_the_last_error_says_how_often_it_was_tried() -> None:
    inner = failing(Failure.TIMEOUT, 9)
    with pytest.raises(CallError) as caught:
        Retry(inner, attempts=4, wait=0.0).complete(REQUEST)
    error = caught.value
    assert (error.what, error.where, error.hint) == ("it failed 3 (tried 4 times)", "host", "look")
    assert (error.failure, inner.calls) == (Failure.TIMEOUT, 4)


def test_a_bug_is_not_tried_again() -> None:
    inner = Scripted([KeyError("bug"), "fine"])
    with pytest.raises(KeyError):
        Retry(inner, attempts=3, wait=0.0).complete(REQUEST)
    assert inner.calls == 1


@pytest.mark.parametrize("ended_by", ["close", "stop"])
def test_a_retry_that_waits_is_ended(ended_by: str) -> None:
    waiting = threading.Event()

    def fail(request: Request) -> CallError:
        waiting.set()
        return CallError(Failure.BUSY, "queue full")

    backend = Retry(Scripted(fail), attempts=3, wait=3600.0)
    caught: list[CallError] = []
    stop = Stop()

    def call() -> None:
        try:
            with stop.over_this_thread():
                backend.complete(REQUEST)
        except CallError as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    waiting.wait()
    {"close": backend.close, "stop": stop.set}[ended_by]()
    thread.join(60)
    assert [error.failure for error in caught] == [Failure.INTERRUPTED]
    assert ("queue full" in caught[0].what) is (ended_by == "close")


def test_waits_double() -> None:
    assert [pause(0.5, tries) for tries in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 4.0]


def test_describe_goes_straight_through_and_close_closes_inside() -> None:
    inner = Scripted(["never asked for"])
    backend = Retry(inner)
    assert backend.describe() == ENGINE
    backend.close()
    with pytest.raises(CallError) as caught:
        inner.complete(REQUEST)
    assert caught.value.failure is Failure.INTERRUPTED
