"""A judgement for the terminal: figures with their intervals and n, and what they leave out. Prints nothing itself."""

from collections.abc import Iterable, Iterator, Mapping

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
ENDS = {"win": "A wins", "tie": "tie", "lose": "B wins"}
RAW = {"raw_win": "for A", "raw_tie": "tie", "raw_lose": "for B"}
TRUST = {
    "first": "for the first shown",
    "flips": "flips with the order",
    "agree_orders": "agrees over orders",
    "agree_repeats": "agrees over repeats",
}


def rated(found: Judgement) -> Iterator[RenderableType]:
    """The ratings of a run."""
    yield escape(f"{found.run}, {found.corpus}, protocol {found.protocol}")
    yield escape(_counts(found))
    alone = found.replies_alone
    columns = {"rating": "rating"} | ({"alone": "of replies alone"} if alone else {})
    rows = {name: {"rating": score, "alone": alone.get(name, score)} for name, score in found.scores.items()}
    yield table("1 to 5, mean over samples [95 %]", rows, columns)
    yield from methods(found.scores.values())
    if found.self_judged:
        yield escape(f"judged by itself: {found.judge} wrote these replies")


def compared(found: Match) -> Iterator[RenderableType]:
    """Run A against run B."""
    yield escape(f"A {found.runs[0]}\nB {found.runs[1]}\n{found.corpus}")
    yield escape(_counts(found))
    rows, margin = {**found.aspects, "all": found.overall}, {"margin": "margin"}
    yield table("A against B, % of pairs [95 %]", rows, ENDS)
    yield escape(RULE)
    yield table("A over B: pairs won less pairs lost, % of pairs [95 %]", rows, margin)
    if found.replies_alone:
        yield table("the same of pairs that have both replies", found.replies_alone, ENDS | margin)
    for aspect, sign in found.signs.items():
        yield escape(
            f"{aspect}: A wins {sign.won} dialogues, B {sign.lost}; sign test p {sign.p:.2g}, "
            f"{sign.p_holm:.2g} corrected for {len(found.signs)} aspects (Holm)"
        )
    yield table("single verdicts, %, whatever the order", rows, RAW)
    yield table("the judge itself, % (for the first shown: of verdicts that are no tie, 50 is no bias)", rows, TRUST)
    yield from methods(found.overall.values())
    for run in found.self_judged:
        yield escape(f"judged by itself: {found.judge} wrote the replies of {run}")


def _counts(found: Judgement | Match) -> str:
    share = f" ({100 * found.unusable / found.verdicts:.1f} %)" if found.verdicts else ""
    counts = {
        f"{found.no_reply} of the samples failed in a run, which counts as the worst": found.no_reply,
        **{f"{count} {reason}": count for reason, count in found.left_out.items()},
        f"{found.failed} samples on which a call failed": found.failed,
        f"{found.unjudged} samples not judged yet": found.unjudged,
    }
    parts = [
        f"judged by {found.judge} ({found.engine}): {found.n} samples",
        f"{found.verdicts} verdicts, {found.unusable} of them unusable{share}",
    ]
    return "; ".join([*parts, *(part for part, count in counts.items() if count)])


def table(
    title: str, by_row: Mapping[str, Mapping[str, Score]], columns: Mapping[str, str], first: str = "aspect"
) -> Sheet:
    """A row an aspect (or what `first` says), a column a figure by its heading, n at the end. A figure has its interval
    with it, and its own n where that is not the row's."""

    def cell(score: Score, n: int) -> str:
        ends = f" [{between(*score.interval)}]" if score.interval else ""
        own = f" n={score.n}" if score.n != n and score.value is not None else ""
        return f"{figure(score.value)}{ends}{own}"

    rows = []
    for name, scores in by_row.items():
        n = max(scores[column].n for column in columns)
        rows.append((name, *(cell(scores[column], n) for column in columns), str(n)))
    return Sheet(title, (first, *columns.values(), "n"), rows)


def methods(scores: Iterable[Score]) -> Iterator[Text]:
    """How intervals were had, or why a figure has none, a line each."""
    told = (f"interval: {score.method}" if score.method else score.why for score in scores if score.value is not None)
    yield from map(escape, dict.fromkeys(filter(None, told)))
