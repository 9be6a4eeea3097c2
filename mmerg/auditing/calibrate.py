"""Chooses forms and thresholds by a split of the dialogues: one half fits, the other gives the scores."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf, isfinite

import numpy as np

from mmerg.auditing.faults import FOREIGN, HOT, HUMAN, KINDS, WRONG, Case
from mmerg.auditing.metrics import Scored, auc, calibration_error, collect_scores, fit_evidence, share, sides, threshold
from mmerg.settings.model import Form
from mmerg.storage.record import Record
from mmerg.systems.audit import Check, Measure
from mmerg.systems.system import Stage

LEAST = 0.6  # lower bound of the AUC that makes a check worth its calls
GATES = (FOREIGN, WRONG)  # kinds of faults that must reach it, if present


class Whole(Record):
    """All checks of an auditor together, on the held-out half. passed: the share of clean passes, with no known wrong
    forecast, whose checks all passed. blamed: the share of planted faults, none behind a wrong forecast, whose stage is
    the earliest that failed; chance: how often clean passes blame that stage."""

    passed: Measure
    blamed: Measure
    chance: float

    @property
    def f1(self) -> float:
        """The harmonic mean of the accuracies on clean and faulty passes, as in ProcessBench (arXiv 2412.06559)."""
        passed, blamed = self.passed.value, self.blamed.value
        return 2 * passed * blamed / (passed + blamed) if passed + blamed else 0.0


def halves(cases: Iterable[Case], seed: int) -> tuple[list[Case], list[Case]]:
    """The cases to fit on, and the held-out ones; all cases of a dialogue are on one side."""
    cases = list(cases)
    names = sorted({case.dialogue for case in cases})
    random.Random(f"{seed} halves").shuffle(names)
    fit = set(names[: (len(names) + 1) // 2])
    return [case for case in cases if case.dialogue in fit], [case for case in cases if case.dialogue not in fit]


def measured(cases: Sequence[Case], stage: str, form: Form, seed: int) -> Check | None:
    """The check of a stage by a form: threshold and evidence from one half, scores from the other. None if a half lacks
    clean or faulty outputs, or too many checks of clean ones cannot be read."""
    fitting, held = halves(cases, seed)
    (clean, faulty), (held_clean, held_faulty) = (_pooled(half, stage, form) for half in (fitting, held))
    sides_of = (clean, faulty, held_clean, held_faulty)
    known = [np.array([score for score, _ in side if isfinite(score)]) for side in sides_of]
    if not all(len(side) for side in known) or not isfinite(least := threshold(clean)):
        return None
    if form == "finding":
        least = 0.0  # a finding is a verdict already
    slope, intercept = fit_evidence(known[0], known[1])
    evidence, truth = slope * np.concatenate(known[2:]) + intercept, np.repeat([True, False], list(map(len, known[2:])))
    by_kind = {kind: sides(held, stage, form, kind) for kind in KINDS}
    found = {kind: share((s < least, d) for s, d in faults) for kind, (_, faults) in by_kind.items() if kind != HUMAN}
    return Check(
        form=form,
        threshold=least,
        slope=slope,
        intercept=intercept,
        auc={kind: one for kind, both in by_kind.items() if (one := auc(*both, seed))},
        specificity=share((score >= least, dialogue) for score, dialogue in held_clean),
        sensitivity={kind: one for kind, one in found.items() if one},
        ece=calibration_error(evidence, truth),
    )


def choose(cases: Sequence[Case], stage: Stage, forms: Collection[Form], seed: int) -> Check:
    """The cheapest form whose AUC is within the interval of the best one, on the fitting half and its worst kind of
    `GATES`. The form is used only if its lower bounds on the held-out half reach `LEAST`."""
    fitting, _ = halves(cases, seed)
    checks: dict[Form, Check] = {}
    worst: dict[Form, Measure] = {}
    for form in forms:
        gated = [one for kind in GATES if (one := auc(*sides(fitting, stage.name, form, kind), seed))]
        if gated and (check := measured(cases, stage.name, form, seed)):
            checks[form], worst[form] = check, min(gated, key=lambda one: one.value)
    if not checks:
        return Check(form=None, why="it cannot be measured on this run")
    best = max(worst, key=lambda form: worst[form].value)
    reach = [form for form, one in worst.items() if (one.low or 0) >= LEAST and (one.high or 0) >= worst[best].value]
    check = checks[reach[0] if reach else best]
    why = "" if check.auc.keys() & set(GATES) else "no fault is left to measure it with"
    for kind, one in check.auc.items():
        if kind in GATES and (one.low or 0) < LEAST:
            why = f"{check.form} has an AUC of {one.value:.2f} on {kind} faults, with a lower bound of"
            why += f" {(one.low or 0):.2f}, under {LEAST}"
    decoys = stage.verdict.decoys if check.form == "comparison" else ()
    return check.model_copy(update={"form": None, "why": why} if why else {"decoys": decoys})


def whole(cases: Sequence[Case], checks: Mapping[str, Check], seed: int) -> Whole | None:
    """checks: by stage, in order. None without held-out cases."""
    _, held = halves(cases, seed)
    own = {(case.sample, case.stage): case for case in held if not case.fault}

    def verdict(case: Case) -> bool | None:
        """Whether the stage's check passes, or there is none; None if it cannot be read."""
        check = checks[case.stage]
        score = case.scores.get(check.form, inf) if check.form else inf
        return None if score is None else score >= check.threshold

    def blamed(sample: str, planted: Case | None = None) -> str | None:
        passes = [planted if planted and planted.stage == one else own.get((sample, one)) for one in checks]
        return next((case.stage for case in passes if case and verdict(case) is False), None)

    order, wrong = list(checks), {case.sample: case.stage for case in own.values() if case.right is False}
    dialogues = {case.sample: case.dialogue for case in own.values() if case.sample not in wrong}
    clean = {sample: blamed(sample) for sample in dialogues}
    read = {sample: all(verdict(case) for case in own.values() if case.sample == sample) for sample in dialogues}
    planted = [case for case in held if case.fault not in ("", HOT, HUMAN)]
    planted = [one for one in planted if order.index(one.stage) <= order.index(wrong.get(one.sample, one.stage))]
    passed = share((read[sample], dialogue) for sample, dialogue in dialogues.items())
    found = share((blamed(case.sample, case) == case.stage, case.dialogue) for case in planted)
    if not passed or not found:
        return None
    chances = [[*clean.values()].count(case.stage) / len(clean) for case in planted]
    return Whole(passed=passed, blamed=found, chance=float(np.mean(chances)))


def _pooled(cases: Sequence[Case], stage: str, form: Form) -> tuple[Scored, Scored]:
    """The run's own outputs that are not known to be wrong, and all faulty ones except hot draws and human turns."""
    cases = [case for case in cases if case.stage == stage and case.fault not in (HOT, HUMAN)]
    clean, faulty = ([case for case in cases if bool(case.fault or case.right is False) is so] for so in (False, True))
    return collect_scores(clean, form, -inf), collect_scores(faulty, form, inf)
