"""A report for the terminal: counts, samples, clips. Reads the report only."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from mmerg.checking.report import SOME, BadClip, Clips, Part, Report
from mmerg.checking.targets import Targets
from mmerg.console.terminal import escape


def tables(report: Report) -> Iterator[RenderableType]:
    """What to print, from top to bottom."""
    against = f"official: {report.corpus.source}" if report.corpus.source else "no official counts are known for it"
    yield escape(f"{report.corpus.name} {report.corpus.split}; {against}")
    yield counts(report.corpus)
    if report.corpus.notes:
        notes = ", ".join(f"{name} {count}" for name, count in report.corpus.notes.items())
        yield escape(f"notes of the reader: {notes}")
    if report.memory:
        yield escape(f"memory: {memory(report.memory)}")
    yield escape(f"protocol: {report.targets.told}")
    yield escape(f"targets: {labels(report.targets)}")
    if report.clips is None:
        yield escape("clips: the reader looks for none; samples go on as text")
        return
    seen = report.targets
    in_vain = ", ".join(f"{reason} {count}" for reason, count in seen.in_vain.items())
    yield escape(
        f"samples with a clip to use in the last {seen.last_turns} turns before the target: "
        f"{seen.with_clip} of {seen.samples}" + (f"; looked at in vain: {in_vain}" if in_vain else "")
    )
    yield escape(summary(report.clips))
    if report.clips.bad:
        yield flaws(report.clips)


def counts(part: Part) -> Table:
    """A row a count: found, official, verdict. Labels that are neither found nor published have none."""
    table = Table()
    table.add_column("what")
    table.add_column("found", justify="right")
    table.add_column("official", justify="right")
    table.add_column("verdict")
    for count in part.counts:
        if not count.found and not count.official:
            continue
        verdict = "–" if count.official is None else "✗ differs" if count.wrong else "✓"
        official = "–" if count.official is None else str(count.official)
        table.add_row(escape(count.what), str(count.found), official, verdict)
    return table


def memory(part: Part) -> str:
    """The corpus of exemplars on one line."""
    wrong = any(count.wrong for count in part.counts)
    told = ", ".join(
        f"{count.found} {count.what}" + (f" ({count.official} official)" if count.wrong else "")
        for count in part.counts
        if not count.what.startswith("turns ")
    )
    verdict = "no official counts are known for it" if part.source is None else "differs" if wrong else "as published"
    return f"{part.name} {part.split}: {told}; {verdict}"


def labels(found: Targets) -> str:
    """Targets by label, with their share of the samples; labels of no target are left out."""
    return ", ".join(
        f"{label or 'no label'} {count} ({100 * count / found.samples:.1f} %)"
        for label, count in found.labels.items()
        if count
    )


def summary(clips: Clips) -> str:
    """One line for all clips."""
    how = "opened, first frame decoded" if clips.looked == "open" else "looked up by name, not opened"
    bad = sum(not one.escape and one.reason != "missing" for one in clips.bad)
    known = sum(one.known for one in clips.bad)
    told = f"clips: {clips.turns} of {clips.of} turns have one; {clips.files} files {how}; {clips.missing} missing"
    return f"{told}, {bad} cannot be used" + (f"; {known} of these are bad in the published release" * bool(known))


def flaws(clips: Clips) -> Table:
    """The first clips of each kind of flaw; those of the release and escape ones say so."""
    table = Table(title="clips to look at", title_justify="left")
    table.add_column("flaw")
    table.add_column("clip", overflow="fold")
    table.add_column("turn", overflow="fold")
    table.add_column("what", ratio=1, overflow="fold")
    for reason, known, harmless_one, bad in _groups(clips):
        for one in bad[:SOME]:
            told = one.what + ("; known in the published release" if known else "")
            told += "; frames are taken all the same" if harmless_one else ""
            more = f" +{len(one.turns) - 1}" if len(one.turns) > 1 else ""
            table.add_row(reason, escape(one.clip or "?"), escape(one.turns[0] + more), escape(told))
        if len(bad) > SOME:
            table.add_row(reason, f"and {len(bad) - SOME} more", "", "all are named in the JSON file")
    return table


def _groups(clips: Clips) -> list[tuple[str, bool, bool, list[BadClip]]]:
    """Those of one kind together: what is wrong first, then what is known, then what is escape."""
    groups: dict[tuple[bool, bool, str], list[BadClip]] = {}
    for one in clips.bad:
        groups.setdefault((one.escape, one.known, one.reason), []).append(one)
    return [(reason, known, fine, bad) for (fine, known, reason), bad in sorted(groups.items())]
