"""The samples of a folder, several in flight: what an earlier command finished is kept, the rest is done and written.

What runs (`launch.py`) and judgings (`judging/launch.py`) have in common. Knows nothing of what a sample is or what is
done with it: `work` makes its record on a leased backend and tells its events as they happen.

    with Run(path, manifest) as run:
        todo = pending(wanted, run.finished, only_failed=False)
        progress = carry_out(run, wanted, todo, work, pool, console())
        run.seal(order)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from rich.console import Console

from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Backend
from mmerg.console.progress import Progress
from mmerg.console.terminal import escape
from mmerg.engine.parallel import in_flight
from mmerg.runs.events import Emit, Event
from mmerg.runs.folder import Folder
from mmerg.runs.result import SampleLine


class Named(Protocol):
    """What is worked on: a sample, or an item that is judged."""

    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Named)
Line = TypeVar("Line", bound=SampleLine)


def pending(wanted: Sequence[Item], done: Mapping[str, SampleLine], only_failed: bool) -> list[Item]:
    """Those of `wanted` without a record; with `only_failed` those whose record is a failure."""
    if only_failed:
        return [item for item in wanted if item.id in done and done[item.id].status == "failed"]
    return [item for item in wanted if item.id not in done]


def carry_out(
    folder: Folder[Line],
    wanted: Sequence[Item],
    todo: Sequence[Item],
    work: Callable[[Item, Backend, Emit], Line],
    pool: Pool,
    out: Console,
) -> Progress:
    """Does `todo` and writes events and records as they come; the rest of `wanted` is told as kept, and at last
    which hosts were lost on the way. Raises what `work` raises, after which no other sample is begun."""
    again = {item.id for item in todo}
    kept = folder.results.only(item.id for item in wanted if item.id not in again)
    progress = Progress(out, len(todo), len(kept), sum(record.status == "failed" for record in kept.values()))

    def leased(item: Item) -> Line:
        with pool.lease() as backend, folder.recording(item.id) as record:

            def emit(event: Event) -> None:
                record(event)
                progress.event(event)

            return work(item, backend, emit)

    before = pool.down()
    with progress:
        for record in in_flight(todo, leased, pool.slots, pool.close):
            folder.add(record)
            progress.result(record)
    for host, why in pool.down().items():
        if host not in before:
            out.print(escape(f"host {host} was left out in the end: {why}"), soft_wrap=True)
    return progress
