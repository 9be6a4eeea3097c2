"""The scripted backend: answers in order or from a function, exact counts, and a way to break off."""

import threading

import pytest

from mmerg.backends.protocol import Finish, Message, Reply, Request, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, Failure


def ask(text: str, *, logprobs: bool = False) -> Request:
    return Request((Message("system", "be kind"), Message("user", text)), Sampling(), logprobs=logprobs)


def test_a_function_sees_the_request_and_its_text_becomes_a_whole_reply() -> None:
    backend = Scripted(lambda request: f"you said {request.messages[-1].text}")
    reply = backend.complete(ask("I lost my job"))
    assert reply == Reply(
        text="you said I lost my job",
        finish=Finish.STOP,
        prompt_tokens=6,
        response_tokens=6,
        host="scripted",
    )


def test_a_list_answers_in_order_raises_its_exceptions_and_runs_out() -> None:
    whole = Reply(text="cut", finish=Finish.LENGTH, response_tokens=99)
    backend = Scripted(["one", CallError(Failure.BUSY, "queue full"), whole])
    assert backend.complete(ask("a")).text == "one"
    with pytest.raises(CallError, match="queue full"):
        backend.complete(ask("b"))
    assert backend.complete(ask("c")) is whole
    with pytest.raises(CallError, match="no answer left") as caught:
        backend.complete(ask("d"))
    assert caught.value.failure is Failure.SERVER_ERROR
    assert [request.messages[-1].text for request in backend.requests] == ["a", "b", "c", "d"]
    assert backend.calls == 4


def test_closing_breaks_off_a_slow_call_and_refuses_later_ones() -> None:
    arrived = threading.Event()
    backend = Scripted(lambda request: "too late", latency=120.0)
    caught: list[CallError] = []

    def call() -> None:
        arrived.set()
        try:
            backend.complete(ask("x"))
        except CallError as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    arrived.wait()
    backend.close()
    thread.join()
    with pytest.raises(CallError) as later:
        backend.complete(ask("y"))
    assert [caught[0].failure, later.value.failure] == [Failure.INTERRUPTED, Failure.INTERRUPTED]
