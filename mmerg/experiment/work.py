"""Parallel work on the items of a folder, for runs (`launch.py`) and judgings (`judging/launch.py`).

remaining = select_pending(wanted, run.results, only_failed=False)
progress = run_items(run, wanted, remaining, work, pool, console())
"""

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

from rich.console import Console

from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Backend
from mmerg.console.progress import Progress
from mmerg.console.terminal import escape
from mmerg.engine.parallel import run_in_threads
from mmerg.engine.sources import Source
from mmerg.errors import ConfigError, RunError, preview
from mmerg.runs.config_diff import describe_changes
from mmerg.runs.events import Emit, Event
from mmerg.runs.folder import Folder
from mmerg.runs.identity import KNOWN_LATER, Digests
from mmerg.runs.manifest import MANIFEST, read_manifest
from mmerg.runs.result import Results, SampleLine
from mmerg.settings.kinds import Plain

DRY_RUN = "this was a dry run: no model was called, and its {} and scores are meaningless"
_FEW = 8  # differences in a message


class Named(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Named)
Line = TypeVar("Line", bound=SampleLine)


def select_pending(wanted: Sequence[Item], results: Results[Line], only_failed: bool) -> list[Item]:
    """Selects the items to run: those without a record or without events. With `only_failed`, those whose record is a
    failure or has no events; a process that is killed while it retries a failure leaves a record without events."""
    if only_failed:
        started = [item for item in wanted if item.id in results]
        return [item for item in started if item.id in results.without_events or results[item.id].status == "failed"]
    return [item for item in wanted if item.id not in results or item.id in results.without_events]


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
    remaining_ids = {item.id for item in remaining}
    kept = folder.results.select(item.id for item in wanted if item.id not in remaining_ids)
    progress = Progress(out, len(remaining), len(kept), sum(record.status == "failed" for record in kept.values()))

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


def is_new(path: Path) -> bool:
    """Returns True if no run was started in this folder."""
    return not (path / MANIFEST).exists()


def refuse_new(settings: Plain, identity: Digests, path: Path) -> NoReturn:
    """Raises ConfigError, as `only_failed=true` needs a run that exists. The error lists how the run differs from the
    most similar one in the same folder. identity: the parts that are known before the first call."""
    prefix = re.sub(r"(-\w+=.*)?-\w+$", "-", path.name)  # without the row of a sweep and the digest
    differences: dict[str, Sequence[str]] = {}
    for folder in sorted(path.parent.glob(f"{glob.escape(prefix)}*/")):
        with suppress(RunError):  # commands on that run report it
            then = read_manifest(folder)
            later = {part: digest for part, digest in then.identity.items() if part.startswith(KNOWN_LATER)}
            now = then.model_copy(update={"settings": settings, "identity": identity | later})
            differences[folder.name] = describe_changes(then, now) or ["only the name or the tags differ"]
    if nearest := min(differences, key=lambda name: len(differences[name]), default=None):
        compared = f"compared with {nearest}, {preview(differences[nearest], _FEW, '; ')}"
    else:
        compared = f"no run in {path.parent} has a name like {prefix}…"
    raise ConfigError(
        f"this would be a new run, in which nothing failed: {compared}",
        where=str(path),
        hint="restore what changed, or remove only_failed to run all samples; finished calls are cached",
    )
