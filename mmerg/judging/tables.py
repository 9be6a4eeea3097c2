"""A judgement for the terminal: figures with their intervals and n, and what they leave out. Prints nothing itself."""

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from mmerg.console.tables import Sheet, between, figure
from mmerg.console.terminal import escape
from mmerg.judging.judgement import Judgement, Match
from mmerg.scoring.score import Score

RULE = (
    "a pair is won (lost) only where the judge prefers A (B) in both orders, and in more than half of the repeats; "
    "all else is a tie. A run that gave no reply loses the pair"
)


def rated(found: Judgement) -> Iterator[RenderableType]:
    """The ratings of a run."""
    yield escape(f"{found.run}, {found.corpus}, protocol {found.protocol}")
    yield escape(_counts(found))
    beside = found.replies_alone
    heads = ("aspect", "rating", "n", *(("of replies alone", "n alone") if beside else ()))
    rows = [
        (name, _cell(score), str(score.n), *((_cell(beside[name]), str(beside[name].n)) if beside else ()))
        for name, score in found.scores.items()
    ]
    yield Sheet("1 to 5, mean over samples [95 %]", heads, rows)
    yield from methods(found.scores.values())
    if found.self_judged:
        yield escape(f"judged by itself: {found.judge} wrote these replies")


def compared(found: Match) -> Iterator[RenderableType]:
    """Run A against run B."""
    yield escape(f"A {found.runs[0]}\nB {found.runs[1]}\n{found.corpus}")
    yield escape(_counts(found))
    by_aspect = {**found.aspects, "all": found.overall}
    ends, margin = {"win": "A wins", "tie": "tie", "lose": "B wins"}, {"margin": "margin"}
    yield table("A against B, % of pairs [95 %]", by_aspect, ends)
    yield escape(RULE)
    yield table("A over B: pairs won less pairs lost, % of pairs [95 %]", by_aspect, margin)
    if found.replies_alone:
        yield table("the same of pairs that have both replies", found.replies_alone, ends | margin)
    for aspect, sign in found.signs.items():
        yield escape(
            f"{aspect}: A wins {sign.won} dialogues, B {sign.lost}; sign test p {sign.p:.2g}, "
            f"{sign.p_holm:.2g} corrected for {len(found.signs)} aspects (Holm)"
        )
    raw = {"raw_win": "for A", "raw_tie": "tie", "raw_lose": "for B"}
    yield table("single verdicts, %, whatever the order", by_aspect, raw)
    trust = {
        "first": "for the first shown",
        "flips": "flips with the order",
        "agree_orders": "agrees over orders",
        "agree_repeats": "agrees over repeats",
    }
    yield table(
        "the judge itself, % (for the first shown: of verdicts that are no tie, 50 is no bias)", by_aspect, trust
    )
    yield from methods(found.overall.values())
    for run in found.self_judged:
        yield escape(f"judged by itself: {found.judge} wrote the replies of {run}")


def _counts(found: Judgement | Match) -> str:
    share = f" ({100 * found.unusable / found.verdicts:.1f} %)" if found.verdicts else ""
    parts = [
        f"judged by {found.judge} ({found.engine}): {found.n} samples",
        f"{found.verdicts} verdicts, {found.unusable} of them unusable{share}",
        *([f"{found.no_reply} of the samples failed in a run, which counts as the worst"] * bool(found.no_reply)),
        *(f"{count} {reason}" for reason, count in found.left_out.items()),
    ]
    if found.failed:
        parts.append(f"{found.failed} samples on which a call failed")
    if found.unjudged:
        parts.append(f"{found.unjudged} samples not judged yet")
    return "; ".join(parts)


def table(title: str, by_aspect: dict[str, dict[str, Score]], columns: dict[str, str], first: str = "aspect") -> Sheet:
    """A row an aspect, a column a figure by its heading, n at the end."""
    rows = []
    for aspect, scores in by_aspect.items():
        n = max(scores[name].n for name in columns)
        rows.append((aspect, *(_cell(scores[name], n) for name in columns), str(n)))
    return Sheet(title, (first, *columns.values(), "n"), rows)


def _cell(score: Score, n: int | None = None) -> str:
    """A figure with its interval; with its own n where that is not the row's `n`."""
    ends = f" [{between(*score.interval)}]" if score.interval else ""
    own = f" n={score.n}" if n is not None and score.n != n and score.value is not None else ""
    return f"{figure(score.value)}{ends}{own}"


def methods(scores: Iterable[Score]) -> Iterator[Text]:
    """How intervals were had, or why a figure has none, a line each."""
    told = (f"interval: {score.method}" if score.method else score.why for score in scores if score.value is not None)
    yield from map(escape, dict.fromkeys(filter(None, told)))
