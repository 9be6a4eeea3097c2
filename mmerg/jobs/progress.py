"""How far shards are, in one table: redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from mmerg.console.progress import PLAIN_EVERY
from mmerg.console.terminal import escape, plural
from mmerg.jobs.part import Part

ROWS = 30  # of a table that is redrawn; of more, those that are at work


class ShardsAtWork:
    """The table. Off a terminal a line whenever a shard ends, and every `every` seconds."""

    def __init__(self, out: Console, parts: Sequence[Part], every: float = PLAIN_EVERY) -> None:
        self._out, self._parts, self._every = out, parts, every
        self._last, self._ended = time.monotonic(), -1
        self._live = Live(console=out, auto_refresh=False, transient=True) if out.is_terminal else None

    def __enter__(self) -> ShardsAtWork:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()
        for part in self._parts:
            part.look()
        self._out.print(self.counted())
        self._out.print(_table(self._parts))

    def look(self) -> None:
        at_work = [part for part in self._parts if part.state == "at work"]
        for part in at_work:
            part.look()
        ended = sum(part.state in ("done", "not done") for part in self._parts)
        if self._live:
            rows = self._parts if len(self._parts) <= ROWS else at_work[:ROWS]
            self._live.update(Group(self.counted(), _table(rows)), refresh=True)
        elif ended != self._ended or time.monotonic() - self._last >= self._every:
            self._last, self._ended = time.monotonic(), ended
            self._out.print(self.counted())

    def counted(self) -> str:
        states = Counter(part.state for part in self._parts)
        shards = f"{plural(len(self._parts), 'shard')}: {', '.join(f'{count} {one}' for one, count in states.items())}"
        done, wanted = sum(part.lines for part in self._parts), sum(len(part.wanted) for part in self._parts)
        return f"{shards} · {done}/{wanted} samples · {sum(part.failed for part in self._parts)} failed"


def _table(parts: Sequence[Part]) -> Table:
    made = Table("shard", "job", "state")
    for name in ("samples", "failed"):
        made.add_column(name, justify="right")
    for part in parts:
        job, samples = part.job.name if part.job else "", f"{part.lines}/{len(part.wanted)}"
        made.add_row(*map(escape, (str(part.shard), job, part.state, samples, str(part.failed))))
    return made
