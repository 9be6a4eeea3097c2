"""Comparisons as tables for a terminal: one a pair of runs, with the settings that differ and the samples that improved
and got worse, then what to know of them.

for part in shown(compared, {"run-a": "mine"}):
    console.print(part)
"""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from mmerg.console.tables import ARROWS, NONE, Sheet, figure, signed
from mmerg.console.terminal import escape, plural
from mmerg.errors import by_reason
from mmerg.scoring.changed import Change
from mmerg.scoring.comparisons import Compared, Pair, chance, how_p
from mmerg.scoring.paired import Comparison
from mmerg.scoring.shares import LEVEL

_HEADS = ("figure", "A", "B", "B − A", "95 % interval", "p", "p Holm", "detectable", "pairs")
_FEW = 3  # samples listed of each kind


def shown(compared: Compared, labels: Mapping[str, str], verbose: bool = False) -> Iterator[RenderableType]:
    """A table for each side that was held against the first, which samples changed, why some figures have no
    difference, warnings. labels: what tells the runs apart, by their names (see `runs.labels`). verbose: all
    samples that changed, signatures, and how all was had."""
    yield escape(f"protocol {compared.protocol}")
    for number, pair in enumerate(compared.pairs):
        found = compared.comparisons[number :: len(compared.pairs)]
        yield escape(_heading(pair, labels))
        yield _table([one for one in found if one.difference is not None])
        yield from (escape(told) for told in _shares(found))
        if pair.forecasts and pair.forecasts.samples:
            yield escape(pair.forecasts.told())
        absent = by_reason((one.why, one.metric) for one in found if one.why)
        yield from (escape(f"{names}: {why}") for why, names in absent.items())
        for metric in dict.fromkeys(one.metric for one in found if one.p is not None):
            those = [one for one in compared.changes if (one.metric, one.b) == (metric, pair.b)]
            yield from _changed(metric, those, len(those) if verbose else _FEW)
        if verbose:
            yield from (escape(f"  {one.metric}: {one.signature}") for one in found if one.signature)
    yield from (escape(f"warning: {told}") for told in compared.warnings)
    yield escape(_how(compared) if verbose else "--verbose lists all samples, signatures, and how each was had")


def _heading(pair: Pair, labels: Mapping[str, str]) -> str:
    alone = f"; {pair.a_alone} more in A alone, {pair.b_alone} in B alone" if pair.a_alone or pair.b_alone else ""
    settings = "".join(f"\n  {one.name}: {one.a} → {one.b}" for one in pair.settings)
    differing = f"\nsettings that differ, A → B{settings}" if settings else "\nno setting differs"
    a, b = ("; ".join(f"{labels[run]}, {run}" for run in runs) for runs in (pair.a_runs, pair.b_runs))
    seeds = f", each figure the mean over {len(pair.a_runs)} seeds" if len(pair.a_runs) > 1 else ""
    return f"\nA: {a}\nB: {b}\n{plural(pair.samples, 'sample')} in both{alone}{seeds}{differing}"


def _table(found: Sequence[Comparison]) -> Sheet:
    rows = [
        (
            one.metric + ARROWS[one.higher_is_better],
            _side(one.a_value, one.a_sd),
            _side(one.b_value, one.b_sd),
            signed(one.difference),
            NONE if one.interval is None else f"{signed(one.interval[0])} to {signed(one.interval[1])}",
            chance(one.p),
            chance(one.p_holm) + (" *" if one.p_holm is not None and one.p_holm < LEVEL else ""),
            figure(one.detectable),
            f"{one.n}" + f" ({one.left_out} left out)" * bool(one.left_out),
        )
        for one in found
    ]
    return Sheet("", _HEADS, rows)


def _side(value: float | None, sd: float | None) -> str:
    return figure(value) if sd is None else f"{figure(value)} ± {figure(sd)}"


def _shares(found: Sequence[Comparison]) -> Iterator[str]:
    """McNemar's two counts, of what is tested."""
    for one in found:
        if one.a_right is not None and one.p is not None:
            yield f"{one.metric}: b = {one.a_right} pairs count in A alone, c = {one.b_right} in B alone ({one.test})"


def _changed(metric: str, found: Sequence[Change], most: int) -> Iterator[Text]:
    """The samples that improved and that got worse, with both replies."""
    for better, told in ((True, "improved"), (False, "got worse")):
        those = [one for one in found if one.better == better]
        if those:
            more = f", the first {most}" if len(those) > most else ""
            yield escape(f"{metric}: {plural(len(those), 'sample')} {told}{more}")
        for one in those[:most]:
            gold = f", label {one.gold}" if one.gold else ""
            yield escape(f"  {one.sample}: {figure(one.a_value)} → {figure(one.b_value)}{gold}")
            for side, emotion, reply in (("A", one.a_emotion, one.a_reply), ("B", one.b_emotion, one.b_reply)):
                yield escape(f"    {side}: {f'({emotion}) ' if emotion else ''}{reply or 'failed'}")


def _how(compared: Compared) -> str:
    count = sum(one.p is not None for one in compared.comparisons)
    return (
        f"\np: {how_p(compared)}.\n"
        f"p Holm: corrected for all that is tested here together ({count}); * below 0.05.\n"
        "95 % interval: Newcombe's for shares, a jackknife for dist and ead from 10 dialogues on, else dialogues\n"
        "drawn with repetition; under 30 dialogues all but the first are approximate.\n"
        "detectable: what so many pairs find with 80 % power at 5 %. left out: pairs that one side has no figure for."
    )
