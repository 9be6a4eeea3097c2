"""What `mmerg rate score` finds: all figures in one record, as tables, as a methods paragraph, and beside each run."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import RenderableType

from mmerg.console.tables import NONE, Sheet, figure
from mmerg.console.terminal import escape
from mmerg.judging.tables import table
from mmerg.rating.form import SUBMIT
from mmerg.rating.judges import JudgeFacts, judge_facts
from mmerg.rating.rated import Rated, Rating, rated_file
from mmerg.rating.score import OUTCOMES, Figures, RaterFacts, Table, figures, number, rater_facts
from mmerg.scoring.comparisons import format_p
from mmerg.scoring.score import Score
from mmerg.settings.commands import RateSettings
from mmerg.storage.record import Record, write_record

HEADS = {"alpha_nominal": "alpha nominal", "alpha_ordinal": "alpha ordinal", "ac2": "Gwet's AC2"}
RATERS = ("rater", "items", "silent failed", "loud failed", "same again %", "s an item", "straight %", "cannot", "")
ICC = {"icc_2_1": "ICC(2,1)", "icc_2_k": "ICC(2,k)"}


class Results(Record):
    """passed: the figures without the raters who failed checks; None where none did, or nobody is left."""

    study: str
    raters: dict[str, RaterFacts]
    all: Figures
    passed: Figures | None
    judges: tuple[JudgeFacts, ...]
    warnings: tuple[str, ...]
    methods: str


def results_of(name: str, known: Table, settings: RateSettings) -> Results:
    """All figures of a study. Raises RunError where a judgement beside a run is stale."""
    raters = {rater: rater_facts(known, rater, settings.max_failed) for rater in known.raters}
    good = [rater for rater, facts in raters.items() if facts.passed]
    draws, seed = settings.draws, settings.seed
    everyone = figures(known, known.raters, draws, seed)
    passed = figures(known, good, draws, seed) if 0 < len(good) < len(raters) else None
    judges = tuple(judge_facts(known, draws, seed))
    warnings = tuple(_warnings(known, raters))
    methods = _methods(known, everyone, raters, settings)
    return Results(
        study=name, raters=raters, all=everyone, passed=passed, judges=judges, warnings=warnings, methods=methods
    )


def _warnings(known: Table, raters: Mapping[str, RaterFacts]) -> Iterator[str]:
    log = known.log
    wanted = sum(
        shown.item in known.items and not shown.again for order in log.study.orders.values() for shown in order
    )
    given = sum(facts.items for facts in raters.values())
    if given < wanted:
        yield f"ratings are missing: {given} of {wanted} items of all raters are rated"
    if absent := [rater for rater in log.study.orders if rater not in raters]:
        yield f"raters who have not begun: {', '.join(absent)}"
    if len(raters) == 1:
        yield "one rater alone: there is no agreement, and intervals say nothing of other raters"
    if twice := [rater for rater, facts in raters.items() if facts.browsers > 1]:
        yield f"links that were used in several browsers, perhaps by several people: {', '.join(twice)}"
    if failed := [rater for rater, facts in raters.items() if not facts.passed]:
        yield f"raters who failed checks: {', '.join(failed)}; a second table is without them"
    yield from (why for one in known.key.candidates if one.path and (why := one.problem))


def tables(results: Results, replies: int) -> Iterator[RenderableType]:
    """The results for a terminal."""
    for what, found in (("all raters", results.all), ("without raters who failed checks", results.passed)):
        if not found:
            continue
        questions = list(found.agreement)
        if replies == 1:
            yield table(f"means [95 %], {what}", found.means, {name: name for name in questions}, "candidate")
        columns = ("win", "tie", "lose", "margin") if replies == 2 else ("difference",)
        heads = {name: {"win": "A wins", "lose": "B wins"}.get(name, name) for name in columns}
        for question in questions:
            pairs = [pair for pair in found.pairs if pair.question == question]
            rows = {f"{pair.a} – {pair.b}": pair.scores for pair in pairs}
            if rows:
                yield table(f"{question}: A – B [95 %], {what}", rows, heads, "A – B")
                said = (f"p {format_p(pair.p)}, Holm {format_p(pair.p_holm)}: {pair.says}" for pair in pairs)
                yield escape("\n".join(f"  {name}: {text}" for name, text in zip(rows, said, strict=True)))
        shown = HEADS | (ICC if replies == 1 else {})
        yield table(f"agreement [95 %], {what}", found.agreement, shown, "question")
        whys = {why: None for of in found.agreement.values() for score in of.values() if (why := score.why)}
        yield from map(escape, whys)
    facts = [(rater, *_cells(facts)) for rater, facts in results.raters.items()]
    yield Sheet("raters", RATERS, facts)
    for one in results.judges:
        yield escape(f"{one.judge}, {one.question}: {_judge(one)}")
    yield from map(escape, results.warnings)


def _cells(facts: RaterFacts) -> tuple[str, ...]:
    return (
        str(facts.items),
        *(f"{failed} of {had}" for failed, had in (facts.silent, facts.loud)),
        figure(facts.same),
        figure(facts.seconds),
        figure(facts.straight),
        str(facts.cannot),
        "" if facts.passed else "failed checks",
    )


def _judge(one: JudgeFacts) -> str:
    orders = f", both orders agree in {one.both_orders:.0f} %" if one.both_orders is not None else ""
    kappa = f"kappa with people's median {figure(one.kappa)}"
    return f"alpha of people {_score(one.people)}, with the judge {_score(one.joined)}, {kappa}{orders}, n={one.n}"


def _score(score: Score) -> str:
    ends = f" [{figure(score.interval[0])}, {figure(score.interval[1])}]" if score.interval else ""
    return f"{figure(score.value)}{ends}" if score.value is not None else f"{NONE} ({score.why})"


def _methods(known: Table, found: Figures, raters: Mapping[str, RaterFacts], settings: RateSettings) -> str:
    """A paragraph for a paper."""
    environment = Environment(loader=PackageLoader("mmerg.rating", "."), undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"score": _score, "p": format_p, "figure": figure}
    text = environment.get_template("methods.j2").render(
        study=known.log.study,
        known=known,
        found=found,
        raters=raters,
        settings=settings,
        facts=list(raters.values()),
        scale=known.points(next(iter(known.form.questions))),
    )
    return " ".join(text.split()) + "\n"


def write_beside(results: Results, known: Table) -> Iterator[Path]:
    """Writes what people said of each run that is at its place and has not changed; gives the files."""
    names, found = [one.name for one in known.key.candidates], results.all
    for place, candidate in enumerate(known.key.candidates):
        if candidate.problem:
            continue
        path = Path(candidate.path)
        against: dict[str, dict[str, Score]] = {}
        for pair in found.pairs:
            if pair.a == candidate.name:
                against.setdefault(pair.b, {}).update({f"{n}_{pair.question}": s for n, s in pair.scores.items()})
        rated = Rated(
            study=results.study,
            replies=candidate.replies,
            raters=len(results.raters),
            items=sum(place in item.candidates for item in known.items.values()),
            scores=found.means.get(candidate.name, {}),
            against=against,
            agreement={name: of["alpha_ordinal"] for name, of in found.agreement.items()},
            ratings=tuple(_ratings(known, place, names)),
        )
        write_record(path / rated_file(results.study), rated)
        yield path / rated_file(results.study)


def _ratings(known: Table, candidate: int, names: list[str]) -> Iterator[Rating]:
    """The answers on a candidate's replies; those on a pair stand with its first one."""
    log = known.log
    times = {(one.rater, one.place): one.ms / 1000 for one in log.entries if one.question == SUBMIT}
    words = {value: name for name, value in OUTCOMES.items()}
    for (rater, place), answers in sorted(log.answers.items()):
        shown = log.shown(rater, place)
        item = known.items.get(shown.item)
        if not item or item.candidates[0] != candidate:
            continue
        about = {"rater": rater, "sample": item.sample, "dialogue": item.dialogue, "again": shown.again}
        about |= {"seconds": times.get((rater, place))}
        if len(item.candidates) == 2:
            about |= {"first": not shown.swap, "against": names[item.candidates[1]]}
        for question in known.ratings.keys() & answers.keys():
            value = number(answers[question], shown)
            judged = value == value  # noqa: PLR0124 - not NaN
            key = "score" if known.form.replies == 1 else "outcome"
            said = {key: (int(value) if key == "score" else words[value]) if judged else None}
            yield Rating.model_validate({**about, "question": question, **said})
