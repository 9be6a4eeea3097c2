"""How well an auditor tells clean outputs from faulty ones, as `planted.json` in the run's folder keeps it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import RenderableType

from mmerg.auditing.calibrate import Whole, measured, whole
from mmerg.auditing.faults import KINDS, Case
from mmerg.auditing.figures import SPECIFICITY, auc, sides
from mmerg.auditing.worth import Worth
from mmerg.console.tables import NONE, Sheet, figure
from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.scoring.score import Score, results_digest
from mmerg.settings.model import Form
from mmerg.storage.files import why
from mmerg.storage.record import Record, read_record
from mmerg.systems.audit import Check, Measure

PLANTED = "planted.json"


class Planted(Record):
    """What `mmerg audit` measured of a run. figures: by "stage form" and kind of fault the AUC, over all dialogues.
    checks: by the same names, threshold and figures by the split. wholes: by form, all stages' checks together. failed:
    samples on which a call failed, which count nowhere. identity, results: of which state of the run (see
    `Scores`)."""

    run: str
    auditor: str
    seed: int
    stages: tuple[str, ...]
    failed: int
    figures: dict[str, dict[str, Score]]
    checks: dict[str, Check]
    wholes: dict[str, Whole]
    worth: Worth
    cases: tuple[Case, ...]
    identity: dict[str, str]
    results: str

    @property
    def columns(self) -> list[str]:
        """The kinds of faults that were measured."""
        return [kind for kind in KINDS if any(kind in of for of in self.figures.values())]

    @property
    def counted(self) -> str:
        """How many outputs were checked, and what is missing; without a full stop."""
        own = [case for case in self.cases if not case.fault]
        unread = sum(None in case.scores.values() for case in self.cases)
        samples, planted = len({case.sample for case in own}), len(self.cases) - len(own)
        parts = [
            f"{len(own)} outputs of {samples} samples and {planted} with a planted fault were checked",
            f"{unread} of them have a check that cannot be read",
        ]
        if self.failed:
            parts.append(f"{self.failed} samples are left out, as a call failed")
        return "; ".join(parts)


def figures_of(
    cases: Sequence[Case], stages: Sequence[str], forms: Mapping[str, Sequence[Form]], seed: int
) -> dict[str, dict[str, Score]]:
    """The AUC of each form of a stage's check, by kind of fault, without what was not measured."""
    rows = {}
    for stage in stages:
        for form in forms[stage]:
            found = {kind: auc(*sides(cases, stage, form, kind), seed) for kind in KINDS}
            row = {kind: _score(kind, one, f"form:{form}|seed:{seed}") for kind, one in found.items() if one}
            if row:
                rows[f"{stage} {form}"] = row
    return rows


def checks_of(
    cases: Sequence[Case], stages: Sequence[str], forms: Mapping[str, Sequence[Form]], seed: int
) -> tuple[dict[str, Check], dict[str, Whole]]:
    """By "stage form" each check by the split; by form the checks of all stages that can have it together."""
    made = {(stage, form): measured(cases, stage, form, seed) for stage in stages for form in forms[stage]}
    checks = {key: check for key, check in made.items() if check}
    wholes: dict[str, Whole] = {}
    for form in dict.fromkeys(form for _, form in checks):
        together = whole(cases, {stage: checks.get((stage, form), Check(form=None)) for stage in stages}, seed)
        if together:
            wholes[form] = together
    return {f"{stage} {form}": check for (stage, form), check in checks.items()}, wholes


def tables(planted: Planted) -> list[RenderableType]:
    """The figures for a terminal."""
    columns = planted.columns
    aucs = [[name, *(_cell(row.get(kind)) for kind in columns)] for name, row in planted.figures.items()]
    found = [
        [name, _cell(check.specificity), *(_cell(check.sensitivity.get(kind)) for kind in columns), figure(check.ece)]
        for name, check in planted.checks.items()
    ]
    together = [
        [form, _cell(one.passed), _cell(one.blamed), figure(one.chance), figure(one.f1)]
        for form, one in planted.wholes.items()
    ]
    held = f"threshold fitted for specificity {SPECIFICITY} on one half of the dialogues, measured on the other"
    return [
        Sheet("AUC [95 %] by kind of fault; 0.5 is chance", ("check", *columns), aucs),
        Sheet(f"sensitivity, {held}", ("check", "specificity", *columns, "ECE"), found),
        Sheet("all checks together", ("form", "clean passed", "fault blamed", "by chance", "F1"), together),
        planted.worth.describe(),
    ]


def _score(name: str, one: Measure, signature: str) -> Score:
    ends = None if one.low is None or one.high is None else (one.low, one.high)
    return Score(name=name, value=one.value, n=one.n, interval=ends, higher_is_better=True, signature=signature)


def _cell(one: Measure | Score | None) -> str:
    if one is None or one.value is None:
        return NONE
    ends = one.interval if isinstance(one, Score) else (one.low, one.high)
    return figure(one.value) + (f" [{figure(ends[0])}, {figure(ends[1])}]" if ends and ends[0] is not None else "")


def read_planted(run: Path, identity: Mapping[str, str]) -> Planted | None:
    """What was measured of the run in folder `run`, None where nothing was. Raises RunError where the file cannot be
    read, or is of another state of the run."""
    file, again = run / PLANTED, f"mmerg audit {run}"
    try:
        planted = read_record(file, Planted)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        what = f"the planted faults cannot be read, or are of another version: {why(error)}"
        raise RunError(what, where=str(file), hint=again) from error
    if (planted.identity, planted.results) != (identity, results_digest(read_results(run).values())):
        raise RunError("the planted faults are stale: the run has changed since", where=str(file), hint=again)
    return planted
