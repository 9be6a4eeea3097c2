"""Why a pass was selected, in a sentence that names the check that decided.

why_selected(event, ["mpa", "caef"])    # 'Pass 1 won: (1, 1, −1) beats (1, 0, 0) of pass 0 at the check of caef'
"""

from __future__ import annotations

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
        if not checks:
            return f"Pass {selected.t} is the last one"
        return f"Pass {selected.t} is the latest that could be audited (final_selection=last), whatever its checks"
    if not others:
        return f"Pass {selected.t} is the only one that could be {'audited' if checks else 'ranked'}: {told(mine)}"
    second = max(others, key=lambda t: others[t])
    differing = (at for at, (one, other) in enumerate(zip(mine, others[second], strict=False)) if one != other)
    place = next(differing, len(mine) - 1)
    beats = f"Pass {selected.t} won: {told(mine)} beats {told(others[second])} of pass {second}"
    drawn = selected.ended in DRAWN
    if place == len(mine) - 1:
        same = "the same checks hold" if checks else "it is as likely" if drawn else "it has as many points"
        return f"{beats}: {same}, and the earlier pass wins"
    places = [f"at the check of {name}" for name in checks]
    places = places or (["by its votes", "by its likelihood"] if drawn else ["by its points"])
    return f"{beats} {places[min(place, len(places) - 1)]}"


def told(rank: Sequence[float]) -> str:
    """A tuple with true minus signs."""
    return f"({', '.join(str(value) for value in rank)})".replace("-", "−")
