"""Why a pass was selected, in a sentence that names the check that decided.

why_selected(event, ["mpa", "caef"])    # 'Pass 1 won: (1, 1, −1) beats (1, 0, 0) of pass 0 at the check of caef'
"""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.runs.events import ENDED, Selected


def why_selected(selected: Selected, checks: Sequence[str]) -> str:
    """From the tuples that the passes were compared by. checks: the names of their places but the last,
    which is −t; none where passes have points in place of checks."""
    mine = selected.ranks.get(selected.t)
    others = {t: rank for t, rank in selected.ranks.items() if t != selected.t}
    if mine is None:
        return f"Pass {selected.t} is the only one: {ENDED.get(selected.ended, selected.ended)}"
    if selected.by == "last":
        if not checks:
            return f"Pass {selected.t} is the last one"
        return f"Pass {selected.t} is the latest that could be audited (final_selection=last), whatever its checks"
    if not others:
        return f"Pass {selected.t} is the only one that could be audited: {told(mine)}"
    second = max(others, key=lambda t: others[t])
    differing = (at for at, (one, other) in enumerate(zip(mine, others[second], strict=False)) if one != other)
    place = next(differing, len(mine) - 1)
    beats = f"Pass {selected.t} won: {told(mine)} beats {told(others[second])} of pass {second}"
    if place == len(mine) - 1:
        return f"{beats}: {'the same checks hold' if checks else 'it has as many points'}, and the earlier pass wins"
    return f"{beats} at the check of {checks[place]}" if place < len(checks) else f"{beats} by its points"


def told(rank: Sequence[int]) -> str:
    """A tuple with true minus signs."""
    return f"({', '.join(str(value) for value in rank)})".replace("-", "−")
