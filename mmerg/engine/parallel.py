"""Several items in flight, with threads: calls wait on a server, and decoding releases the interpreter.

The only thing to change for another kind of parallelism. Knows nothing of samples.
"""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Out = TypeVar("Out")


def in_flight(
    items: Iterable[Item], work: Callable[[Item], Out], slots: int, stop: Callable[[], None]
) -> Generator[Out, None, None]:
    """`work` over `items`, at most `slots` at a time, results as they come. On an error or Ctrl-C nothing more is begun
    and `stop` is called so that calls in flight break off; what still ends well comes before the error."""
    waiting = iter(items)
    with ThreadPoolExecutor(slots, thread_name_prefix="sample") as threads:
        running: set[Future[Out]] = set()
        try:
            while True:
                while len(running) < slots and (item := next(waiting, None)) is not None:
                    running.add(threads.submit(work, item))
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    running.remove(future)
                    yield future.result()
        except GeneratorExit:  # nobody takes results any more
            stop()
            raise
        except BaseException:
            stop()
            for future in running:
                if future.exception() is None:
                    yield future.result()
            raise
