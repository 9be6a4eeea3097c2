"""What is asked with several calls at once, of a backend that notes it."""

import pytest

from mmerg.backends.protocol import Engine, Finish, Reply, Request
from mmerg.checking.at_once import ALONE, GROUPS, parallel


class Noted:
    """Answers a request by its digest."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def describe(self) -> Engine:
        return Engine(backend="noted", version="1", model="m", digest="d")

    def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(text=request.digest(), finish=Finish.STOP, response_tokens=1)

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("concurrency", "together", "alone"), [(1, 2, 2), (5, 5, 5), (24, 24, ALONE)])
def test_as_many_calls_are_held_against_those_alone_as_a_run_makes(concurrency: int, together: int, alone: int) -> None:
    backend = Noted()
    status, text = parallel(backend, concurrency, vision=False)
    assert status == "ok"
    assert f"{GROUPS} groups of {together} calls" in text
    assert len(backend.asked) == GROUPS * (alone + together)
    assert len({request.digest() for request in backend.asked}) == GROUPS * alone
