"""Describes why a pass was selected."""

from collections.abc import Sequence

from mmerg.runs.events import BEST_OF_N, ENDED, Selected


def describe_selection(selected: Selected, checks: Sequence[str]) -> str:
    """Describes why the pass was selected, and why the loop ended. checks: their names; [] without audits."""
    t, ended = selected.t, ENDED.get(selected.ended, selected.ended)
    if t not in selected.ranks:
        return f"Pass {t} is the only one: {ended}"
    return f"Pass {t} {_describe_choice(selected, checks)}; the loop ended: {ended}"


def describe_rank(selected: Selected, t: int) -> str:
    """The rank of pass t: its points, or the votes for its emotion and its likelihood."""
    first, *rest, _ = selected.ranks[t]
    candidates = selected.ended in BEST_OF_N
    counted = f"{first:g} {'vote' if candidates else 'point'}{'s' * (first != 1)}"
    likely = "".join(f", mean log-probability {value:.4g}" for value in rest) if candidates else ""
    return f"{counted}{likely}".replace("-", "−").replace("log−", "log-")


def _describe_choice(selected: Selected, checks: Sequence[str]) -> str:
    ranks, t = selected.ranks, selected.t
    others = {other: rank for other, rank in ranks.items() if other != t}
    if selected.by == "last":
        latest = "the latest that could be audited (final_selection=last), whatever its checks"
        return f"is {latest if checks else 'the last one'}"
    if selected.by == "calibrated":
        points = {other: f"{rank[0]:.2f}".replace("-", "−") for other, rank in ranks.items()}
        rest = "".join(f", pass {other} {points[other]}" for other in others)
        return f"has the highest score of its checks, {points[t]}{rest}"
    if not others:
        failed = [name for name, passed in zip(checks, ranks[t], strict=False) if not passed]
        passed = f"all {len(checks)} checks passed" if checks else describe_rank(selected, t)
        reason = f"{' and '.join(failed)} failed" if failed else passed
        return f"is the only one {'audited' if checks else 'ranked'}: {reason}"
    second = max(others, key=lambda other: others[other])
    decided = next(at for at, (one, two) in enumerate(zip(ranks[t], others[second], strict=True)) if one != two)
    if decided == len(ranks[t]) - 1:  # only −t differs
        equal = "is as likely" if selected.ended in BEST_OF_N else "has as many points"
        return f"won: pass {second} {'passed the same checks' if checks else equal}, and the earlier pass wins"
    if checks:
        return f"won: it passed the check of {checks[decided]}, which pass {second} did not"
    return f"won with {describe_rank(selected, t)}; pass {second} has {describe_rank(selected, second)}"
