"""The form and threshold of each check. One half of the dialogues fits them, and the other gives the scores."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf, isfinite

import numpy as np

from mmerg.auditing.faults import BY_CODE, FOREIGN, HOT, HUMAN, KINDS, WRONG, Case
from mmerg.auditing.metrics import (
    Scored,
    calibration_error,
    collect_scores,
    fit_evidence,
    fit_threshold,
    measure_auc,
    measure_share,
    split_sides,
)
from mmerg.settings.model import Form
from mmerg.storage.record import Record
from mmerg.systems.audit import Check, Measure
from mmerg.systems.system import Stage

LEAST = 0.6  # a check is worth its calls if the lower bounds of its AUCs reach this: see `find_gates`


class AuditorMeasure(Record):
    """The checks of all stages together, measured on the held-out half."""

    passed: Measure  # share of clean passes, without known wrong forecasts, whose checks all passed
    blamed: Measure  # share of planted faults, without those after a wrong forecast, whose stage is the first to fail
    chance: float  # mean share of clean passes that blame the stage of a fault

    @property
    def f1(self) -> float:
        """The harmonic mean of the accuracies on clean and faulty passes, as in ProcessBench (arXiv 2412.06559)."""
        passed, blamed = self.passed.value, self.blamed.value
        return 2 * passed * blamed / (passed + blamed) if passed + blamed else 0.0


def split_halves(cases: Iterable[Case], seed: int) -> tuple[list[Case], list[Case]]:
    """Splits the cases into those to fit on and the held-out ones. All cases of a dialogue are on the same side."""
    cases = list(cases)
    dialogues = sorted({case.dialogue for case in cases})
    random.Random(f"{seed} halves").shuffle(dialogues)
    first = set(dialogues[: (len(dialogues) + 1) // 2])
    return [case for case in cases if case.dialogue in first], [case for case in cases if case.dialogue not in first]


def measure_check(cases: Sequence[Case], stage: str, form: Form, seed: int) -> Check | None:
    """Measures the check of a stage in a form: threshold and evidence from one half of the dialogues, scores from the
    other. Returns None if a half lacks clean or faulty outputs, or too many checks of clean outputs cannot be read."""
    fitting, held_out = split_halves(cases, seed)
    clean, faulty = _pool_scores(fitting, stage, form)
    held_clean, held_faulty = _pool_scores(held_out, stage, form)
    fit_clean, fit_faulty, test_clean, test_faulty = (
        np.array([score for score, _ in scored if isfinite(score)])
        for scored in (clean, faulty, held_clean, held_faulty)
    )
    if not (len(fit_clean) and len(fit_faulty) and len(test_clean) and len(test_faulty)):
        return None
    threshold = fit_threshold(clean)
    if not isfinite(threshold):
        return None
    if form in ("finding", "code"):
        threshold = 0.0  # these are verdicts already; what code finds in unchanged outputs are real faults
    slope, intercept = fit_evidence(fit_clean, fit_faulty)
    evidence = slope * np.concatenate([test_clean, test_faulty]) + intercept
    is_clean = np.repeat([True, False], [len(test_clean), len(test_faulty)])
    auc: dict[str, Measure] = {}
    sensitivity: dict[str, Measure] = {}
    for kind in KINDS:
        clean_side, faulty_side = split_sides(held_out, stage, form, kind)
        if measure := measure_auc(clean_side, faulty_side, seed):
            auc[kind] = measure
        detected = measure_share((score < threshold, dialogue) for score, dialogue in faulty_side)
        if detected and kind != HUMAN:
            sensitivity[kind] = detected
    return Check(
        form=form,
        threshold=threshold,
        slope=slope,
        intercept=intercept,
        auc=auc,
        specificity=measure_share((score >= threshold, dialogue) for score, dialogue in held_clean),
        sensitivity=sensitivity,
        ece=calibration_error(evidence, is_clean),
    )


def find_gates(cases: Sequence[Case], stage: str, form: Form) -> tuple[str, ...]:
    """Returns the kinds of faults that a check must detect to be used; () if it cannot be shown to detect real ones.

    Foreign faults are never met in use, so they are not enough: forecasts have wrong ones too, and replies those that
    code makes. A function finds what it was written for, and cannot know whether a reply belongs to the dialogue.
    """
    of_stage = [case for case in cases if case.stage == stage]
    made = tuple(kind for kind in BY_CODE if any(case.fault == kind for case in of_stage))
    if form == "code":
        return made or (FOREIGN,)
    real = (WRONG,) if any(case.right is not None for case in of_stage) else made
    return (FOREIGN, *real) if real else ()


def choose_check(cases: Sequence[Case], stage: Stage, forms: Collection[Form], seed: int) -> Check:
    """Chooses a stage's check: the cheapest form whose AUC is within the interval of the best form. AUCs are those of
    the fitting half, for the kind of `find_gates` on which a form is worst. The check has no form, and says why, if its
    lower bounds on the held-out half do not reach `LEAST`. forms: the cheapest first."""
    fitting, _ = split_halves(cases, seed)
    checks: dict[Form, Check] = {}
    worst: dict[Form, Measure] = {}
    for form in forms:
        gates = find_gates(cases, stage.name, form)
        aucs = [measure_auc(*split_sides(fitting, stage.name, form, kind), seed) for kind in gates]
        gated = [auc for auc in aucs if auc]
        check = measure_check(cases, stage.name, form, seed) if gated and len(gated) == len(gates) else None
        if check and check.auc.keys() >= set(gates):
            checks[form], worst[form] = check, min(gated, key=lambda auc: auc.value)
    if not checks:
        no_faults = "the run has no real faults of this stage to measure a check with"
        return Check(form=None, why=no_faults if forms else "no measured form applies to this stage")
    best = max(worst, key=lambda form: worst[form].value)
    good = [form for form, auc in worst.items() if auc.low >= LEAST and auc.high >= worst[best].value]
    check = checks[good[0] if good else best]
    why = ""
    for kind in find_gates(cases, stage.name, check.form) if check.form else ():
        if (auc := check.auc[kind]).low < LEAST:
            why = f"{check.form} has an AUC of {auc.value:.2f} on faults of kind {kind}, with a lower bound of"
            why += f" {auc.low:.2f}, under {LEAST}"
    decoys = stage.verdict.decoys if check.form == "comparison" else ()
    return check.model_copy(update={"form": None, "why": why} if why else {"decoys": decoys})


def measure_auditor(cases: Sequence[Case], checks: Mapping[str, Check], seed: int) -> AuditorMeasure | None:
    """Measures the checks of all stages together on the held-out half. checks: by stage, in order. Returns None if
    there are no clean passes or no planted faults in that half."""
    _, held_out = split_halves(cases, seed)
    unchanged = {(case.sample, case.stage): case for case in held_out if not case.fault}

    def passes(case: Case) -> bool | None:
        """Returns True if the stage's check passes, or there is none; None if it cannot be read."""
        check = checks[case.stage]
        score = case.scores.get(check.form, inf) if check.form else inf
        return None if score is None else score >= check.threshold

    def find_blamed(sample: str, planted: Case | None = None) -> str | None:
        """Returns the earliest stage whose check fails, with one output replaced by the planted fault."""
        for stage in checks:
            case = planted if planted and planted.stage == stage else unchanged.get((sample, stage))
            if case and passes(case) is False:
                return stage
        return None

    order = list(checks)
    wrong = {case.sample: case.stage for case in unchanged.values() if case.right is False}
    dialogues = {case.sample: case.dialogue for case in unchanged.values() if case.sample not in wrong}
    all_passed = {
        sample: all(passes(case) for case in unchanged.values() if case.sample == sample) for sample in dialogues
    }
    planted = [
        case
        for case in held_out
        if case.fault not in ("", HOT, HUMAN)
        and order.index(case.stage) <= order.index(wrong.get(case.sample, case.stage))
    ]
    passed = measure_share((all_passed[sample], dialogue) for sample, dialogue in dialogues.items())
    blamed = measure_share((find_blamed(case.sample, case) == case.stage, case.dialogue) for case in planted)
    if not passed or not blamed:
        return None
    blamed_clean = [find_blamed(sample) for sample in dialogues]
    chances = [blamed_clean.count(case.stage) / len(blamed_clean) for case in planted]
    return AuditorMeasure(passed=passed, blamed=blamed, chance=float(np.mean(chances)))


def _pool_scores(cases: Sequence[Case], stage: str, form: Form) -> tuple[Scored, Scored]:
    """Returns the scores of the run's own outputs that are not known to be wrong, and those of all faulty outputs
    except hot samples and human turns."""
    cases = [case for case in cases if case.stage == stage and case.fault not in (HOT, HUMAN)]
    clean = [case for case in cases if not case.fault and case.right is not False]
    faulty = [case for case in cases if case.fault or case.right is False]
    return collect_scores(clean, form, -inf), collect_scores(faulty, form, inf)
