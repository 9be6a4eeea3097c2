"""The line of turns that wait for a slot: every owner's first turn comes before any owner's second, and all come at
last. Turns are numbered as in start-time fair queueing (Goyal, Vin and Cheng, 1997). A new owner's turn is one past the
turn that began last, an owner's next turn one past the one before it; the lowest number comes next.

ticket = line.join("chat 7")         # on the event loop, as all here
while place := line.place(ticket): await line.moved(ticket, place)
...
line.leave(ticket)                   # also of one that never had its slot
"""

import asyncio
from dataclasses import dataclass

from mmerg.serving.refused import RefusedError


@dataclass(frozen=True, eq=False)
class Ticket:
    """A turn in the line. rank: its number, then how many turns of its owner are before it."""

    owner: str
    rank: tuple[int, int]


class Line:
    """At most `slots` turns run, and at most `longest` wait."""

    def __init__(self, slots: int, longest: int) -> None:
        self._slots, self._longest = slots, longest
        self._running: list[Ticket] = []
        self._waiting: list[Ticket] = []
        self._begun = 0  # the number of the turn that began last
        self._moved = asyncio.Event()  # another one after every move

    def join(self, owner: str) -> Ticket:
        """Raises RefusedError where too many wait."""
        if len(self._waiting) >= self._longest:
            what = f"{len(self._waiting)} turns wait for the model already"
            raise RefusedError(what, where="limits.waiting", hint="try again in a while", status=503)
        own = [one.rank[0] for one in (*self._running, *self._waiting) if one.owner == owner]
        ticket = Ticket(owner, (1 + max([self._begun, *own]), len(own)))
        self._waiting.append(ticket)
        self._waiting.sort(key=lambda one: one.rank)
        self._move()
        return ticket

    def place(self, ticket: Ticket) -> int:
        """How many turns must end before this one begins, 0 once it may."""
        return self._waiting.index(ticket) + 1 if ticket in self._waiting else 0

    async def moved(self, ticket: Ticket, place: int) -> None:
        """Waits until the ticket has another place."""
        while self.place(ticket) == place:
            await self._moved.wait()

    def leave(self, ticket: Ticket) -> None:
        for tickets in (self._running, self._waiting):
            if ticket in tickets:
                tickets.remove(ticket)
        self._move()

    def _move(self) -> None:
        """Gives out free slots."""
        while self._waiting and len(self._running) < self._slots:
            first = self._waiting.pop(0)
            self._running.append(first)
            self._begun = first.rank[0]
        self._moved.set()
        self._moved = asyncio.Event()
