"""Hears a reply's words while a model writes them, in the thread that asks for it.

with listening(print):
    backend.complete(request)      # an adapter that streams calls print with each piece; "" says that a reply begins
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Hear = Callable[[str], None]
_HEAR: ContextVar[Hear] = ContextVar("hear", default=lambda _: None)
hearing = _HEAR.get  # who listens to this thread


@contextmanager
def listening(hear: Hear) -> Iterator[None]:
    """In the block `hear` gets the pieces of replies that this thread asks for."""
    token = _HEAR.set(hear)
    try:
        yield
    finally:
        _HEAR.reset(token)
