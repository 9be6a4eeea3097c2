"""Passes on a reply's words while the model writes them, in the thread that makes the call.

with listening(print):
    backend.complete(request)      # a streaming adapter calls print with each piece; "" marks the start of a reply
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Hear = Callable[[str], None]
_HEAR: ContextVar[Hear] = ContextVar("hear", default=lambda _: None)
hearing = _HEAR.get  # this thread's listener


@contextmanager
def listening(hear: Hear) -> Iterator[None]:
    """In the block, `hear` gets the pieces of this thread's replies."""
    token = _HEAR.set(hear)
    try:
        yield
    finally:
        _HEAR.reset(token)
