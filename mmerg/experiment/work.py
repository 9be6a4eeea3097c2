"""Parallel work on the items of a folder, for runs (`launch.py`) and judgings (`judging/launch.py`).

remaining = select_pending(wanted, run.results)
progress = run_items(run, wanted, remaining, work, pool, console())
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from rich.console import Console

from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Backend
from mmerg.console.progress import Progress
from mmerg.console.terminal import escape
from mmerg.engine.parallel import run_in_threads
from mmerg.engine.sources import Source
from mmerg.runs.events import Emit, Event
from mmerg.runs.folder import Folder
from mmerg.runs.result import Results, SampleLine

DRY_RUN = "this was a dry run: no model was called, and its {} and scores are meaningless"


class Named(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Named)
Line = TypeVar("Line", bound=SampleLine)


def select_pending(wanted: Sequence[Item], results: Results[Line]) -> list[Item]:
    """Selects the items to run: those without a record, without events, or that failed. A process that is killed while
    it retries a failure leaves a record without events."""
    finished = results.finished
    return [item for item in wanted if item.id not in finished or results[item.id].status == "failed"]


def run_items(
    folder: Folder[Line],
    wanted: Sequence[Item],
    remaining: Sequence[Item],
    work: Callable[[Item, Backend, Emit], Line],
    pool: Pool,
    out: Console,
    sources: Iterable[Source] = (),
) -> Progress:
    """Runs the `remaining` of the `wanted` items in parallel, and writes their events and the records that `work` makes
    with a leased backend. In the end, prints the lost hosts. If `work` raises, no other item starts, the pool and
    `sources` are closed so that nothing waits for them, and the error is raised."""
    finished = folder.results.finished
    retried = sum(item.id in finished for item in remaining)
    progress = Progress(out, len(remaining), len(wanted) - len(remaining), retried)

    def run_leased(item: Item) -> Line:
        def try_once(record: Emit) -> Line:
            def emit(event: Event) -> None:
                record(event)
                progress.event(event)

            return work(item, backend, emit)

        with pool.lease() as backend:
            return folder.record(item.id, try_once)

    def stop() -> None:
        pool.close()
        for source in sources:
            with suppress(Exception):  # the user's code: the first error is raised
                getattr(source, "close", lambda: None)()

    before = pool.list_down()
    with progress:
        for record in run_in_threads(remaining, run_leased, pool.slots, stop):
            progress.result(record)
    for host, why in pool.list_down().items():
        if host not in before:
            out.print(escape(f"host {host} was skipped in the end: {why}"), soft_wrap=True)
    return progress
