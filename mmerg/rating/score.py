"""The figures of a study: means or wins with intervals over dialogues and raters, agreement, and each rater's checks.

An interval is estimate ± t times the standard error. Its variance is the sum of two bootstraps, over dialogues and over
raters, each corrected for its few units (such a sum is conservative: Owen 2007, arXiv 0712.1111); the degrees of
freedom are Satterthwaite's. So it holds for other raters and dialogues, and is wide where raters are few.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import isnan, sqrt
from statistics import median

import numpy as np

from mmerg.rating.agreement import LEVELS, Tally, icc
from mmerg.rating.form import CANNOT, SUBMIT, Point
from mmerg.rating.store import AGAIN, Log, as_drawn
from mmerg.rating.study import Key, KeyItem, Shown
from mmerg.scoring.metric import Floats, Indices
from mmerg.scoring.score import Score
from mmerg.scoring.shares import LEVEL, holm
from mmerg.storage.record import Record

NUMBERS: dict[Point | str, float] = {"first": 1.0, "tie": 0.0, "second": -1.0}
OUTCOMES = {"win": 1.0, "tie": 0.0, "lose": -1.0}


class RaterFacts(Record):
    """silent, loud: checks failed, and had. same: of `repeats` second answers, the share (%) equal to the first.
    straight: of items, the share (%) with one answer to all questions. browsers: that used the link."""

    items: int
    silent: tuple[int, int]
    loud: tuple[int, int]
    repeats: int
    same: float | None
    seconds: float | None
    straight: float
    cannot: int
    browsers: int
    passed: bool


class Pair(Record):
    """Candidate A against B on a question. scores: difference (A less B, points), or win, tie, lose and margin (%).
    says: what may be said of it."""

    a: str
    b: str
    question: str
    scores: dict[str, Score]
    p: float | None
    p_holm: float | None = None
    says: str = ""


class Figures(Record):
    """Of some raters. means: by candidate and question. agreement: by question alpha_nominal, alpha_ordinal, ac2, and
    icc_2_1 and icc_2_k of Likert ratings."""

    raters: tuple[str, ...]
    means: dict[str, dict[str, Score]]
    pairs: tuple[Pair, ...]
    agreement: dict[str, dict[str, Score]]


class Table:
    """Numbers of a study. ratings: by question, shape [items, raters], NaN for none: points, or 1, 0, -1 where the
    first reply of the item as drawn is better, neither, or the second. items: those that are no checks."""

    def __init__(self, log: Log, key: Key) -> None:
        self.log, self.key, self.form = log, key, log.study.form
        self.items = {code: item for code, item in key.items.items() if item.candidates}
        places = {code: number for number, code in enumerate(self.items)}
        rated = {at for at, answers in log.answers.items() if answers.keys() & self.form.questions.keys()}
        begun = {rater for rater, place in rated if log.shown(rater, place).item in places}
        self.raters = [rater for rater in log.orders if rater in begun]
        self.ratings = {name: np.full((len(places), len(self.raters)), np.nan) for name in self.form.questions}
        for (rater, place), answers in log.answers.items():
            shown = log.shown(rater, place)
            if shown.item in places and not shown.again:
                for name in answers.keys() & self.ratings.keys():
                    self.ratings[name][places[shown.item], self.raters.index(rater)] = number(answers[name], shown)

    @property
    def dialogues(self) -> list[str]:
        return [item.dialogue for item in self.items.values()]

    def points(self, question: str) -> list[float]:
        """The scale as numbers, in ascending order."""
        return sorted(
            NUMBERS[one] if isinstance(one, str) else float(one) for one in self.form.questions[question].points
        )

    def of(self, *candidates: int) -> list[int]:
        """The items with the replies of these candidates, in the order of samples."""
        found = [
            (item.sample, place) for place, item in enumerate(self.items.values()) if item.candidates == candidates
        ]
        return [place for _, place in sorted(found)]


def number(value: Point | str, shown: Shown) -> float:
    """An answer as a number, in terms of the item as drawn; NaN for one that could not be judged."""
    drawn = as_drawn(value, shown)
    return NUMBERS[drawn] if drawn in NUMBERS else np.nan if drawn == CANNOT else float(drawn)


def rater_facts(table: Table, rater: str, max_failed: float) -> RaterFacts:
    log, form = table.log, table.form
    places = [place for place in range(len(log.orders[rater])) if (rater, place) in log.answers]
    answers = {place: log.answers[rater, place] for place in places}
    checks: dict[bool, list[bool]] = {True: [], False: []}
    first: dict[str, Mapping[str, Point | str]] = {}
    same: list[bool] = []
    rated: list[Mapping[str, Point | str]] = []
    refused = {one.place for one in log.entries if (one.rater, one.question, one.value) == (rater, SUBMIT, AGAIN)}
    for place in places:
        shown, given = log.shown(rater, place), answers[place]
        item = table.key.items.get(shown.item, KeyItem(sample="", dialogue=""))
        own = {name: as_drawn(given[name], shown) for name in form.questions if name in given}
        if item.expect and item.expect.keys() <= own.keys():
            checks[item.loud].append(
                place in refused or any(own.get(name) not in to for name, to in item.expect.items())
            )
        elif shown.again:
            same += [value == first.get(shown.item, {}).get(name) for name, value in own.items()]
        elif item.candidates and own:
            first[shown.item] = own
            rated.append(own)
    times = [entry.ms / 1000 for entry in log.entries if (entry.rater, entry.question) == (rater, SUBMIT) and entry.ms]
    failed = sum(checks[False]) + sum(checks[True])
    return RaterFacts(
        items=len(rated),
        silent=(sum(checks[False]), len(checks[False])),
        loud=(sum(checks[True]), len(checks[True])),
        repeats=len(same),
        same=100 * sum(same) / len(same) if same else None,
        seconds=median(times) if times else None,
        straight=100 * sum(len(set(own.values())) == 1 < len(own) for own in rated) / max(len(rated), 1),
        cannot=sum(value == CANNOT for own in rated for value in own.values()),
        browsers=len({entry.browser for entry in log.entries if entry.rater == rater and entry.browser}),
        passed=failed <= max_failed * (len(checks[True]) + len(checks[False])),
    )


def figures(table: Table, raters: Sequence[str], draws: int, seed: int) -> Figures:
    """Those of these raters."""
    columns = [table.raters.index(rater) for rater in raters]
    ratings = {name: values[:, columns] for name, values in table.ratings.items()}
    names, dialogues = [one.name for one in table.key.candidates], table.dialogues
    agreement = {name: _agreement(table, values, name, draws, seed) for name, values in ratings.items()}

    def mean(name: str, values: Floats, rows: Sequence[int], low: float, high: float) -> tuple[Score, float | None]:
        return two_way(name, values, [dialogues[row] for row in rows], draws, seed, (low, high))

    means: dict[str, dict[str, Score]] = {}
    pairs: list[Pair] = []
    for question, values in ratings.items():
        low, high = (min(table.points(question)), max(table.points(question)))
        if table.form.replies == 1:
            for candidate, called in enumerate(names):
                rows = table.of(candidate)
                means.setdefault(called, {})[question] = mean(question, values[rows], rows, low, high)[0]
        for one, other in combinations(range(len(names)), 2):
            if table.form.replies == 1:
                rows = table.of(one)
                difference, p = mean("difference", values[rows] - values[table.of(other)], rows, low - high, high - low)
                scores = {"difference": difference}
            else:
                rows = table.of(one, other)
                known = np.where(np.isnan(values[rows]), np.nan, 100.0)
                scores = {
                    name: mean(name, known * (values[rows] == outcome), rows, 0, 100)[0]
                    for name, outcome in OUTCOMES.items()
                }
                scores["margin"], p = mean("margin", 100 * values[rows], rows, -100, 100)
            pairs.append(Pair(a=names[one], b=names[other], question=question, scores=scores, p=p))
    corrected = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    pairs = [pair if pair.p is None else pair.model_copy(update={"p_holm": next(corrected)}) for pair in pairs]
    said = [pair.model_copy(update={"says": _says(pair, agreement[pair.question]["alpha_ordinal"])}) for pair in pairs]
    return Figures(raters=tuple(raters), means=means, pairs=tuple(said), agreement=agreement)


def _says(pair: Pair, alpha: Score) -> str:
    """Better is said only where chance does not explain it, and raters agree more than by chance."""
    score = pair.scores.get("margin") or pair.scores["difference"]
    if pair.p_holm is None or score.value is None:
        return f"not tested: {score.why.removeprefix('no interval: ')}"
    if pair.p_holm >= LEVEL:
        return "no difference is shown"
    if not alpha.interval or alpha.interval[0] <= 0:
        return "not said: the raters may agree by chance alone (alpha)"
    return f"{pair.a if score.value > 0 else pair.b} is better"


def _agreement(table: Table, values: Floats, question: str, draws: int, seed: int) -> dict[str, Score]:
    rows = np.flatnonzero((~np.isnan(values)).sum(axis=1) > 1)
    tally, dialogues = Tally(values[rows], table.points(question)), [table.dialogues[row] for row in rows]
    found = {f"alpha_{level}": tally.alpha(level) for level in LEVELS} | {"ac2": tally.ac2("ordinal")}
    scores = {name: coefficient(name, value, dialogues, draws, seed) for name, value in found.items()}
    whole = values[~np.isnan(values).any(axis=1)]
    for name, value in zip(("icc_2_1", "icc_2_k"), icc(whole), strict=True) if table.form.replies == 1 else ():
        few = "no two items were rated by all of two or more raters" if min(whole.shape) < 2 else "nothing varies"
        known = not isnan(value)
        scores[name] = Score(name=name, value=value if known else None, n=len(whole), why="" if known else few)
    return scores


def coefficient(name: str, value: Callable[[Indices], float], dialogues: Sequence[str], draws: int, seed: int) -> Score:
    """A coefficient of agreement over all items with its interval over dialogues, or why it is not defined. dialogues:
    of each item."""
    score = Score(name=name, value=None, n=len(dialogues), why="no item has two ratings")
    if dialogues and isnan(value(np.arange(len(dialogues)))):
        return score.model_copy(update={"why": "all ratings are the same: it is not defined"})
    return score.over(value, dialogues, "bootstrap", resamples=draws, seed=seed) if dialogues else score


def two_way(
    name: str, values: Floats, dialogues: Sequence[str], draws: int, seed: int, ends: tuple[float, float]
) -> tuple[Score, float | None]:
    """The mean of values, shape [items, raters] with NaN for none, with its interval within `ends`; and p of that it is
    0, two-sided. dialogues: of each item."""
    from scipy.stats import t

    groups = np.unique(np.array(dialogues, str), return_inverse=True)[1]
    known = ~np.isnan(values)
    score = Score(name=name, value=None, n=int(known.any(axis=1).sum()), why="no ratings")
    if not known.any():
        return score, None
    sums, counts = (np.zeros((groups.max() + 1, values.shape[1])) for _ in range(2))
    np.add.at(sums, groups, np.where(known, values, 0.0))
    np.add.at(counts, groups, known)
    estimate = float(sums.sum() / counts.sum())
    score = score.model_copy(update={"value": estimate, "why": "no interval: all is from one dialogue"})
    if len(sums) < 2:
        return score, None
    random = np.random.default_rng(seed)
    variances: list[tuple[float, int]] = []
    for axis in (1, 0):  # over dialogues, over raters
        of, per = sums.sum(axis=axis), counts.sum(axis=axis)
        of, per = of[per > 0], per[per > 0]
        if (size := len(of)) > 1:
            drawn = random.multinomial(size, np.full(size, 1 / size), draws)
            variances.append((float(np.var((drawn @ of) / (drawn @ per))) * size / (size - 1), size))
    variance = sum(one for one, _ in variances)
    if variance < 1e-18:
        return score.model_copy(update={"why": "no interval: all ratings are the same"}), None
    freedom = variance**2 / sum(one**2 / (size - 1) for one, size in variances)
    error, sizes = sqrt(variance), [size for _, size in variances]
    half = float(t.ppf(0.975, freedom)) * error
    over = " and ".join(f"{size} {what}" for size, what in zip(sizes, ("dialogues", "raters"), strict=False))
    method = f"bootstrap, {draws} draws of {over}, seed {seed}, t with {freedom:.1f} degrees of freedom"
    method += "; of one rater, so it says nothing of others" * (len(sizes) < 2)
    interval = (max(ends[0], estimate - half), min(ends[1], estimate + half))
    p = 2 * float(t.sf(abs(estimate) / error, freedom))
    return score.model_copy(update={"interval": interval, "method": method, "why": ""}), p
