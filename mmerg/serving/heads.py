"""Closes connections on which no request comes; the app never hears of them."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class Watched(H11Protocol):
    """Closes its connection after `patience` seconds without the whole head of a request; after a first answer it may
    wait up to twice as long."""

    patience = 30.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look_later(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._looking.cancel()
        super().connection_lost(exc)

    def _look_later(self, before: object) -> None:
        self._looking = self.loop.call_later(self.patience, self._look, before)

    def _look(self, before: object) -> None:
        """before: the last request at the look before, if a head was waited for then; else the connection itself."""
        now = self.cycle if self.conn.their_state is h11.IDLE else self
        if now is before is not self:
            self.transport.close()
        else:
            self._look_later(now)
