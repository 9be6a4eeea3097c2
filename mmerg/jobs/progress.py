"""How far shards are, as their folders tell, in one table: redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from mmerg.console.progress import PLAIN_EVERY
from mmerg.console.terminal import escape, plural
from mmerg.runs.folder import RESULTS
from mmerg.runs.shards import Shard

State = Literal["waiting", "at work", "done", "not done"]
ROWS = 30  # of a table that is redrawn; of more, those that are at work


@dataclass
class Watched:
    """A shard. wanted: how many samples. job: what the scheduler calls it. lines and failed: of its results so far."""

    shard: Shard
    path: Path
    wanted: int
    state: State = "waiting"
    job: str = ""
    lines: int = 0
    failed: int = 0
    _read: tuple[int, int] = field(default=(0, 0))  # the file's number, and how many of its bytes were read

    def look(self) -> None:
        """Read what was added since."""
        try:
            with (self.path / RESULTS).open("rb") as file:
                number, at = os.fstat(file.fileno()).st_ino, self._read[1]
                if number != self._read[0]:
                    self.lines = self.failed = at = 0
                file.seek(at)
                whole, _, _ = file.read().rpartition(b"\n")
        except OSError:  # it is not there yet
            return
        if whole:
            lines = whole.split(b"\n")
            self.lines += len(lines)
            self.failed += sum(b'", "status": "failed", ' in line for line in lines)
            at += len(whole) + 1
        self._read = number, at


class ShardsAtWork:
    """The table. Off a terminal a line whenever a shard ends, and every `every` seconds."""

    def __init__(self, out: Console, shards: Sequence[Watched], every: float = PLAIN_EVERY) -> None:
        self._out, self._shards, self._every = out, shards, every
        self._last, self._ended = time.monotonic(), -1
        self._live = Live(console=out, auto_refresh=False, transient=True) if out.is_terminal else None

    def __enter__(self) -> ShardsAtWork:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()
        for one in self._shards:
            one.look()
        self._out.print(self.counted())
        self._out.print(self.table(self._shards))

    def look(self) -> None:
        for one in self._shards:
            if one.state == "at work":
                one.look()
        ended = sum(one.state in ("done", "not done") for one in self._shards)
        if self._live:
            shown = [one for one in self._shards if len(self._shards) <= ROWS or one.state == "at work"]
            self._live.update(Group(self.counted(), self.table(shown[:ROWS])), refresh=True)
        elif ended != self._ended or time.monotonic() - self._last >= self._every:
            self._last, self._ended = time.monotonic(), ended
            self._out.print(self.counted())

    def counted(self) -> str:
        states = Counter(one.state for one in self._shards)
        done, failed = sum(one.lines for one in self._shards), sum(one.failed for one in self._shards)
        told = ", ".join(f"{count} {state}" for state, count in states.items())
        return f"{plural(len(self._shards), 'shard')}: {told} · {done}/{self._wanted} samples · {failed} failed"

    @property
    def _wanted(self) -> int:
        return sum(one.wanted for one in self._shards)

    def table(self, shown: Sequence[Watched]) -> Table:
        made = Table()
        for name in ("shard", "job", "state"):
            made.add_column(name)
        for name in ("samples", "failed"):
            made.add_column(name, justify="right")
        for one in shown:
            cells = (str(one.shard), one.job, one.state, f"{one.lines}/{one.wanted}", str(one.failed))
            made.add_row(*map(escape, cells))
        return made
