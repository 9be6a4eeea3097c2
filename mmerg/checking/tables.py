"""A report for the terminal: counts, samples, clips. Reads the report only."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from rich.console import RenderableType
from rich.table import Column, Table

from mmerg.checking.report import SOME, BadClip, Part, Report
from mmerg.console.tables import NONE, Sheet
from mmerg.console.terminal import escape

UNKNOWN = "no official counts are known for it"


def tables(report: Report) -> Iterator[RenderableType]:
    """What to print, from top to bottom."""
    corpus, targets, clips = report.corpus, report.targets, report.clips
    against = f"official: {corpus.source}" if corpus.source else UNKNOWN
    yield escape(f"{corpus.name} {corpus.split}; {against}")
    yield _counts(corpus)
    if corpus.notes:
        yield escape(f"notes of the reader: {_listed(corpus.notes)}")
    if report.memory:
        yield escape(f"memory: {_memory(report.memory)}")
    yield escape(f"protocol: {targets.told}")
    shares = (
        f"{label or 'no label'} {count} ({100 * count / targets.samples:.1f} %)"
        for label, count in targets.labels.items()
        if count
    )
    yield escape(f"targets: {', '.join(shares)}")
    if clips is None:
        yield escape("clips: the reader looks for none; samples go on as text")
        return
    yield escape(
        f"samples with a clip to use in the last {targets.last_turns} turns before the target: {targets.with_clip} of "
        f"{targets.samples}" + (f"; looked at in vain: {_listed(targets.in_vain)}" if targets.in_vain else "")
    )
    how = "opened, first frame decoded" if clips.looked == "open" else "looked up by name, not opened"
    bad = sum(not one.harmless and one.reason != "missing" for one in clips.bad)
    known = sum(one.known for one in clips.bad)
    yield escape(
        f"clips: {clips.turns} of {clips.of} turns have one; {clips.files} files {how}; {clips.missing} missing, "
        f"{bad} cannot be used" + (f"; {known} of these are bad in the published release" if known else "")
    )
    if clips.bad:
        yield _flaws(clips.bad)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _counts(part: Part) -> Sheet:
    """A row a count; labels that are neither found nor published have none."""
    rows = [
        (count.what, str(count.found), NONE, NONE)
        if count.official is None
        else (count.what, str(count.found), str(count.official), "✗ differs" if count.wrong else "✓")
        for count in part.counts
        if count.found or count.official
    ]
    return Sheet("", ("what", "found", "official", "verdict"), rows)


def _memory(part: Part) -> str:
    """The corpus of exemplars on one line."""
    wrong = any(count.wrong for count in part.counts)
    counts = ", ".join(
        f"{count.found} {count.what}" + (f" ({count.official} official)" if count.wrong else "")
        for count in part.counts
        if not count.what.startswith("turns ")
    )
    verdict = UNKNOWN if part.source is None else "differs" if wrong else "as published"
    return f"{part.name} {part.split}: {counts}; {verdict}"


def _flaws(flaws: Sequence[BadClip]) -> Table:
    """The first clips of each kind of flaw: what is wrong first, then what is known, then what is harmless."""

    def kind(one: BadClip) -> tuple[bool, bool, str]:
        return one.harmless, one.known, one.reason

    fold = partial(Column, overflow="fold")
    columns = fold("clip"), fold("turn"), fold("what", ratio=1)
    table = Table("flaw", *columns, title="clips to look at", title_justify="left")
    for (harmless, known, reason), group in groupby(sorted(flaws, key=kind), kind):
        bad = list(group)
        more = "; known in the published release" * known + "; frames are taken all the same" * harmless
        for one in bad[:SOME]:
            turns = one.turns[0] + (f" +{len(one.turns) - 1}" if len(one.turns) > 1 else "")
            table.add_row(reason, escape(one.clip or "?"), escape(turns), escape(one.what + more))
        if len(bad) > SOME:
            table.add_row(reason, f"and {len(bad) - SOME} more", "", "all are named in the JSON file")
    return table
