"""The results of a run for the terminal: counts, replies, failures, and excluded exemplars."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from rich.table import Table

from mmerg.console.terminal import escape, plural
from mmerg.errors import Failure
from mmerg.runs.manifest import MemorySection
from mmerg.runs.result import Result, Verdicts

ROWS = 50
MIN_COPIED = 10  # percent; smaller shares of copies are not reported
MAX_WORD = 40  # characters; longer fields of a plan are sentences


class Summary:
    """Counts over the results of a run. imported: another system wrote the replies, so calls are unknown."""

    def __init__(self, results: Iterable[Result], imported: bool = False) -> None:
        self.results, self.imported = list(results), imported
        self.failed = [result for result in self.results if not result.ok]
        self.unaudited = sum(result.unaudited for result in self.results)
        self.problems = Counter(result.exemplars_problem for result in self.results if result.exemplars_problem)
        self.cleaned: Counter[str] = Counter()  # what was removed from completions
        self.guards: dict[str, Counter[str]] = defaultdict(Counter)  # by guard: samples and excluded exemplars
        for result in self.results:
            self.cleaned.update(result.cleaned)
            for guard, exemplars in result.excluded.items():
                self.guards[guard].update(samples=1, exemplars=exemplars)

    @property
    def counts_line(self) -> str:
        """The numbers of samples and calls, and of samples with cached calls, whose times do not count, in a line."""
        samples, failed = plural(len(self.results), "sample"), len(self.failed)
        unaudited = f" ({self.unaudited} unaudited)" if self.unaudited else ""
        ended = f"{samples}: {len(self.results) - failed} ok{unaudited}, {failed} failed"
        if self.imported:
            return ended
        calls = plural(sum(result.calls for result in self.results), "call")
        cached = f"{calls}, {sum(result.cached_calls for result in self.results)} of them cached"
        if with_cached := sum(result.cached_calls > 0 for result in self.results):
            cached += f" in {with_cached} of {samples}, which are excluded from seconds"
        return f"{ended}; {cached}"

    def replies(self, rows: int = ROWS) -> Table:
        """Makes a table of the first samples. An audit has a mark for each stage, in the order of the system."""
        first = self.results[:rows]
        more = f"; the first {rows}; mmerg show RUN SAMPLE prints any" if len(self.results) > rows else ""
        table = Table(title=f"{self.counts_line}{more}", title_justify="left", show_lines=True)
        for name in ("sample", "emotion", "plan", "audit", "passes", "selected"):
            table.add_column(name, overflow="fold")
        table.add_column("response", ratio=1, overflow="fold")
        for result in first:
            cells = [*"–––––", f"failed: {result.failure}"]
            if result.ok:
                audit = "".join("✓" if check else "✗" for check in (result.audit or {}).values()) or "–"
                passes = (str(result.passes), str(result.selected_pass)) if result.passes else ("–", "–")
                cells = [result.emotion or "–", format_plan(result), audit, *passes, result.response or ""]
            table.add_row(*map(escape, (result.id, *cells)))
        if agents := ", ".join(next((result.audit for result in first if result.audit), ())):
            table.caption, table.caption_justify = escape(f"audit: {agents}; passes count from 0"), "left"
        return table

    @property
    def copies(self) -> str:
        """The share of its output that each agent copies from the agent before it; "" if all shares are under 10 %."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)  # by stage: copied and all 4-grams of its output
        for result in self.results:
            for stage, (copied, total) in result.handed_on.items():
                counts[stage].update(copied=copied, total=total)
        shares = {stage: round(100 * count["copied"] / count["total"]) for stage, count in counts.items()}
        text = ", ".join(f"{stage} {share} %" for stage, share in shares.items())
        return text if any(share >= MIN_COPIED for share in shares.values()) else ""

    @property
    def exclusions(self) -> str:
        """The exemplars that guards excluded, in a line; "" if there are none."""
        parts = {
            guard: f"{count['exemplars']} in {plural(count['samples'], 'sample')}"
            for guard, count in self.guards.items()
        }
        samples = plural(sum(bool(result.excluded) for result in self.results), "sample")
        return f"exemplars excluded in {samples} ({_join_items(parts)})" if parts else ""

    def notes(self) -> Iterator[str]:
        """Yields a line for each kind of incident, such as clip problems, cleaned completions and unreadable audits."""
        if count := sum(result.clip_problems for result in self.results):
            yield f"clip problems: {plural(count, 'turn')} have text only; mmerg show RUN SAMPLE says why"
        if self.problems:
            yield f"samples with a source without exemplars: {self.problems.total()} ({_join_items(self.problems)})"
        if self.cleaned:
            yield f"removed from completions: {_join_items(self.cleaned)}"
        if copies := self.copies:
            yield f"4-grams copied from the agent before: {copies}"
        if repeats := Counter(result.repeats for result in self.results if result.repeats):
            yield f"replies that repeat a text from their prompt: {_join_items(repeats)}"
        if self.unaudited:
            samples = plural(self.unaudited, "sample")
            yield f"unaudited: in {samples} an audit could not be read; mmerg show RUN SAMPLE says why"
        if count := sum(result.repeated_passes for result in self.results):
            later = f"{count} of {sum(max(0, result.passes - 1) for result in self.results)} passes after the first"
            yield f"{later} repeat the one before: the faulty agent gave the same output"


def _join_items(parts: Mapping[str, object]) -> str:
    return "; ".join(f"{name}: {part}" for name, part in sorted(parts.items()))


def format_plan(result: Result) -> str:
    """Formats the fields of the plan, one per line, without reasoning. Sentences are omitted if any field is a word."""
    fields = result.plan if isinstance(result.plan, dict) else {"": result.plan}
    values = [value for name, value in fields.items() if not name.startswith("reason")] or fields.values()
    texts = [str(value) for value in values if value not in (None, "", [], {})]
    words = [text for text in texts if not text.endswith((".", "!", "?")) and len(text) <= MAX_WORD]
    return "\n".join(words or texts) or "–"


def describe_memory(memory: MemorySection) -> str:
    """Describes the memory of a run in one line."""
    skipped = "".join(f", {count} {reason} skipped" for reason, count in memory.skipped.items())
    corpus = f"{memory.corpus.name} {memory.corpus.split}"
    return f"memory: {corpus}, {memory.entries} entries, top {memory.top_k}{skipped}"


def tabulate_failures(results: Iterable[Result | Verdicts]) -> Table | None:
    """Makes a table of the failures by kind, with the first message of each kind; None if nothing failed."""
    failed = [result for result in results if result.status == "failed"]
    if not failed:
        return None
    counts = Counter(str(result.failure) for result in failed)
    title = f"{len(failed)} failed"
    if counts.keys() - {Failure.ABSENT, Failure.CODE_ERROR}:
        title += "; the same command retries them; add cache=off if the model's completions were unusable"
    table = Table("failure", title=title, title_justify="left")
    table.add_column("samples", justify="right")
    table.add_column("first", ratio=1, overflow="fold")
    for failure, count in counts.most_common():
        first = next(result for result in failed if str(result.failure) == failure)
        table.add_row(failure, str(count), escape(f"{first.id}: {first.failure_text}"))
    return table
