"""Tables of a judgement for the terminal, and notes on skipped samples."""

from collections.abc import Iterable, Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from mmerg.console.tables import Table
from mmerg.console.terminal import escape
from mmerg.judging.judgement import Judgement, Match
from mmerg.scoring.score import Score
from mmerg.scoring.score_tables import line

RULE = (
    "A wins (loses) a pair only if the judge prefers A (B) in both orders, and in more than half of the repeats. "
    "Anything else is a tie. A run without a reply loses the pair"
)
ENDS = {"win": "A wins", "tie": "tie", "lose": "B wins"}
TRUST = {
    "first": "prefers first",
    "flips": "flips with order",
    "agree_orders": "agrees across orders",
    "agree_repeats": "agrees across repeats",
}


def tabulate_ratings(judgement: Judgement) -> Iterator[RenderableType]:
    """The ratings of a run."""
    yield escape(f"{judgement.run}, {judgement.corpus}, protocol {judgement.protocol}")
    yield escape(_counts(judgement))
    rows = {name: {"rating": score} for name, score in judgement.scores.items()}
    yield table("1 to 5, mean over samples [95 %]", rows, {"rating": "rating"})
    yield from describe_intervals(judgement.scores.values())
    if judgement.self_judged:
        yield escape(f"judged by itself: {judgement.judge} wrote these replies")


def tabulate_match(match: Match) -> Iterator[RenderableType]:
    """Run A against run B."""
    yield escape(f"A {match.runs[0]}\nB {match.runs[1]}\n{match.corpus}")
    yield escape(_counts(match))
    rows = {**match.aspects, "all": match.overall}
    yield table("A against B, % of pairs [95 %]", rows, ENDS)
    yield escape(RULE)
    yield table("A over B: pairs won minus pairs lost, % of pairs [95 %]", rows, {"margin": "margin"})
    for aspect, sign in match.signs.items():
        yield escape(
            f"{aspect}: A wins {sign.won} dialogues, B {sign.lost}; sign test p {sign.p:.2g}, "
            f"{sign.p_holm:.2g} corrected for {len(match.signs)} aspects (Holm)"
        )
    yield table(
        "consistency of the judge, % (prefers first: of verdicts that are not a tie; 50 means no bias)", rows, TRUST
    )
    yield from describe_intervals(match.overall.values())
    for run in match.self_judged:
        yield escape(f"judged by itself: {match.judge} wrote the replies of {run}")


def _counts(one: Judgement | Match) -> str:
    share = f" ({100 * one.unusable / one.verdicts:.1f} %)" if one.verdicts else ""
    counts = {
        f"{one.no_reply} samples failed in a run and get the worst score": one.no_reply,
        **{f"{count} {reason}": count for reason, count in one.left_out.items()},
        f"{one.failed} samples on which a call failed": one.failed,
        f"{one.unjudged} samples not judged yet": one.unjudged,
    }
    parts = [
        f"judged by {one.judge} ({one.engine}): {one.n} samples",
        f"{one.verdicts} verdicts, {one.unusable} of them unusable{share}",
    ]
    return "; ".join([*parts, *(part for part, count in counts.items() if count)])


def table(
    title: str, by_row: Mapping[str, Mapping[str, Score]], columns: Mapping[str, str], first: str = "aspect"
) -> Table:
    """A row per aspect, a column per metric, n at the end. columns: headings by metric; first: heading of the rows."""
    rows = [line(name, [scores[column] for column in columns]) for name, scores in by_row.items()]
    return Table(title, (first, *columns.values(), "n"), rows)


def describe_intervals(scores: Iterable[Score]) -> Iterator[Text]:
    """A line for each method of intervals, or reason for a missing one."""
    kept = [score for score in scores if score.value is not None]
    texts = (f"interval: {score.method}" if score.method else score.why for score in kept)
    yield from map(escape, dict.fromkeys(filter(None, texts)))
