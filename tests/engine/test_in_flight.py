"""Many at once: no more than there are slots, nothing lost, and what an error leaves standing."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.engine.parallel import in_flight
from mmerg.errors import CallError, Failure


@given(st.integers(0, 30), st.integers(1, 9))
def test_nothing_is_lost_and_nothing_is_done_twice(count: int, slots: int) -> None:
    assert sorted(in_flight(range(count), lambda n: n * n, slots, lambda: None)) == [n * n for n in range(count)]


def test_so_many_at_once_and_no_more() -> None:
    slots, guard, now, most = 3, threading.Lock(), [0], [0]
    meeting = threading.Barrier(slots)  # passed only if so many are at work at once

    def work(item: int) -> int:
        with guard:
            now[0] += 1
            most[0] = max(most[0], now[0])
        meeting.wait(60)
        with guard:
            now[0] -= 1
        return item

    assert sorted(in_flight(range(4 * slots), work, slots, lambda: None)) == list(range(4 * slots))
    assert most == [slots]


def test_results_come_when_they_are_there() -> None:
    release = threading.Event()

    def work(item: str) -> str:
        if item == "slow":
            release.wait()
        return item

    results = in_flight(["slow", "fast", "later"], work, 2, lambda: None)
    assert [next(results), next(results)] == ["fast", "later"]
    release.set()
    assert list(results) == ["slow"]


def test_items_are_taken_only_when_there_is_room() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(9):
            taken.append(number)
            yield number

    results = in_flight(items(), lambda n: n, 2, lambda: None)
    next(results)
    assert taken == [0, 1]
    results.close()
    assert taken == [0, 1]


def test_an_error_stops_the_rest_and_keeps_what_ended_well() -> None:
    """`b` fails while `a` and `c` are at work: told to stop, `c` breaks off and `a` ends well. `d` never begins."""
    stopped, begun = threading.Event(), threading.Barrier(3)
    started: list[str] = []

    def work(item: str) -> str:
        started.append(item)
        begun.wait(60)
        if item == "b":
            raise CallError(Failure.INTERRUPTED, "b broke")
        stopped.wait()
        if item == "c":
            raise CallError(Failure.INTERRUPTED, "c was told to stop")
        return item

    results = in_flight("abcd", work, 3, stopped.set)
    got: list[str] = []
    with pytest.raises(CallError, match="b broke"):
        got.extend(results)
    assert got == ["a"]
    assert sorted(started) == ["a", "b", "c"]


def test_a_reader_that_gives_up_stops_the_rest() -> None:
    stopped = threading.Event()

    def work(item: int) -> int:
        if item:
            stopped.wait()
        return item

    results = in_flight(range(9), work, 2, stopped.set)
    assert next(results) == 0
    results.close()
    assert stopped.is_set()


def test_an_item_that_cannot_be_had_stops_the_rest() -> None:
    stopped = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        raise OSError("no more to read")

    def work(item: int) -> int:
        stopped.wait()
        return item

    got: list[int] = []
    with pytest.raises(OSError, match="no more to read"):
        got.extend(in_flight(items(), work, 2, stopped.set))
    assert got == [1]
