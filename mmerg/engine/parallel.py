"""Several items at once in threads: calls wait for a server, and decoding releases the interpreter lock."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Out = TypeVar("Out")


def run_in_threads(
    items: Iterable[Item], work: Callable[[Item], Out], slots: int, stop: Callable[[], None]
) -> Generator[Out, None, None]:
    """Runs `work` on each item, on at most `slots` at a time, and yields the results as they arrive. After an error or
    Ctrl-C it starts no more items, calls `stop` to cancel calls, yields what still arrives, and raises the error."""
    pending = iter(items)
    with ThreadPoolExecutor(slots, thread_name_prefix="sample") as threads:
        running: set[Future[Out]] = set()
        try:
            while True:
                while len(running) < slots and (item := next(pending, None)) is not None:
                    running.add(threads.submit(work, item))
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    running.remove(future)
                    yield future.result()
        except GeneratorExit:
            stop()
            raise
        except BaseException:
            stop()
            for future in running:
                if future.exception() is None:
                    yield future.result()
            raise
