"""A report for the terminal: counts, samples, clips. Reads the report only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table

from mmerg.checking.report import SOME, Clips, Part, Report, Targets
from mmerg.console.terminal import escape


def tables(report: Report) -> Iterator[RenderableType]:
    """What to print, from top to bottom."""
    corpus, targets = report.corpus, report.targets
    against = f"official: {corpus.source}" if corpus.source else "no official counts are known for it"
    yield escape(f"{corpus.name} {corpus.split}; {against}")
    yield _counts(corpus)
    if corpus.notes:
        yield escape(f"notes of the reader: {_listed(corpus.notes)}")
    if report.memory:
        yield escape(f"memory: {_memory(report.memory)}")
    yield escape(f"protocol: {targets.told}")
    yield escape(f"targets: {_labels(targets)}")
    if report.clips is None:
        yield escape("clips: the reader looks for none; samples go on as text")
        return
    yield escape(
        f"samples with a clip to use in the last {targets.last_turns} turns before the target: {targets.with_clip} of "
        f"{targets.samples}" + (f"; looked at in vain: {_listed(targets.in_vain)}" if targets.in_vain else "")
    )
    yield escape(_summary(report.clips))
    if report.clips.bad:
        yield _flaws(report.clips)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _counts(part: Part) -> Table:
    """A row a count: found, official, verdict. Labels that are neither found nor published have none."""
    table = Table("what", "found", "official", "verdict")
    for column in table.columns[1:3]:
        column.justify = "right"
    for count in part.counts:
        if count.found or count.official:
            verdict = "–" if count.official is None else "✗ differs" if count.wrong else "✓"
            official = "–" if count.official is None else str(count.official)
            table.add_row(escape(count.what), str(count.found), official, verdict)
    return table


def _memory(part: Part) -> str:
    """The corpus of exemplars on one line."""
    wrong = any(count.wrong for count in part.counts)
    counts = ", ".join(
        f"{count.found} {count.what}" + (f" ({count.official} official)" if count.wrong else "")
        for count in part.counts
        if not count.what.startswith("turns ")
    )
    verdict = "no official counts are known for it" if part.source is None else "differs" if wrong else "as published"
    return f"{part.name} {part.split}: {counts}; {verdict}"


def _labels(found: Targets) -> str:
    """Targets by label, with their share of the samples; labels of no target are left out."""
    return ", ".join(
        f"{label or 'no label'} {count} ({100 * count / found.samples:.1f} %)"
        for label, count in found.labels.items()
        if count
    )


def _summary(clips: Clips) -> str:
    """One line for all clips."""
    how = "opened, first frame decoded" if clips.looked == "open" else "looked up by name, not opened"
    bad = sum(not one.harmless and one.reason != "missing" for one in clips.bad)
    known = sum(one.known for one in clips.bad)
    line = f"clips: {clips.turns} of {clips.of} turns have one; {clips.files} files {how}; {clips.missing} missing"
    return f"{line}, {bad} cannot be used" + (f"; {known} of these are bad in the published release" * bool(known))


def _flaws(clips: Clips) -> Table:
    """The first clips of each kind of flaw: what is wrong first, then what is known, then what is harmless."""
    table = Table("flaw", "clip", "turn", "what", title="clips to look at", title_justify="left")
    for column in table.columns[1:]:
        column.overflow = "fold"
    table.columns[3].ratio = 1
    ordered = sorted(clips.bad, key=lambda one: (one.harmless, one.known, one.reason))
    for (harmless, known, reason), group in groupby(ordered, lambda one: (one.harmless, one.known, one.reason)):
        bad = list(group)
        for one in bad[:SOME]:
            what = one.what + ("; known in the published release" if known else "")
            what += "; frames are taken all the same" if harmless else ""
            more = f" +{len(one.turns) - 1}" if len(one.turns) > 1 else ""
            table.add_row(reason, escape(one.clip or "?"), escape(one.turns[0] + more), escape(what))
        if len(bad) > SOME:
            table.add_row(reason, f"and {len(bad) - SOME} more", "", "all are named in the JSON file")
    return table
