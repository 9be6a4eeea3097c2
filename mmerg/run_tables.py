"""Tables of a run for the terminal: the replies, and what failed. Reads results only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from mmerg.records.result import Result
from mmerg.terminal import harmless


def replies(results: Sequence[Result]) -> Table:
    """A row a sample: emotion, plan, audit (a mark a stage, in the system's order), passes, selected pass, response."""
    ok = sum(result.status == "ok" for result in results)
    calls, cached = sum(result.calls for result in results), sum(result.cached_calls for result in results)
    table = Table(
        title=f"{len(results)} samples: {ok} ok, {len(results) - ok} failed; {calls} calls, {cached} of them cached",
        title_justify="left",
        show_lines=True,
    )
    for name in ("sample", "emotion", "plan", "audit", "passes", "selected"):
        table.add_column(name, overflow="fold")
    table.add_column("response", ratio=1, overflow="fold")
    for result in results:
        if result.status == "ok":
            table.add_row(
                harmless(result.id),
                harmless(result.emotion or "–"),
                harmless(plan(result)),
                "".join("✓" if check else "✗" for check in (result.audit or {}).values()) or "–",
                str(result.passes),
                str(result.selected_pass),
                harmless(result.response or ""),
            )
        else:
            table.add_row(harmless(result.id), "–", "–", "–", "–", "–", harmless(f"failed: {result.failure}"))
    return table


def plan(result: Result) -> str:
    """The plan's four dimensions, a line each."""
    if isinstance(result.plan, str):
        return result.plan
    dimensions = result.plan or {}
    return (
        "\n".join(str(dimensions[name]) for name in ("goal", "stance", "tactic", "tone") if name in dimensions) or "–"
    )


def failures(failed: Sequence[Result]) -> Table:
    """Failures by class, with the first message of each."""
    counts = Counter(result.failure for result in failed)
    again = "only_failed=true takes them up again, with cache=off where the model's own replies were the fault"
    table = Table(title=f"{len(failed)} failed; {again}", title_justify="left")
    table.add_column("failure")
    table.add_column("samples", justify="right")
    table.add_column("first", ratio=1, overflow="fold")
    for failure, count in counts.most_common():
        first = next(result for result in failed if result.failure == failure)
        table.add_row(str(failure), str(count), harmless(f"{first.id}: {first.failure_text}"))
    return table
