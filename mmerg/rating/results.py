"""The results of `mmerg rate score`: one record, tables, a methods paragraph, and files beside each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import RenderableType

from mmerg.console.tables import Table, format_number
from mmerg.console.terminal import escape
from mmerg.judging.tables import tabulate_scores
from mmerg.rating.answers import RaterFacts, StudyAnswers
from mmerg.rating.form import CONSENT
from mmerg.rating.judges import JudgeFacts, judge_facts
from mmerg.rating.rated import PeopleRatings, Rating, rated_file
from mmerg.rating.score import OUTCOMES, StudyScores, score_study
from mmerg.scoring.comparisons import format_p
from mmerg.scoring.score import Score
from mmerg.scoring.score_tables import format_row
from mmerg.settings.commands import RateSettings
from mmerg.storage.record import Record, write_record

AGREEMENT = {"alpha_nominal": "alpha nominal", "alpha_ordinal": "alpha ordinal", "ac2": "Gwet's AC2"}
ENDS = {"win": "A wins", "tie": "tie", "lose": "B wins", "margin": "margin"}
RATERS = (
    "rater",
    "items",
    "silent failed",
    "loud failed",
    "same when repeated %",
    "s per item",
    "straight %",
    "cannot",
    "",
)
JUDGES = ("judge, question", "alpha of raters", "alpha with the judge", "kappa", "both orders agree %", "n")


class StudyResults(Record):
    """passed: the scores without raters who failed checks; None if no rater failed, or none is left."""

    study: str
    raters: dict[str, RaterFacts]
    all: StudyScores
    passed: StudyScores | None
    judges: tuple[JudgeFacts, ...]
    warnings: tuple[str, ...]
    methods: str


def find_results(
    name: str, answers: StudyAnswers, runs: Mapping[int, Path], problems: Sequence[str], settings: RateSettings
) -> StudyResults:
    """All results of a study. Raises RunError if a judgement beside a run is stale."""
    facts = {rater: answers.facts(rater, settings.max_failed) for rater in answers.raters}
    good = [rater for rater in facts if facts[rater].passed]
    draws, seed = settings.draws, settings.seed
    everyone = score_study(answers, answers.raters, draws, seed)
    return StudyResults(
        study=name,
        raters=facts,
        all=everyone,
        passed=score_study(answers, good, draws, seed) if 0 < len(good) < len(facts) else None,
        judges=tuple(judge_facts(answers, runs, draws, seed)),
        warnings=(*_warnings(answers, facts), *problems),
        methods=_methods(answers, everyone, facts, settings),
    )


def _warnings(answers: StudyAnswers, facts: Mapping[str, RaterFacts]) -> Iterator[str]:
    orders = answers.log.study.orders
    wanted = sum(shown.item in answers.items and not shown.again for order in orders.values() for shown in order)
    given = sum(rater.items for rater in facts.values())
    if given < wanted:
        yield f"ratings are missing: {given} of {wanted} items of all raters are rated"
    if absent := [rater for rater in orders if rater not in facts]:
        yield f"raters who have not started: {', '.join(absent)}"
    if len(facts) == 1:
        yield "only one rater: agreement is undefined, and intervals do not generalise to other raters"
    if twice := [rater for rater in facts if facts[rater].browsers > 1]:
        yield f"links used in several browsers, perhaps by several people: {', '.join(twice)}"
    if failed := [rater for rater in facts if not facts[rater].passed]:
        table = "no rater is left for a second table" if len(failed) == len(facts) else "a second table excludes them"
        yield f"raters who failed checks: {', '.join(failed)}; {table}"


def tables(results: StudyResults, replies: int) -> Iterator[RenderableType]:
    """The results for a terminal."""
    for what, found in (("all raters", results.all), ("without raters who failed checks", results.passed)):
        if not found:
            continue
        if replies == 1:
            yield tabulate_scores(
                f"means [95 %], {what}", found.means, {name: name for name in found.agreement}, "candidate"
            )
        rows = {f"{pair.question}: {pair.a} – {pair.b}": pair for pair in found.pairs}
        heads = ENDS if replies == 2 else {"difference": "difference"}
        if rows:
            scores = {name: pair.scores for name, pair in rows.items()}
            yield tabulate_scores(f"A – B [95 %], {what}", scores, heads, "question: A – B")
        for name, pair in rows.items():
            yield escape(f"  {name}: p {format_p(pair.p)}, Holm {format_p(pair.p_holm)}: {pair.says}")
        shown = AGREEMENT | ({"icc_2_k": "ICC(2,k)"} if replies == 1 else {})
        yield tabulate_scores(f"agreement [95 %], {what}", found.agreement, shown, "question")
        reasons = {score.why: None for scores in found.agreement.values() for score in scores.values() if score.why}
        yield from map(escape, reasons)
    yield Table("raters", RATERS, [(rater, *_cells(facts)) for rater, facts in results.raters.items()])
    if results.judges:
        yield Table("model judges against people", JUDGES, list(map(_judge, results.judges)))
    yield from map(escape, results.warnings)


def _cells(facts: RaterFacts) -> Iterator[str]:
    yield str(facts.items)
    yield from (f"{failed} of {had}" for failed, had in (facts.silent, facts.loud))
    yield from map(format_number, (facts.same, facts.seconds, facts.straight))
    yield from (str(facts.cannot), "" if facts.passed else "failed checks")


def _judge(judge: JudgeFacts) -> Sequence[str]:
    name, people, joined, _ = format_row(f"{judge.judge}, {judge.question}", [judge.people, judge.joined])
    return name, people, joined, format_number(judge.kappa), format_number(judge.both_orders), str(judge.n)


def _score(score: Score) -> str:
    [_, cell, _] = format_row("", [score])
    return cell if score.value is not None else f"{cell} ({score.why})"


def _methods(answers: StudyAnswers, found: StudyScores, facts: Mapping[str, RaterFacts], settings: RateSettings) -> str:
    """The methods paragraph."""
    environment = Environment(loader=PackageLoader("mmerg.rating", "."), undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"score": _score, "p": format_p, "number": format_number}
    text = environment.get_template("methods.j2").render(
        study=answers.log.study,
        key=answers.key,
        items=list(answers.items.values()),
        found=found,
        settings=settings,
        facts=list(facts.values()),
        agreed=len({entry.rater for entry in answers.log.entries if entry.question == CONSENT} & facts.keys()),
        scale=answers.points(next(iter(answers.form.questions))),
    )
    return " ".join(text.split()) + "\n"


def write_beside(results: StudyResults, answers: StudyAnswers, runs: Mapping[int, Path]) -> Iterator[Path]:
    """Writes the ratings of each candidate's runs beside them; returns the files."""
    for number, path in runs.items():
        candidate, against = answers.key.candidates[number], dict[str, dict[str, Score]]()
        for pair in results.all.pairs:
            if pair.a == candidate.name:
                named = {f"{name}_{pair.question}": score for name, score in pair.scores.items()}
                against.setdefault(pair.b, {}).update(named)
        rated = PeopleRatings(
            study=results.study,
            replies=candidate.replies,
            raters=len(results.raters),
            items=sum(number in item.candidates for item in answers.items.values()),
            scores=results.all.means.get(candidate.name, {}),
            against=against,
            agreement={name: scores["alpha_ordinal"] for name, scores in results.all.agreement.items()},
            ratings=tuple(_ratings(answers, number)),
        )
        write_record(path / rated_file(results.study), rated)
        yield path / rated_file(results.study)


def _ratings(answers: StudyAnswers, candidate: int) -> Iterator[Rating]:
    """The answers on a candidate's replies."""
    frame = answers.frame[(answers.frame.a == candidate) | (answers.frame.b == candidate)]
    names = [one.name for one in answers.key.candidates]
    outcomes = {value: name for name, value in OUTCOMES.items()}
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        fields = {name: row[name] for name in Rating.model_fields if name in row}
        if answers.form.replies == 1:
            fields["score"] = row["number"]
        else:
            is_a = row["a"] == candidate
            fields |= {"first": row["swap"] != is_a, "against": names[int(row["b"] if is_a else row["a"])]}
            if row["number"] is not None:
                fields["outcome"] = outcomes[row["number"] if is_a else -row["number"]]
        yield Rating.model_validate(fields)
