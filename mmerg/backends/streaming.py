"""The text of a completion while the model writes it, in the thread that makes the call.

with stream_to(print):
    backend.complete(request)      # a streaming adapter calls print with each piece; "" marks the start of a completion
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]
_LISTENER: ContextVar[Listener] = ContextVar("listener", default=lambda _: None)
current_listener = _LISTENER.get  # this thread's listener


@contextmanager
def stream_to(listener: Listener) -> Iterator[None]:
    """Calls `listener` with the pieces of the completions of this thread's calls in the block."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
