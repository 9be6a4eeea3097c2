"""Why a pass was selected, in a sentence that names the check that decided.

why_selected(event, ["mpa", "caef"])    # 'Pass 1 won: it passed the check of caef, which pass 0 did not'
"""

from collections.abc import Sequence

from mmerg.runs.events import DRAWN, ENDED, Selected


def why_selected(selected: Selected, checks: Sequence[str]) -> str:
    """From the tuples that the passes were compared by. checks: the names of their places but the last,
    which is −t; none where passes have points in place of checks, or are draws."""
    mine = selected.ranks.get(selected.t)
    others = {t: rank for t, rank in selected.ranks.items() if t != selected.t}
    if mine is None:
        return f"Pass {selected.t} is the only one: {ENDED.get(selected.ended, selected.ended)}"
    if selected.by == "last":
        latest = "the latest that could be audited (final_selection=last), whatever its checks"
        return f"Pass {selected.t} is {latest if checks else 'the last one'}"
    drawn = selected.ended in DRAWN
    if not others:
        failed = [name for name, value in zip(checks, mine, strict=False) if not value]
        had = f"{' and '.join(failed)} failed" if failed else describe(mine, drawn, checks)
        return f"Pass {selected.t} is the only one that could be {'audited' if checks else 'ranked'}: {had}"
    second = max(others, key=lambda t: others[t])
    differing = [at for at, (one, other) in enumerate(zip(mine, others[second], strict=False)) if one != other]
    if not differing or differing[0] == len(mine) - 1:
        same = "passed the same checks" if checks else "is as likely" if drawn else "has as many points"
        why = f": pass {second} {same}, and the earlier pass wins"
    elif checks:
        why = f": it passed the check of {checks[min(differing[0], len(checks) - 1)]}, which pass {second} did not"
    else:
        why = f" with {describe(mine, drawn)}; pass {second} has {describe(others[second], drawn)}"
    return f"Pass {selected.t} won{why}"


def describe(rank: Sequence[float], drawn: bool, checks: Sequence[str] = ()) -> str:
    """What a pass was compared by: its checks, its points, or how many draws agree with it and how likely it is."""
    if checks:
        return f"all {len(checks)} checks passed"
    counted = f"{rank[0]:g} {'vote' if drawn else 'point'}{'s' * (rank[0] != 1)}"
    likely = "".join(f", mean log-probability {value:.4g}" for value in rank[1:-1]) if drawn else ""
    return f"{counted}{likely}".replace("-", "−").replace("log−", "log-")
