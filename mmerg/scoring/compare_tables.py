"""Comparisons on a terminal: tables, the settings that differ, and notes.

for part in render(report, {"run-a": "mine", "run-b": "yours"}):
    console.print(part)
"""

from collections.abc import Iterator, Mapping

from rich.console import RenderableType

from mmerg.console.tables import ARROWS, NONE, Table, format_difference, format_number
from mmerg.console.terminal import escape, plural
from mmerg.errors import group_by_reason
from mmerg.scoring.comparisons import ComparisonReport, PairComparison, format_p
from mmerg.scoring.paired import MetricComparison
from mmerg.scoring.shares import LEVEL

_HEADS = ("metric", "A", "B", "B − A", "95 % interval", "p", "p Holm", "detectable", "pairs")


def render(report: ComparisonReport, labels: Mapping[str, str], verbose: bool = False) -> Iterator[RenderableType]:
    """Yields a table for each pair, the reasons for missing differences, and warnings. labels: by name of the run.
    verbose: also yield signatures and the methods of intervals."""
    if report.unequal:
        yield escape(report.unequal)
    yield escape(f"protocol {report.protocol}")
    for pair in report.pairs:
        yield escape(_format_heading(pair, labels, report.inputs))
        yield Table("", _HEADS, [_format_row(comparison) for comparison in pair.differences])
        yield from map(escape, _list_notes(pair))
        for comparison in pair.comparisons if verbose else ():
            method = f" ({comparison.method})" if comparison.method else ""
            yield escape(f"  {comparison.metric}: {comparison.signature or comparison.why}{method}")
    yield from (escape(f"warning: {warning}") for warning in report.warnings)
    if verbose:
        yield escape(f"p: {report.describe_p()}.\np Holm: corrected for all tests here; * below 0.05.")
    else:
        how = "--verbose prints signatures and the methods of intervals"
        yield escape(f"{how}; mmerg report RUN RUN lists the samples that changed")


def _format_heading(pair: PairComparison, labels: Mapping[str, str], inputs: Mapping[str, tuple[str, ...]]) -> str:
    """Names the runs of both sides, their number of samples, the settings that differ, and what each side sees."""
    a, b = ("; ".join(f"{labels[run]}, {run}" for run in runs) for runs in (pair.a_runs, pair.b_runs))
    samples = f"{plural(pair.samples, 'sample')} in both"
    if pair.a_alone or pair.b_alone:
        samples += f"; {pair.a_alone} more only in A, {pair.b_alone} only in B"
    if len(pair.a_runs) > 1:
        samples += f", each score the mean over {len(pair.a_runs)} seeds"
    settings = "".join(f"\n  {name}: {a_value} → {b_value}" for name, (a_value, b_value) in pair.settings.items())
    differing = f"settings that differ, A → B{settings}" if settings else "no setting differs"
    a_sees, b_sees = (", ".join(inputs[runs[0]]) or "unknown inputs" for runs in (pair.a_runs, pair.b_runs))
    return f"\nA: {a}\nB: {b}\n{samples}\n{differing}\nA sees {a_sees}; B sees {b_sees}"


def _format_row(comparison: MetricComparison) -> list[str]:
    interval = NONE
    if comparison.interval is not None:
        low, high = comparison.interval
        interval = f"{format_difference(low)} to {format_difference(high)}"
    significant = comparison.p_holm is not None and comparison.p_holm < LEVEL
    return [
        comparison.metric + ARROWS[comparison.higher_is_better],
        _format_value(comparison.a_value, comparison.a_sd),
        _format_value(comparison.b_value, comparison.b_sd),
        format_difference(comparison.difference),
        interval,
        format_p(comparison.p),
        format_p(comparison.p_holm) + (" *" if significant else ""),
        format_number(comparison.detectable),
        f"{comparison.n}" + (f" ({comparison.skipped} skipped)" if comparison.skipped else ""),
    ]


def _format_value(value: float | None, sd: float | None) -> str:
    return format_number(value) if sd is None else f"{format_number(value)} ± {format_number(sd)}"


def _list_notes(pair: PairComparison) -> Iterator[str]:
    """Yields the baselines, the tests, and the reasons for missing scores."""
    if pair.baselines:
        yield pair.baselines
    for comparison in pair.comparisons:
        if comparison.test:
            yield f"{comparison.metric}: {comparison.test}"
    missing = group_by_reason((comparison.why, comparison.metric) for comparison in pair.comparisons if comparison.why)
    yield from (f"{names}: {why}" for why, names in missing.items())
