"""Metrics of auditors on simulated scores."""

import re
from collections.abc import Iterator, Mapping
from math import erf, sqrt

import numpy as np
import pytest

from mmerg.auditing.calibrate import choose_check, find_gates, measure_auditor, measure_check
from mmerg.auditing.faults import FLIPPED, FOREIGN, ROLES, WRONG, Case
from mmerg.auditing.metrics import Scored, calibration_error, fit_evidence, measure_auc, split_sides
from mmerg.auditing.worth import Worth
from mmerg.scoring.metric import Floats
from mmerg.settings.model import Form
from mmerg.systems.audit import Check, Measure
from mmerg.systems.system import Stage
from tests.engine.parts import merg


def outputs(scores: Floats, per_dialogue: int = 1) -> Scored:
    return [(float(score), f"d{place // per_dialogue}") for place, score in enumerate(scores)]


def cases(n: int, lifts: Mapping[str, Mapping[str, float]], seed: int = 0) -> Iterator[Case]:
    """Unchanged and faulty outputs of n dialogues; half of the forecasts are right. lifts: by form and kind of fault,
    how many standard deviations clean scores lie above faulty ones."""
    dice = np.random.default_rng(seed)
    for number in range(n):
        known = {"sample": f"s{number}", "dialogue": f"d{number}", "stage": "caef"}
        right = number % 2 == 0
        own = {form: float(dice.normal() - (0.0 if right else lift[WRONG])) for form, lift in lifts.items()}
        yield Case.model_validate({**known, "right": right, "scores": own})
        for kind in (FOREIGN, FLIPPED):
            scores = {form: float(dice.normal() - lift.get(kind, 0.0)) for form, lift in lifts.items()}
            yield Case.model_validate({**known, "fault": kind, "scores": scores})


def test_auc_is_unbiased_and_its_interval_covers_the_true_value() -> None:
    lift, dialogues, per_dialogue, covered, values = 1.0, 40, 4, 0, []
    for seed in range(100):
        dice = np.random.default_rng(seed)
        shared = np.repeat(dice.normal(size=dialogues), per_dialogue)  # outputs of one dialogue are alike
        clean, faulty = ((shared + dice.normal(size=len(shared))) / sqrt(2) for _ in range(2))
        found = measure_auc(outputs(clean + lift, per_dialogue), outputs(faulty, per_dialogue), seed)
        assert found
        values.append(found.value)
        covered += found.low <= (1 + erf(lift / 2)) / 2 <= found.high
    assert np.mean(values) == pytest.approx((1 + erf(lift / 2)) / 2, abs=0.02)
    assert covered >= 0.9 * 100


def test_a_perfect_auc_has_an_interval_and_ties_give_one_half() -> None:
    high, low = outputs(np.arange(10.0) + 10), outputs(np.arange(10.0))
    whole_gap, tied = measure_auc(high, low), measure_auc(low, low)
    assert whole_gap
    assert (whole_gap.value, whole_gap.high) == (1, 1)
    assert whole_gap.low == pytest.approx(0.722, abs=1e-3)  # Wilson's of 10 of 10
    assert tied
    assert tied.value == 0.5
    assert measure_auc(high, []) is None
    single = measure_auc([(1.0, "d")], [(0.0, "d")])
    assert single
    assert single.low == pytest.approx(0.207, abs=1e-3)  # Wilson's of 1 of 1


def test_evidence_is_the_log_likelihood_ratio() -> None:
    dice, lift = np.random.default_rng(0), 2.0
    clean, faulty = dice.normal(lift, size=20_000), dice.normal(size=5_000)
    slope, intercept = fit_evidence(clean, faulty)
    assert slope == pytest.approx(lift, abs=0.1)
    assert intercept == pytest.approx(-(lift**2) / 2, abs=0.1)
    scores, truth = np.concatenate([clean, faulty]), np.arange(25_000) < 20_000
    assert calibration_error(slope * scores + intercept, truth) < 0.02
    assert calibration_error(4 * (slope * scores + intercept), truth) > 0.05
    assert np.isfinite(fit_evidence(np.ones(3), np.zeros(3))).all()


def test_a_threshold_keeps_its_specificity_on_held_out_dialogues() -> None:
    check = measure_check(
        [*cases(1000, {"likelihood": {FOREIGN: 2.0, FLIPPED: 2.0, WRONG: 2.0}})], "caef", "likelihood", 0
    )
    assert check
    assert check.specificity
    assert check.specificity.value == pytest.approx(0.9, abs=0.03)
    for kind in (FOREIGN, FLIPPED, WRONG):  # Φ(2 − 1.2816)
        assert check.sensitivity[kind].value == pytest.approx(0.764, abs=0.05)
    assert check.ece is not None
    assert check.ece < 0.05


@pytest.mark.parametrize(
    ("real", "form", "why"),
    [
        (3.0, "likelihood", "^$"),
        (0.0, None, r"has an AUC of 0\.\d\d on held-out faults of kind (wrong|foreign), with a lower bound of 0\."),
    ],
)
def test_a_form_that_misses_foreign_or_wrong_outputs_is_not_used(real: float, form: Form | None, why: str) -> None:
    lifts = {
        "likelihood": {FOREIGN: 9.0, WRONG: real},
        "odds": {FOREIGN: 0.4, WRONG: 0.4},
        "finding": {FOREIGN: 9.0, WRONG: real},  # as good, but more expensive
    }
    gates: dict[Form, tuple[str, ...]] = dict.fromkeys(("likelihood", "odds", "finding"), (FOREIGN, WRONG))
    found = choose_check([*cases(120, lifts)], Stage("caef", "e", ()), gates, 0)
    assert found.form == form
    assert re.search(why, found.why)
    assert FOREIGN in found.auc


def test_a_forecast_that_the_gold_label_contradicts_is_not_clean() -> None:
    known = {"stage": "caef", "scores": {"odds": 1.0}}
    found = [
        Case.model_validate({**known, "sample": f"s{n}", "dialogue": f"d{n}", "right": right, "fault": fault})
        for n, right in enumerate((True, False, None))
        for fault in ("", FOREIGN)
    ]
    found = [case.model_copy(update={"right": None}) if case.fault else case for case in found]
    clean, foreign = split_sides(found, "caef", "odds", FOREIGN)
    assert [dialogue for _, dialogue in clean] == [dialogue for _, dialogue in foreign] == ["d0", "d2"]
    clean, wrong = split_sides(found, "caef", "odds", WRONG)
    assert ([dialogue for _, dialogue in clean], [dialogue for _, dialogue in wrong]) == (["d0"], ["d1"])


def test_a_check_must_detect_real_faults() -> None:
    """No faults of evidence and plans are known to be real."""
    mpa, caef, psp, sgrg = merg().stages
    assert find_gates(merg(), mpa, "likelihood") == find_gates(merg(), psp, "odds") == ()
    assert find_gates(merg(), caef, "likelihood") == (FOREIGN, WRONG)
    assert find_gates(merg(), sgrg, "finding") == (FOREIGN, ROLES)
    assert (find_gates(merg(), mpa, "code"), find_gates(merg(), sgrg, "code")) == ((FOREIGN,), ("refusal",))


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        ({"odds": (FOREIGN, ROLES)}, "odds lacks clean outputs, or faults of kind roles, in half of the dialogues"),
        ({"odds": ()}, "no real faults of this stage are known"),
        ({}, "no measured form applies to this stage"),
    ],
)
def test_a_stage_without_measured_faults_gets_no_check(gates: dict[Form, tuple[str, ...]], why: str) -> None:
    found = choose_check([*cases(40, {"odds": {FOREIGN: 9.0, WRONG: 9.0}})], Stage("caef", "e", ()), gates, 0)
    assert (found.form, found.why) == (None, why)


def test_blame_is_compared_with_chance() -> None:
    def case(sample: int, stage: str, score: float | None, fault: str = "") -> Case:
        known = {"sample": f"s{sample}", "dialogue": f"d{sample}", "stage": stage, "fault": fault}
        return Case.model_validate({**known, "scores": {"odds": score}})

    found = []
    for sample in range(20):  # check a fails every other sample, planted or not; check b finds all of its faults
        a = 1.0 if sample % 2 else -1.0
        found += [case(sample, "a", a), case(sample, "b", 1.0)]
        found += [case(sample, "a", a, FOREIGN), case(sample, "b", -1.0, FOREIGN)]
    checks = dict.fromkeys(("a", "b"), Check(form="odds"))
    together = measure_auditor(found, checks, 0)
    assert together
    share = together.passed.value
    assert 0 < share < 1
    assert together.blamed.value == pytest.approx(((1 - share) + share) / 2)  # of a by chance, of b if a passes
    assert together.chance == pytest.approx((1 - share) / 2)
    lost = measure_auditor(
        [case(sample, stage, None, fault) for sample in range(8) for stage in "ab" for fault in ("", FOREIGN)],
        checks,
        0,
    )
    assert lost
    assert (lost.passed.value, lost.blamed.value, lost.f1) == (
        0,
        0,
        0,
    )  # an unreadable check neither passes nor blames


@pytest.mark.parametrize("form", ["finding", "code"])
def test_a_check_of_two_values_keeps_its_verdicts(form: Form) -> None:
    """An auditor that fails a fifth of clean plans, and three quarters of foreign ones."""
    found = []
    for number in range(80):
        known = {"sample": f"s{number}", "dialogue": f"d{number}", "stage": "psp"}
        own, foreign = (-1.0 if fails else 1.0 for fails in (number % 5 == 0, number % 4 > 0))
        found += [Case.model_validate({**known, "scores": {form: own}})]
        found += [Case.model_validate({**known, "fault": FOREIGN, "scores": {form: foreign}})]
    check = measure_check(found, "psp", form, 0)
    assert check
    assert check.specificity
    assert check.specificity.value == pytest.approx(0.8, abs=0.1)
    assert check.sensitivity[FOREIGN].value == pytest.approx(0.75, abs=0.1)


def test_a_wrong_forecast_is_not_a_clean_pass() -> None:
    """The check fails exactly the wrong forecasts and the planted ones."""
    known = [{"sample": f"s{n}", "dialogue": f"d{n}", "stage": "caef"} for n in range(40)]
    found = [
        Case.model_validate({**fields, "right": n % 2 == 0, "scores": {"odds": -1.0 if n % 2 else 1.0}})
        for n, fields in enumerate(known)
    ]
    found += [Case.model_validate({**fields, "fault": FOREIGN, "scores": {"odds": -1.0}}) for fields in known]
    together = measure_auditor(found, {"caef": Check(form="odds")}, 0)
    assert together
    assert (together.passed.value, together.blamed.value, together.f1) == (1, 1, 1)


def test_a_check_that_cannot_be_read_is_never_a_pass() -> None:
    known = {"sample": "s", "dialogue": "d", "stage": "caef"}
    unread = [Case.model_validate({**known, "fault": fault, "scores": {"odds": None}}) for fault in ("", FOREIGN)]
    clean, faulty = split_sides(unread, "caef", "odds", FOREIGN)
    assert (clean, faulty) == ([(-np.inf, "d")], [(np.inf, "d")])
    assert measure_check(unread * 4, "caef", "odds", 0) is None


def test_the_worth_of_a_loop_follows_from_its_shares() -> None:
    values = {"wrong forecasts": 0.5, "sensitivity": 0.8, "specificity": 0.9, "mended": 0.3, "spoiled": 0.3}
    shares = {name: Measure(value=value, low=0, high=1, n=40) for name, value in values.items()}
    description = Worth(shares=shares, observed=7.5, tokens=2000).describe()
    assert "+10.50 forecasts of a hundred, observed +7.50, +0.0525 per thousand tokens" in description
    caught, kept = (Measure(value=value, low=0, high=1, n=20) for value in (0.1, 0.9))
    chance = Check(sensitivity={WRONG: caught}, specificity=kept)
    description = Worth(shares=shares, observed=0, tokens=2000).describe(chance)
    assert "+0.00 forecasts of a hundred; " in description  # the tokens of another check are unknown
    del shares["mended"]
    description = Worth(shares=shares, observed=0, tokens=2000).describe()
    assert description.startswith("worth of the loop: unknown;")
    assert "mended unknown" in description
