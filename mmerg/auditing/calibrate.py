"""Forms and thresholds by a split of the dialogues: one half fits, the other gives the figures."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite

import numpy as np

from mmerg.auditing.faults import FOREIGN, HOT, HUMAN, KINDS, WRONG, Case
from mmerg.auditing.figures import Outputs, auc, calibration_error, f1, fit_evidence, share, sides, threshold
from mmerg.settings.model import Form
from mmerg.storage.record import Record
from mmerg.systems.audit import Check, Measure

LEAST = 0.6  # lower bound of an AUC with which a check is worth its calls
GATES = (FOREIGN, WRONG)  # kinds of faults that must reach it, where there are any


class Whole(Record):
    """All checks of an auditor together, on the half that fitted nothing. passed: clean passes of which every check
    passed. blamed: planted faults whose stage is the earliest that failed; chance: how often that stage is blamed in
    clean passes. f1: ProcessBench's, of the first two."""

    passed: Measure
    blamed: Measure
    chance: float
    f1: float

    def describe(self) -> str:
        return (
            f"{self.passed.value:.2f} of clean passes pass, {self.blamed.value:.2f} of faults are blamed "
            f"({self.chance:.2f} by chance), F1 {self.f1:.2f}"
        )


def halves(cases: Iterable[Case], seed: int) -> tuple[list[Case], list[Case]]:
    """The cases that fit, and the held ones; a dialogue is on one side."""
    cases = list(cases)
    names = sorted({case.dialogue for case in cases})
    random.Random(f"{seed} halves").shuffle(names)
    fitting = set(names[: (len(names) + 1) // 2])
    return [case for case in cases if case.dialogue in fitting], [
        case for case in cases if case.dialogue not in fitting
    ]


def measured(cases: Sequence[Case], stage: str, form: Form, seed: int) -> Check | None:
    """The check of a stage by a form: threshold and evidence from one half, figures from the other. None where a half
    has no clean or no faulty output."""
    fitting, held = halves(cases, seed)
    clean, faulty = (_pooled(fitting, stage, form, faulty=side) for side in (False, True))
    held_clean, held_faulty = (_pooled(held, stage, form, faulty=side) for side in (False, True))
    if not all(len(side.scores) for side in (clean, faulty, held_clean, held_faulty)):
        return None
    least = threshold(clean)
    if not isfinite(least):  # too many checks of clean outputs cannot be read
        return None
    slope, intercept = fit_evidence(_finite(clean), _finite(faulty))
    scores = np.concatenate([_finite(held_clean), _finite(held_faulty)])
    truth = np.arange(len(scores)) < len(_finite(held_clean))
    found = {kind: share(lambda s: s < least, sides(held, stage, form, kind)[1]) for kind in KINDS if kind != HUMAN}
    return Check(
        form=form,
        threshold=least,
        slope=slope,
        intercept=intercept,
        auc={kind: one for kind in KINDS if (one := auc(*sides(held, stage, form, kind), seed))},
        specificity=share(lambda s: s >= least, held_clean),
        sensitivity={kind: one for kind, one in found.items() if one},
        ece=calibration_error(slope * scores + intercept, truth),
    )


def choose(cases: Sequence[Case], stage: str, forms: Collection[Form], seed: int) -> Check:
    """The cheapest form whose AUC reaches the best one's within its interval, on the half that fits and on the kind of
    `GATES` that each tells worst. It is used only where its lower bounds on the held half reach `LEAST`."""
    fitting, _ = halves(cases, seed)
    checks: dict[Form, Check] = {}
    worst: dict[Form, Measure] = {}
    for form in forms:
        gated = [one for kind in GATES if (one := auc(*sides(fitting, stage, form, kind), seed))]
        if gated and (check := measured(cases, stage, form, seed)):
            checks[form], worst[form] = check, min(gated, key=lambda one: one.value)
    if not checks:
        return Check(form=None, why="there is nothing to measure it on")
    best = max(worst, key=lambda form: worst[form].value)
    reach = [form for form, one in worst.items() if _least(one) >= LEAST and (one.high or 0) >= worst[best].value]
    check = checks[reach[0] if reach else best]
    for kind, one in check.auc.items():
        if kind in GATES and _least(one) < LEAST:
            why = (
                f"{check.form} has an AUC of {one.value:.2f} on {kind} faults, with a lower bound of {_least(one):.2f}"
            )
            return check.model_copy(update={"form": None, "why": f"{why}, under {LEAST}"})
    return check


def whole(cases: Sequence[Case], checks: Mapping[str, Check], seed: int) -> Whole | None:
    """checks: by stage, in the order of the stages. None where nothing is held."""
    _, held = halves(cases, seed)
    own = {(case.sample, case.stage): case for case in held if not case.fault}

    def fails(case: Case) -> bool:
        check = checks[case.stage]
        if check.form is None or check.form not in case.scores:
            return False
        score = case.scores[check.form]
        return score is not None and score < check.threshold

    def blamed(sample: str, planted: Case | None = None) -> str | None:
        passes = (planted if planted and planted.stage == stage else own.get((sample, stage)) for stage in checks)
        return next((case.stage for case in passes if case and fails(case)), None)

    clean = {case.sample: blamed(case.sample) for case in own.values()}
    planted = [case for case in held if case.fault and case.fault not in (HOT, HUMAN)]
    if not clean or not planted:
        return None
    unread = {
        case.sample for case in own.values() if (form := checks[case.stage].form) and case.scores.get(form, 0) is None
    }
    dialogues = {case.sample: case.dialogue for case in own.values()}
    right = Outputs(
        np.array([b is None and s not in unread for s, b in clean.items()], float), tuple(dialogues.values())
    )
    hits = [blamed(case.sample, case) == case.stage for case in planted]
    found = Outputs(np.array(hits, float), tuple(case.dialogue for case in planted))
    chance = float(np.mean([[*clean.values()].count(case.stage) / len(clean) for case in planted]))
    passed, blame = (share(lambda s: s > 0, side) for side in (right, found))
    assert passed is not None
    assert blame is not None
    return Whole(passed=passed, blamed=blame, chance=chance, f1=f1(blame.value, passed.value))


def _least(one: Measure) -> float:
    """The lower bound; 0 where there is none."""
    return one.low or 0.0


def _pooled(cases: Sequence[Case], stage: str, form: Form, *, faulty: bool) -> Outputs:
    """The run's own outputs that are not known to be wrong, or all others but hot draws and human turns."""
    of_stage = [case for case in cases if case.stage == stage]
    own = [case for case in of_stage if not case.fault and (case.right is False) == faulty]
    planted = [case for case in of_stage if case.fault and case.fault not in (HOT, HUMAN)]
    return Outputs.of(own + planted * faulty, form, np.inf if faulty else -np.inf)


def _finite(outputs: Outputs) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The scores of the checks that could be read; 0 where none could."""
    scores = np.array([score for score in outputs.scores if isfinite(score)])
    return scores if len(scores) else np.zeros(1)
