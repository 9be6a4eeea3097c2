"""Who waits for a slot of the backend: a line in which everybody's first turn comes before anybody's second.

ticket = line.join("chat 7")         # on the event loop, as all here
while ticket.place: await ticket.moved()
...
ticket.leave()                       # also of one that never had its slot
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from mmerg.serving.refused import RefusedError


@dataclass(eq=False)
class Ticket:
    """A turn in the line. owner: whose it is; place: how many turns must end before this one begins, 0 once it may."""

    line: Line
    owner: str
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
        self._begun: dict[str, int] = {}  # the number of the last turn that began, of those who have others here
        self._turns = 0

    def join(self, owner: str) -> Ticket:
        """Raises RefusedError where too many wait."""
        if len(self._waiting) >= self._longest:
            what = f"{len(self._waiting)} turns wait for the model already"
            raise RefusedError(what, where="limits.waiting", hint="try again in a while", status=503)
        ticket = Ticket(self, owner)
        self._waiting.append(ticket)
        self._deal()
        ticket.seen()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        for tickets in (self._running, self._waiting):
            if ticket in tickets:
                tickets.remove(ticket)
        self._deal()
        here = {one.owner for one in (*self._running, *self._waiting)}
        self._begun = {owner: number for owner, number in self._begun.items() if owner in here}

    def _deal(self) -> None:
        """Gives out free slots, and tells the others their places."""
        while self._waiting and len(self._running) < self._slots:
            first = self._order()[0]
            self._waiting.remove(first)
            self._running.append(first)
            self._turns += 1
            self._begun[first.owner] = self._turns
            first.put(0)
        for place, ticket in enumerate(self._order(), start=1):
            ticket.put(place)

    def _order(self) -> list[Ticket]:
        """Who comes next: by how many turns of the same owner are before it, then whose last one began first, then as
        they came."""
        before = Counter(ticket.owner for ticket in self._running)
        ranks: dict[Ticket, tuple[int, int]] = {}
        for ticket in self._waiting:
            ranks[ticket] = before[ticket.owner], self._begun.get(ticket.owner, 0)
            before[ticket.owner] += 1
        return sorted(self._waiting, key=ranks.__getitem__)
