"""The results of `mmerg rate score`: a record, tables, a paragraph on methods, and a file beside each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import RenderableType

from mmerg.console.tables import Table, format_number
from mmerg.console.terminal import escape
from mmerg.judging.tables import tabulate_scores
from mmerg.rating.answers import RaterStatistics, StudyAnswers
from mmerg.rating.form import CONSENT
from mmerg.rating.judges import JudgeComparison, compare_judges
from mmerg.rating.people import PeopleRatings, PersonRating, rating_file
from mmerg.rating.score import OUTCOMES, StudyScores, score_study
from mmerg.scoring.comparisons import format_p
from mmerg.scoring.score import Score
from mmerg.scoring.score_tables import format_row
from mmerg.settings.commands import RateSettings
from mmerg.storage.record import Record, write_record

AGREEMENT = {"alpha_nominal": "alpha nominal", "alpha_ordinal": "alpha ordinal", "ac2": "Gwet's AC2"}
ENDS = {"win": "A wins", "tie": "tie", "lose": "B wins", "margin": "margin"}
RATERS = ("rater", "items", "silent failed", "loud failed", "repeats same %", "s per item", "straight %", "cannot", "")
JUDGES = ("judge, question", "alpha of raters", "alpha with the judge", "kappa", "both orders agree %", "n")


class StudyResults(Record):
    """All results of a study."""

    study: str
    raters: dict[str, RaterStatistics]
    all: StudyScores  # by all raters
    passed: StudyScores | None  # without the raters who failed checks; None if no rater failed, or all did
    judges: tuple[JudgeComparison, ...]
    warnings: tuple[str, ...]
    methods: str  # the paragraph on methods


def compute_results(
    name: str, answers: StudyAnswers, runs: Mapping[int, Path], problems: Sequence[str], settings: RateSettings
) -> StudyResults:
    """Computes all results of a study. Raises RunError if a judgement beside a run is stale or cannot be read."""
    raters = {rater: answers.measure_rater(rater, settings.max_failed) for rater in answers.raters}
    passed = [rater for rater in raters if raters[rater].passed]
    draws, seed = settings.draws, settings.seed
    scores = score_study(answers, answers.raters, draws, seed)
    return StudyResults(
        study=name,
        raters=raters,
        all=scores,
        passed=score_study(answers, passed, draws, seed) if 0 < len(passed) < len(raters) else None,
        judges=tuple(compare_judges(answers, runs, draws, seed)),
        warnings=(*_find_warnings(answers, raters), *problems),
        methods=_describe_methods(answers, scores, raters, settings),
    )


def _find_warnings(answers: StudyAnswers, raters: Mapping[str, RaterStatistics]) -> Iterator[str]:
    orders = answers.log.study.orders
    expected = sum(shown.item in answers.items and not shown.again for order in orders.values() for shown in order)
    rated = sum(rater.items for rater in raters.values())
    if rated < expected:
        yield f"ratings are missing: {rated} of {expected} items of all raters are rated"
    if absent := [rater for rater in orders if rater not in raters]:
        yield f"raters who have not started: {', '.join(absent)}"
    if len(raters) == 1:
        yield "only one rater: agreement is undefined, and intervals do not generalise to other raters"
    if shared := [rater for rater in raters if raters[rater].browsers > 1]:
        yield f"links used in several browsers, perhaps by several people: {', '.join(shared)}"
    if failed := [rater for rater in raters if not raters[rater].passed]:
        table = "no rater is left for a second table" if len(failed) == len(raters) else "a second table excludes them"
        yield f"raters who failed checks: {', '.join(failed)}; {table}"


def tabulate_results(results: StudyResults, replies: int) -> Iterator[RenderableType]:
    """Yields the results as tables and lines for the terminal."""
    for raters, scores in (("all raters", results.all), ("without raters who failed checks", results.passed)):
        if not scores:
            continue
        if replies == 1:
            questions = {name: name for name in scores.agreement}
            yield tabulate_scores(f"means [95 %], {raters}", scores.means, questions, "candidate")
        rows = {f"{pair.question}: {pair.a} – {pair.b}": pair for pair in scores.pairs}
        heads = ENDS if replies == 2 else {"difference": "difference"}
        if rows:
            by_row = {name: pair.scores for name, pair in rows.items()}
            yield tabulate_scores(f"A – B [95 %], {raters}", by_row, heads, "question: A – B")
        for name, pair in rows.items():
            yield escape(f"  {name}: p {format_p(pair.p)}, Holm {format_p(pair.p_holm)}: {pair.says}")
        coefficients = AGREEMENT | ({"icc_2_k": "ICC(2,k)"} if replies == 1 else {})
        yield tabulate_scores(f"agreement [95 %], {raters}", scores.agreement, coefficients, "question")
        reasons = {score.why: None for row in scores.agreement.values() for score in row.values() if score.why}
        yield from map(escape, reasons)
    yield Table("raters", RATERS, [(name, *_format_rater(rater)) for name, rater in results.raters.items()])
    if results.judges:
        yield Table("model judges against people", JUDGES, list(map(_format_judge, results.judges)))
    yield from map(escape, results.warnings)


def _format_rater(rater: RaterStatistics) -> Iterator[str]:
    yield str(rater.items)
    yield from (f"{failed} of {answered}" for failed, answered in (rater.silent, rater.loud))
    yield from map(format_number, (rater.same, rater.seconds, rater.straight))
    yield str(rater.cannot)
    yield "" if rater.passed else "failed checks"


def _format_judge(judge: JudgeComparison) -> Sequence[str]:
    name, people, joined, _ = format_row(f"{judge.judge}, {judge.question}", [judge.people, judge.joined])
    return name, people, joined, format_number(judge.kappa), format_number(judge.both_orders), str(judge.n)


def _format_score(score: Score) -> str:
    """Formats the score with its interval, or the reason why there is none."""
    [_, cell, _] = format_row("", [score])
    return cell if score.value is not None else f"{cell} ({score.why})"


def _describe_methods(
    answers: StudyAnswers, scores: StudyScores, raters: Mapping[str, RaterStatistics], settings: RateSettings
) -> str:
    environment = Environment(loader=PackageLoader("mmerg.rating", "."), undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"score": _format_score, "p": format_p, "number": format_number}
    text = environment.get_template("methods.j2").render(
        study=answers.log.study,
        key=answers.key,
        items=list(answers.items.values()),
        scores=scores,
        settings=settings,
        raters=list(raters.values()),
        agreed=len({entry.rater for entry in answers.log.entries if entry.question == CONSENT} & raters.keys()),
        scale=answers.list_points(next(iter(answers.form.questions))),
    )
    return " ".join(text.split()) + "\n"


def write_people_ratings(results: StudyResults, answers: StudyAnswers, runs: Mapping[int, Path]) -> Iterator[Path]:
    """Writes the ratings of each run beside it, and yields the files. runs: by number of the candidate."""
    for number, path in runs.items():
        candidate = answers.key.candidates[number]
        against: dict[str, dict[str, Score]] = {}
        for pair in results.all.pairs:
            if pair.a == candidate.name:
                scores = {f"{name}_{pair.question}": score for name, score in pair.scores.items()}
                against.setdefault(pair.b, {}).update(scores)
        ratings = PeopleRatings(
            study=results.study,
            replies=candidate.replies,
            raters=len(results.raters),
            items=sum(number in item.candidates for item in answers.items.values()),
            scores=results.all.means.get(candidate.name, {}),
            against=against,
            agreement={name: scores["alpha_ordinal"] for name, scores in results.all.agreement.items()},
            ratings=tuple(_list_ratings(answers, number)),
        )
        file = path / rating_file(results.study)
        write_record(file, ratings)
        yield file


def _list_ratings(answers: StudyAnswers, candidate: int) -> Iterator[PersonRating]:
    """Yields the answers on a candidate's replies."""
    frame = answers.frame[(answers.frame.a == candidate) | (answers.frame.b == candidate)]
    names = [author.name for author in answers.key.candidates]
    outcomes = {value: name for name, value in OUTCOMES.items()}
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        fields = {name: row[name] for name in PersonRating.model_fields if name in row}
        if answers.form.replies == 1:
            fields["score"] = row["number"]
        else:
            is_a = row["a"] == candidate
            fields |= {"first": row["swap"] != is_a, "against": names[int(row["b"] if is_a else row["a"])]}
            if row["number"] is not None:
                fields["outcome"] = outcomes[row["number"] if is_a else -row["number"]]
        yield PersonRating.model_validate(fields)
