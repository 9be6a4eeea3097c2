"""Who waits for a slot: a line in which everybody's first turn comes before anybody's second, and nobody waits without
end. Turns are numbered as in start-time fair queueing (Goyal, Vin and Cheng, 1997): a newcomer's is one past the turn
that began last, an owner's next one past his own before it; the lowest comes next.

ticket = line.join("chat 7")         # on the event loop, as all here
while ticket.place: await ticket.moved()
...
ticket.leave()                       # also of one that never had its slot
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from mmerg.serving.refused import RefusedError


@dataclass(eq=False)
class Ticket:
    """A turn in the line. owner: whose it is; rank: its number, then how many of the owner's are before it; place: how
    many turns must end before this one begins, 0 once it may."""

    line: Line
    owner: str
    rank: tuple[int, int]
    place: int = -1
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def moved(self) -> None:
        """Waits until the place is another than it was seen to be."""
        await self._moved.wait()
        self.seen()

    def seen(self) -> None:
        self._moved.clear()

    def put(self, place: int) -> None:
        if place != self.place:
            self.place = place
            self._moved.set()

    def leave(self) -> None:
        self.line.leave(self)


class Line:
    """`slots` turns at once, at most `longest` waiting."""

    def __init__(self, slots: int, longest: int) -> None:
        self._slots, self._longest = slots, longest
        self._running: list[Ticket] = []
        self._waiting: list[Ticket] = []
        self._begun = 0  # the number of the turn that began last

    def join(self, owner: str) -> Ticket:
        """Raises RefusedError where too many wait."""
        if len(self._waiting) >= self._longest:
            what = f"{len(self._waiting)} turns wait for the model already"
            raise RefusedError(what, where="limits.waiting", hint="try again in a while", status=503)
        own = [one.rank[0] for one in (*self._running, *self._waiting) if one.owner == owner]
        ticket = Ticket(self, owner, (1 + max([self._begun, *own]), len(own)))
        self._waiting.append(ticket)
        self._waiting.sort(key=lambda one: one.rank)
        self._deal()
        ticket.seen()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        for tickets in (self._running, self._waiting):
            if ticket in tickets:
                tickets.remove(ticket)
        self._deal()

    def _deal(self) -> None:
        """Gives out free slots, and tells the others their places."""
        while self._waiting and len(self._running) < self._slots:
            first = self._waiting.pop(0)
            self._running.append(first)
            self._begun = first.rank[0]
            first.put(0)
        for place, ticket in enumerate(self._waiting, start=1):
            ticket.put(place)
