"""Tables of comparisons for a terminal, with the settings that differ, and notes.

for part in render(compared, {"run-a": "mine", "run-b": "yours"}):
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


def render(compared: ComparisonReport, labels: Mapping[str, str], verbose: bool = False) -> Iterator[RenderableType]:
    """A table for each pair, why scores have no difference, and warnings. labels: short labels of runs, by name.
    verbose: adds signatures and methods."""
    yield from filter(None, [compared.unequal and escape(compared.unequal)])
    yield escape(f"protocol {compared.protocol}")
    for pair in compared.pairs:
        yield escape(_heading(pair, labels, compared.inputs))
        yield Table("", _HEADS, [_row(one) for one in pair.differences])
        lines = list(_notes(pair))
        if verbose:
            lines += [f"  {one.metric}: {one.signature}" for one in pair.comparisons if one.signature]
        yield from map(escape, lines)
    yield from (escape(f"warning: {warning}") for warning in compared.warnings)
    how = "--verbose prints signatures and how each metric is computed"
    yield escape(_how(compared) if verbose else f"{how}; mmerg report RUN RUN lists the samples that changed")


def _heading(pair: PairComparison, labels: Mapping[str, str], inputs: Mapping[str, tuple[str, ...]]) -> str:
    alone = f"; {pair.a_alone} more only in A, {pair.b_alone} only in B" if pair.a_alone or pair.b_alone else ""
    settings = "".join(f"\n  {name}: {a} → {b}" for name, (a, b) in pair.settings.items())
    differing = f"\nsettings that differ, A → B{settings}" if settings else "\nno setting differs"
    a, b = ("; ".join(f"{labels[run]}, {run}" for run in runs) for runs in (pair.a_runs, pair.b_runs))
    a_sees, b_sees = (", ".join(inputs[runs[0]]) or "unknown inputs" for runs in (pair.a_runs, pair.b_runs))
    seeds = f", each score the mean over {len(pair.a_runs)} seeds" if len(pair.a_runs) > 1 else ""
    differing += f"\nA sees {a_sees}; B sees {b_sees}"
    return f"\nA: {a}\nB: {b}\n{plural(pair.samples, 'sample')} in both{alone}{seeds}{differing}"


def _row(one: MetricComparison) -> list[str]:
    return [
        one.metric + ARROWS[one.higher_is_better],
        _side(one.a_value, one.a_sd),
        _side(one.b_value, one.b_sd),
        format_difference(one.difference),
        NONE
        if one.interval is None
        else f"{format_difference(one.interval[0])} to {format_difference(one.interval[1])}",
        format_p(one.p),
        format_p(one.p_holm) + " *" * (one.p_holm is not None and one.p_holm < LEVEL),
        format_number(one.detectable),
        f"{one.n}" + f" ({one.left_out} left out)" * bool(one.left_out),
    ]


def _side(value: float | None, sd: float | None) -> str:
    return format_number(value) if sd is None else f"{format_number(value)} ± {format_number(sd)}"


def _notes(pair: PairComparison) -> Iterator[str]:
    """McNemar's counts of tested metrics, and reasons for missing scores."""
    if pair.baselines:
        yield pair.baselines
    for one in pair.comparisons:
        if one.a_right is not None and one.p is not None:
            yield f"{one.metric}: b = {one.a_right} pairs count only in A, c = {one.b_right} only in B ({one.test})"
    missing = group_by_reason((one.why, one.metric) for one in pair.comparisons if one.why)
    yield from (f"{names}: {why}" for why, names in missing.items())


def _how(compared: ComparisonReport) -> str:
    return (
        f"\np: {compared.describe_p()}.\n"
        f"p Holm: corrected for all tests here ({len(compared.tested)}); * below 0.05.\n"
        "95 % interval: Newcombe's for shares, a jackknife for dist and ead, else a bootstrap over dialogues. All but\n"
        "the first need 10 dialogues, and costs have none. Interval and p include the variance over seeds.\n"
        "detectable: by so many pairs with 80 % power at the 5 % level. left out: pairs without a score on one side."
    )
