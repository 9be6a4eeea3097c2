"""The results of a run for the terminal: counts, replies, failures, and excluded exemplars."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from rich.table import Table

from mmerg.console.terminal import escape, plural
from mmerg.errors import Failure
from mmerg.runs.manifest import MemorySection
from mmerg.runs.result import Result, Verdicts

ROWS = 50
COPIED = 10  # per cent; smaller shares of copies are not reported
WORD = 40  # characters; longer fields of a plan are sentences


class Summary:
    """Counts over results, in one pass. Keeps the first `rows` results for the table, and all that failed.
    imported: another system wrote the replies, so calls are unknown."""

    def __init__(self, results: Iterable[Result], rows: int = ROWS, imported: bool = False) -> None:
        self.imported = imported
        self.first: list[Result] = []
        self.failed: list[Result] = []
        self.counts: Counter[str] = Counter()
        self.guards: dict[str, Counter[str]] = {}  # by guard: samples and excluded exemplars
        self.problems: Counter[str] = Counter()  # reasons why a source had no exemplars
        self.repeats: Counter[str] = Counter()  # sources of replies that are copied as a whole
        self.cleaned: Counter[str] = Counter()  # what was removed from replies
        self.handed_on: dict[str, Counter[str]] = {}  # by stage
        for result in results:
            self.first += [result] * (len(self.first) < rows)
            self.failed += [result] * (not result.ok)
            self.problems.update([result.exemplars_problem] if result.exemplars_problem else [])
            self.cleaned.update(result.cleaned)
            self.repeats.update([result.repeats] if result.repeats else [])
            for stage, runs in result.handed_on.items():
                self.handed_on.setdefault(stage, Counter()).update(dict(zip(("copied", "all"), runs, strict=True)))
            for guard, exemplars in result.excluded.items():
                self.guards.setdefault(guard, Counter()).update(samples=1, exemplars=exemplars)
            self.counts.update(
                samples=1,
                calls=result.calls,
                cached=result.cached_calls,
                helped=int(result.cached_calls > 0),
                touched=int(bool(result.excluded)),
                clip_problems=result.clip_problems,
                repeated=result.repeated_passes,
                later=max(0, result.passes - 1),
                unaudited=int(result.unaudited),
            )

    @property
    def counted(self) -> str:
        """A line with samples and calls, and with the samples that have cached calls, whose times do not count."""
        samples, failed = plural(self.counts["samples"], "sample"), len(self.failed)
        unaudited = f" ({self.counts['unaudited']} unaudited)" if self.counts["unaudited"] else ""
        ended = f"{samples}: {self.counts['samples'] - failed} ok{unaudited}, {failed} failed"
        if self.imported:
            return ended
        cached = f"{plural(self.counts['calls'], 'call')}, {self.counts['cached']} of them cached"
        helped = f" in {self.counts['helped']} of {samples}, which are excluded from seconds"
        return f"{ended}; {cached}{helped * (self.counts['helped'] > 0)}"

    def replies(self) -> Table:
        """A table of the first samples. An audit is one mark per stage, in the system's order."""
        rows = len(self.first)
        more = f"; the first {rows}; mmerg show RUN SAMPLE prints any" if self.counts["samples"] > rows else ""
        table = Table(title=f"{self.counted}{more}", title_justify="left", show_lines=True)
        for name in ("sample", "emotion", "plan", "audit", "passes", "selected"):
            table.add_column(name, overflow="fold")
        table.add_column("response", ratio=1, overflow="fold")
        for result in self.first:
            cells = [*"–––––", f"failed: {result.failure}"]
            if result.ok:
                audit = "".join("✓" if check else "✗" for check in (result.audit or {}).values()) or "–"
                passes = (str(result.passes), str(result.selected_pass)) if result.passes else ("–", "–")
                cells = [result.emotion or "–", plan(result), audit, *passes, result.response or ""]
            table.add_row(*map(escape, (result.id, *cells)))
        if agents := ", ".join(next((result.audit for result in self.first if result.audit), ())):
            table.caption, table.caption_justify = escape(f"audit: {agents}; passes count from 0"), "left"
        return table

    @property
    def copies(self) -> str:
        """The share that each agent copies from the one before it; "" if none copies a tenth."""
        shares = {stage: round(100 * runs["copied"] / runs["all"]) for stage, runs in self.handed_on.items()}
        text = ", ".join(f"{stage} {share} %" for stage, share in shares.items())
        return text if any(share >= COPIED for share in shares.values()) else ""

    @property
    def kept_back(self) -> str:
        """A line with the exemplars that guards excluded; "" if there are none."""
        parts = {
            guard: f"{count['exemplars']} in {plural(count['samples'], 'sample')}"
            for guard, count in self.guards.items()
        }
        touched = plural(self.counts["touched"], "sample")
        return f"exemplars excluded in {touched} ({_listed(parts)})" if parts else ""

    def notes(self) -> Iterator[str]:
        """A line for each: clip problems, missing exemplars, cleaned replies, unread audits, repeated passes."""
        if count := self.counts["clip_problems"]:
            yield f"clip problems: {plural(count, 'turn')} have text only; mmerg show RUN SAMPLE says why"
        if self.problems:
            lacking = self.problems.total()
            yield f"samples with a source without exemplars: {lacking} ({_listed(self.problems)})"
        if self.cleaned:
            yield f"removed from completions: {_listed(self.cleaned)}"
        if copies := self.copies:
            yield f"4-grams copied from the agent before: {copies}"
        if self.repeats:
            yield f"replies that repeat a text from their prompt: {_listed(self.repeats)}"
        if count := self.counts["unaudited"]:
            yield f"unaudited: in {plural(count, 'sample')} an audit could not be read; mmerg show RUN SAMPLE says why"
        if count := self.counts["repeated"]:
            later = f"{count} of {self.counts['later']} passes after the first"
            yield f"{later} repeat the one before: the faulty agent gave the same output"


def _listed(parts: Mapping[str, object]) -> str:
    return "; ".join(f"{name}: {part}" for name, part in sorted(parts.items()))


def plan(result: Result) -> str:
    """The fields of the plan, one per line, without its reasoning. Omits sentences if any field is a word."""
    named = result.plan if isinstance(result.plan, dict) else {"": result.plan}
    fields = [field for name, field in named.items() if not name.startswith("reason")] or named.values()
    texts = [str(field) for field in fields if field not in (None, "", [], {})]
    words = [text for text in texts if not text.endswith((".", "!", "?")) and len(text) <= WORD]
    return "\n".join(words or texts) or "–"


def describe_memory(memory: MemorySection) -> str:
    """The memory of a run in one line."""
    without = "".join(f", {count} {reason} left out" for reason, count in memory.left_out.items())
    corpus = f"{memory.corpus.name} {memory.corpus.split}"
    return f"memory: {corpus}, {memory.entries} entries, top {memory.top_k}{without}"


def failures(results: Iterable[Result | Verdicts]) -> Table | None:
    """A table of failures by class, with the first message of each; None if nothing failed."""
    failed = [result for result in results if result.status == "failed"]
    counts = Counter(str(result.failure) for result in failed)
    if not failed:
        return None
    again = "; only_failed=true retries them; add cache=off if the model's replies were unusable"
    title = f"{len(failed)} failed{again * bool(counts.keys() - {Failure.ABSENT, Failure.CODE_ERROR})}"
    table = Table("failure", title=title, title_justify="left")
    table.add_column("samples", justify="right")
    table.add_column("first", ratio=1, overflow="fold")
    for failure, count in counts.most_common():
        first = next(result for result in failed if str(result.failure) == failure)
        table.add_row(failure, str(count), escape(f"{first.id}: {first.failure_text}"))
    return table
