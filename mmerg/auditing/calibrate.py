"""The form and threshold of each check. One half of the dialogues fits them, and the other gives the scores."""

import random
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite

import numpy as np

from mmerg.auditing.faults import FOREIGN, HOT, HUMAN, KINDS, ROLES, WRONG, Case
from mmerg.auditing.metrics import (
    Scored,
    calibration_error,
    collect_scores,
    fit_best_threshold,
    fit_evidence,
    fit_threshold,
    measure_auc,
    measure_share,
    split_sides,
)
from mmerg.settings.model import Form
from mmerg.storage.record import Record
from mmerg.systems.audit import Check, Measure
from mmerg.systems.system import Stage, System

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
    if form == "finding":
        threshold = 0.0  # a finding is a verdict already
    elif form == "code":
        threshold = fit_best_threshold(fit_clean, fit_faulty)
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


def find_gates(system: System, stage: Stage, form: Form) -> tuple[str, ...]:
    """Returns the kinds of faults that a check must detect to be used; () if no real faults of the stage are known.

    Foreign faults are never met in use, so a model must also detect wrong forecasts, or replies of another role. Code
    finds what it was written for. For replies that is not whether they belong to the dialogue. Its gate is a refusal,
    whose AUC shows how seldom it finds a fault in unchanged replies.
    """
    is_reply = stage.gives == system.result_symbol("response")
    if form == "code":
        return ("refusal",) if is_reply else (FOREIGN,)
    if stage.gives == system.result_symbol("emotion"):
        return FOREIGN, WRONG
    return (FOREIGN, ROLES) if is_reply else ()


def choose_checks(
    cases: Sequence[Case], system: System, stages: Sequence[Stage], forms: Mapping[str, Sequence[Form]], seed: int
) -> dict[str, Check]:
    """Chooses the check of each stage. forms: by stage, those that were measured, the cheapest first."""
    gates = {stage.name: {form: find_gates(system, stage, form) for form in forms[stage.name]} for stage in stages}
    return {stage.name: choose_check(cases, stage, gates[stage.name], seed) for stage in stages}


def choose_check(cases: Sequence[Case], stage: Stage, gates: Mapping[Form, Sequence[str]], seed: int) -> Check:
    """Chooses a stage's check: the cheapest form whose AUC is within the interval of the best form. AUCs are those of
    the fitting half, for the kind of fault on which a form is worst. The check has no form, and says why, if its lower
    bounds on the held-out half do not reach `LEAST`. gates: by form, the cheapest first, the kinds that it must detect
    (`find_gates`)."""
    fitting, _ = split_halves(cases, seed)
    checks: dict[Form, Check] = {}
    worst: dict[Form, Measure] = {}
    why = "no real faults of this stage are known" if gates else "no measured form applies to this stage"
    for form, kinds in gates.items():
        check = measure_check(cases, stage.name, form, seed) if kinds else None
        aucs = {kind: measure_auc(*split_sides(fitting, stage.name, form, kind), seed) for kind in kinds}
        measured = {kind: auc for kind, auc in aucs.items() if auc and check and kind in check.auc}
        if missing := [kind for kind in kinds if kind not in measured]:
            why = f"{form} lacks clean outputs, or faults of kind {', '.join(missing)}, in half of the dialogues"
        elif check and measured:
            checks[form], worst[form] = check, min(measured.values(), key=lambda auc: auc.value)
    if not checks:
        return Check(form=None, why=why)
    best = max(worst, key=lambda form: worst[form].value)
    good = [form for form, auc in worst.items() if auc.low >= LEAST and auc.high >= worst[best].value]
    chosen = good[0] if good else best
    check = checks[chosen]
    kind = min(gates[chosen], key=lambda kind: check.auc[kind].low)
    if (auc := check.auc[kind]).low < LEAST:
        what = f"{chosen} has an AUC of {auc.value:.2f} on held-out faults of kind {kind}"
        return check.model_copy(
            update={"form": None, "why": f"{what}, with a lower bound of {auc.low:.2f}, under {LEAST}"}
        )
    return check.model_copy(update={"decoys": stage.verdict.decoys if chosen == "comparison" else ()})


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
