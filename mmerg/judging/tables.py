"""Tables of a judgement or match for the terminal, and notes on skipped samples."""

from collections.abc import Iterable, Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from mmerg.console.tables import Table
from mmerg.console.terminal import escape
from mmerg.judging.judgement import Judgement, Match
from mmerg.scoring.score import Score
from mmerg.scoring.score_tables import format_row

RULE = (
    "A wins (loses) a pair only if the judge prefers A (B) in both orders, and in more than half of the repeats. "
    "Anything else is a tie. A run without a reply loses the pair"
)
ENDS = {"win": "A wins", "tie": "tie", "lose": "B wins"}
TRUST = {"first": "prefers first", "agree_orders": "agrees across orders", "agree_repeats": "agrees across repeats"}


def tabulate_ratings(judgement: Judgement) -> Iterator[RenderableType]:
    yield escape(f"{judgement.run}, {judgement.corpus}")
    yield escape(_describe_counts(judgement))
    rows = {name: {"rating": score} for name, score in judgement.scores.items()}
    yield tabulate_scores("1 to 5, mean over samples [95 %]", rows, {"rating": "rating"})
    yield from describe_intervals(judgement.scores.values())
    if judgement.self_judged:
        yield escape(f"judged by itself: {judgement.judge} wrote these replies")


def tabulate_match(match: Match) -> Iterator[RenderableType]:
    """Yields the scores of run A against run B."""
    if match.unequal:
        yield escape(match.unequal)
    yield escape(f"A {match.runs[0]}\nB {match.runs[1]}\n{match.corpus}")
    yield escape(_describe_counts(match))
    rows = {**match.aspects, "all": match.overall}
    yield tabulate_scores("A against B, % of pairs [95 %]", rows, ENDS)
    yield escape(RULE)
    yield tabulate_scores("A over B: pairs won minus pairs lost, % of pairs [95 %]", rows, {"margin": "margin"})
    for aspect, sign in match.signs.items():
        yield escape(
            f"{aspect}: A wins {sign.won} dialogues, B {sign.lost}; sign test p {sign.p:.2g}, "
            f"{sign.p_holm:.2g} corrected for {len(match.signs)} aspects (Holm)"
        )
    yield tabulate_scores(
        "consistency of the judge, % (prefers first: of verdicts that are not a tie; 50 means no bias)", rows, TRUST
    )
    yield from describe_intervals(match.overall.values())
    for run in match.self_judged:
        yield escape(f"judged by itself: {match.judge} wrote the replies of {run}")


def _describe_counts(judged: Judgement | Match) -> str:
    """Names the judge, its verdicts, and how many samples lack some."""
    share = f" ({100 * judged.unusable / judged.verdicts:.1f} %)" if judged.verdicts else ""
    counts = {
        "samples failed in a run and get the worst score": judged.no_reply,
        **judged.skipped,
        "samples on which a call failed": judged.failed,
        "samples not judged yet": judged.unjudged,
    }
    parts = [
        f"judged by {judged.judge} ({judged.engine}): {judged.n} samples",
        f"{judged.verdicts} verdicts, {judged.unusable} of them unusable{share}",
        *(f"{count} {reason}" for reason, count in counts.items() if count),
    ]
    return "; ".join(parts)


def tabulate_scores(
    title: str, by_row: Mapping[str, Mapping[str, Score]], columns: Mapping[str, str], first: str = "aspect"
) -> Table:
    """Makes a table with a row per aspect, a column per metric, and n at the end. first: heading of the rows."""
    rows = [format_row(name, [scores[column] for column in columns]) for name, scores in by_row.items()]
    return Table(title, (first, *columns.values(), "n"), rows)


def describe_intervals(scores: Iterable[Score]) -> Iterator[Text]:
    """Yields a line for each method of intervals, and for each reason why an interval is missing."""
    with_value = [score for score in scores if score.value is not None]
    texts = (f"interval: {score.method}" if score.method else score.why for score in with_value)
    yield from map(escape, dict.fromkeys(filter(None, texts)))
