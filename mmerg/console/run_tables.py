"""Tables of a run for the terminal: the replies, and what failed. Reads results only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Protocol

from rich.table import Table

from mmerg.console.terminal import escape, plural
from mmerg.errors import Failure
from mmerg.runs.result import Result

ROWS = 50


def counted(results: Iterable[Result]) -> str:
    """Samples and calls, in one line; and which samples have no seconds of their own, as the cache helped."""
    counts: Counter[str] = Counter()
    for result in results:
        counts.update({"samples": 1, result.status: 1, "calls": result.calls, "cached": result.cached_calls})
        counts["helped"] += result.cached_calls > 0
    samples = plural(counts["samples"], "sample")
    helped = f" in {counts['helped']} of {samples}, which figures of seconds leave out" * (counts["helped"] > 0)
    ended = f"{samples}: {counts['ok']} ok, {counts['failed']} failed"
    return f"{ended}; {plural(counts['calls'], 'call')}, {counts['cached']} of them cached{helped}"


def replies(results: Collection[Result], rows: int = ROWS) -> Table:
    """A row a sample, for the first `rows`: emotion, plan, audit (a mark a stage, in the system's order), passes,
    selected pass, response. The title counts all."""
    first = f"; the first {rows}, mmerg.show RUN SAMPLE prints any" if len(results) > rows else ""
    table = Table(title=f"{counted(results)}{first}", title_justify="left", show_lines=True)
    for name in ("sample", "emotion", "plan", "audit", "passes", "selected"):
        table.add_column(name, overflow="fold")
    table.add_column("response", ratio=1, overflow="fold")
    for result in islice(results, rows):
        if result.status == "ok":
            table.add_row(
                escape(result.id),
                escape(result.emotion or "–"),
                escape(plan(result)),
                "".join("✓" if check else "✗" for check in (result.audit or {}).values()) or "–",
                str(result.passes),
                str(result.selected_pass),
                escape(result.response or ""),
            )
        else:
            table.add_row(escape(result.id), "–", "–", "–", "–", "–", escape(f"failed: {result.failure}"))
    return table


def plan(result: Result) -> str:
    """The fields of the plan, a line each."""
    fields = result.plan.values() if isinstance(result.plan, dict) else [result.plan]
    return "\n".join(str(field) for field in fields if field not in (None, "", [], {})) or "–"


class MayFail(Protocol):
    """A sample's record."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def failure(self) -> Failure | None: ...
    @property
    def failure_text(self) -> str | None: ...


def failures(results: Iterable[MayFail]) -> Table | None:
    """Failures by class, with the first message of each; None where nothing failed."""
    counts: Counter[str] = Counter()
    first: dict[str, MayFail] = {}
    for result in results:
        if result.status == "failed":
            counts[str(result.failure)] += 1
            first.setdefault(str(result.failure), result)
    if not counts:
        return None
    again = "only_failed=true takes them up again, with cache=off where the model's own replies were the fault"
    table = Table(title=f"{counts.total()} failed; {again}", title_justify="left")
    table.add_column("failure")
    table.add_column("samples", justify="right")
    table.add_column("first", ratio=1, overflow="fold")
    for failure, count in counts.most_common():
        table.add_row(failure, str(count), escape(f"{first[failure].id}: {first[failure].failure_text}"))
    return table
