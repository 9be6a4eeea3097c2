"""Parallel items: the number of slots, and errors."""

import threading

import pytest

from mmerg.engine.parallel import run_in_threads
from mmerg.errors import CallError, Failure


def test_slots_bound_the_items_at_once() -> None:
    slots, guard, now, most = 3, threading.Lock(), [0], [0]
    meeting = threading.Barrier(slots)  # passes only with all slots in use

    def work(item: int) -> int:
        with guard:
            now[0] += 1
            most[0] = max(most[0], now[0])
        meeting.wait(60)
        with guard:
            now[0] -= 1
        return item

    assert sorted(run_in_threads(range(4 * slots), work, slots, lambda: None)) == list(range(4 * slots))
    assert most == [slots]


def test_an_error_stops_the_rest_and_keeps_results() -> None:
    """`b` fails while `a` and `c` run. After the stop `c` fails, `a` gives a result, and `d` does not start."""
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

    results = run_in_threads("abcd", work, 3, stopped.set)
    got: list[str] = []
    with pytest.raises(CallError, match="b broke"):
        got.extend(results)
    assert got == ["a"]
    assert sorted(started) == ["a", "b", "c"]


def test_closing_the_generator_stops_the_rest() -> None:
    stopped = threading.Event()

    def work(item: int) -> int:
        if item:
            stopped.wait()
        return item

    results = run_in_threads(range(9), work, 2, stopped.set)
    assert next(results) == 0
    results.close()
    assert stopped.is_set()
