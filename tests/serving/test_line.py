"""Who comes next, and who waits."""

import asyncio

import pytest

from mmerg.serving.line import Line
from mmerg.serving.refused import RefusedError


def test_everybodys_first_turn_comes_before_anybodys_second() -> None:
    line = Line(slots=1, longest=10)
    many = [line.join("a") for _ in range(3)]
    late = line.join("b")
    assert [line.place(ticket) for ticket in (*many, late)] == [0, 2, 3, 1]
    line.leave(many[0])
    assert [line.place(ticket) for ticket in (*many[1:], late)] == [1, 2, 0]
    line.leave(many[1])  # gives up while it waits
    assert (line.place(many[2]), line.place(late)) == (1, 0)
    line.leave(late)
    assert line.place(many[2]) == 0


def test_newcomers_keep_nobody_waiting_without_end() -> None:
    line = Line(slots=1, longest=10)
    running, second = line.join("a"), line.join("a")
    came = 0
    while line.place(second):
        newcomer = line.join(f"newcomer {came}")
        line.leave(running)
        running, came = newcomer, came + 1
        assert came < 5
    assert came == 2


def test_who_waits_hears_of_another_place_alone() -> None:
    async def heard() -> list[int]:
        line = Line(slots=1, longest=10)
        first, second, third = (line.join(name) for name in "abc")
        places = [line.place(third)]
        for ticket in (first, second):
            moving = asyncio.ensure_future(line.moved(third, places[-1]))
            await asyncio.sleep(0)
            line.join("d")  # comes behind
            await asyncio.sleep(0)
            assert not moving.done()
            line.leave(ticket)
            await moving
            places.append(line.place(third))
        return places

    assert asyncio.run(heard()) == [2, 1, 0]


def test_all_slots_are_given_out() -> None:
    line = Line(slots=2, longest=10)
    tickets = [line.join(name) for name in "abc"]
    assert [line.place(ticket) for ticket in tickets] == [0, 0, 1]
    for _ in range(2):  # twice is once
        line.leave(tickets[1])
    assert [line.place(line.join("d")), line.place(tickets[2])] == [1, 0]


def test_a_line_has_an_end() -> None:
    line = Line(slots=1, longest=2)
    for name in "abc":
        line.join(name)
    with pytest.raises(RefusedError, match="2 turns wait for the model already") as refused:
        line.join("d")
    assert refused.value.status == 503
