"""Comparisons as tables for a terminal: one a pair of runs, with the settings that differ, then what to know of them.

for part in shown(compared):
    console.print(part)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from mmerg.console.terminal import escape
from mmerg.scoring.comparisons import Compared, Pair, chance, how_p
from mmerg.scoring.fitting import Cell, Fitting
from mmerg.scoring.paired import Comparison
from mmerg.scoring.power import LEVEL
from mmerg.scoring.shown import figure, signed

_HEADS = ("figure", "A", "B", "B − A", "95 % interval", "p", "p Holm", "detectable", "pairs", "left out")
_ARROWS = {True: " ↑", False: " ↓", None: ""}


def shown(compared: Compared, labels: Sequence[str]) -> Iterator[RenderableType]:
    """A table for each run that was held against the first, why some figures have no difference, warnings, methods.
    labels: the user's own names of the runs, empty where there is none."""
    yield escape(f"protocol {compared.protocol}")
    for number, pair in enumerate(compared.pairs):
        found = compared.comparisons[number :: len(compared.pairs)]
        yield escape(_heading(pair, labels[0], labels[number + 1]))
        yield _table([one for one in found if one.difference is not None])
        yield from (escape(told) for told in _shares(found))
        if pair.forecasts and pair.forecasts.samples:
            yield pair.forecasts.told()
        yield from (escape(f"{', '.join(names)}: {why}") for why, names in _absent(found).items())
    yield from (escape(f"warning: {told}") for told in compared.warnings)
    yield Text(_how(compared))


def _heading(pair: Pair, a: str, b: str) -> str:
    alone = f"; {pair.a_alone} more in A alone, {pair.b_alone} in B alone" if pair.a_alone or pair.b_alone else ""
    settings = "".join(f"\n  {one.name}: {one.a} → {one.b}" for one in pair.settings)
    differing = f"\nsettings that differ, A → B{settings}" if settings else "\nno setting differs"
    a, b = (f"{own}, {run}" if own else run for own, run in ((a, pair.a), (b, pair.b)))
    return f"\nA: {a}\nB: {b}\n{pair.samples} samples in both{alone}{differing}"


def _table(found: Sequence[Comparison]) -> Fitting:
    rows: list[list[Cell]] = [
        [
            escape(one.metric + _ARROWS[one.higher_is_better]),
            figure(one.a_value),
            figure(one.b_value),
            signed(one.difference),
            "–" if one.interval is None else f"{signed(one.interval[0])} to {signed(one.interval[1])}",
            chance(one.p),
            chance(one.p_holm) + (" *" if one.p_holm is not None and one.p_holm < LEVEL else "  "),
            figure(one.detectable),
            str(one.n),
            str(one.left_out or ""),
        ]
        for one in found
    ]
    return Fitting(_HEADS, rows)


def _shares(found: Sequence[Comparison]) -> Iterator[str]:
    """McNemar's two counts."""
    for one in found:
        if one.a_right is not None:
            yield (
                f"{one.metric}: b = {one.a_right} pairs count in A alone, c = {one.b_right} in B alone"
                + f" ({one.test})" * bool(one.test)
            )


def _absent(found: Sequence[Comparison]) -> dict[str, list[str]]:
    """Figures without a difference, or an interval of it, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.why:
            reasons.setdefault(one.why, []).append(one.metric)
    return reasons


def _how(compared: Compared) -> str:
    count = sum(one.p is not None for one in compared.comparisons)
    return (
        f"\np: {how_p(compared)}.\n"
        f"p Holm: corrected for all that is tested here together ({count}); * below 0.05.\n"
        "95 % interval: Newcombe's for shares, a jackknife for dist and ead from 10 dialogues on, else dialogues\n"
        "drawn with repetition; under 30 dialogues all but the first are approximate.\n"
        "detectable: what so many pairs find with 80 % power at 5 %. left out: pairs that one side has no figure for."
    )
