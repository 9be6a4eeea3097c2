"""Connections of which nothing comes: closed, as nothing above HTTP ever hears of them."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class Watched(H11Protocol):
    """Closes its connection where it waits for a request's head for `patience` seconds, or somewhat longer once it has
    answered one."""

    patience = 30.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look_later(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._looking.cancel()
        super().connection_lost(exc)

    def _look_later(self, seen: object) -> None:
        self._looking = self.loop.call_later(self.patience, self._look, seen)

    def _look(self, seen: object) -> None:
        """seen: the request before the head that was waited for at the last look; the connection, where it was none."""
        now = self.cycle if self.conn.their_state is h11.IDLE else self
        if now is seen is not self:
            self.transport.close()
        else:
            self._look_later(now)
