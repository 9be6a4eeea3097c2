"""The results of `mmerg audit`, stored as `planted.json` in the run folder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mmerg.auditing.calibrate import AuditorMeasure, measure_auditor, measure_check
from mmerg.auditing.faults import KINDS, Case
from mmerg.auditing.metrics import SPECIFICITY, measure_auc, split_sides
from mmerg.auditing.worth import Worth
from mmerg.console.tables import NONE, Table, format_number
from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.scoring.score import results_digest
from mmerg.settings.model import Form
from mmerg.storage.record import Record, read_record
from mmerg.systems.audit import Check, Measure

PLANTED = "planted.json"
COLUMNS = 4  # kinds of faults per table, so that it fits a terminal


class PlantedFaults(Record):
    """The results of `mmerg audit`."""

    run: str
    auditor: str
    seed: int
    failed: int  # samples on which a call failed; nothing else includes them
    aucs: dict[str, dict[str, Measure]]  # by "stage form" and kind of fault, over all dialogues
    checks: dict[str, Check]  # by "stage form", from the two halves of the dialogues
    wholes: dict[str, AuditorMeasure]  # by form: the checks of all stages together
    worth: Worth
    cases: tuple[Case, ...]
    identity: dict[str, str]  # with `results` the state of the run: see `Scores`
    results: str

    @property
    def summary(self) -> str:
        """The number of checked outputs, and how many are missing; without a full stop at the end."""
        samples, unchanged = len({case.sample for case in self.cases}), sum(not case.fault for case in self.cases)
        unread = sum(None in case.scores.values() for case in self.cases)
        planted = len(self.cases) - unchanged
        checked = f"{unchanged} outputs of {samples} samples and {planted} with a planted fault were checked"
        failed = f"; {self.failed} samples are skipped because a call failed" if self.failed else ""
        return f"{checked}; {unread} of them have a check that cannot be read{failed}"

    def tables(self) -> Iterator[Table]:
        """Yields tables of AUC by kind of fault, thresholds, sensitivity by kind of fault, and all checks together. No
        table has more than `COLUMNS` kinds."""
        yield from _list_by_kind("AUC [95 %] by kind of fault; 0.5 is chance", self.aucs)
        thresholds = [
            [name, format_number(check.threshold), _format(check.specificity), format_number(check.ece)]
            for name, check in self.checks.items()
        ]
        if thresholds:
            title = (
                f"thresholds for a specificity of {SPECIFICITY} (code: highest J; finding: none), fitted on half of "
                "the dialogues and measured on the others"
            )
            yield Table(title, ("check", "threshold", "specificity", "ECE"), thresholds)
        yield from _list_by_kind(
            "sensitivity with these thresholds", {name: check.sensitivity for name, check in self.checks.items()}
        )
        together = [
            [form, _format(whole.passed), _format(whole.blamed), format_number(whole.chance), format_number(whole.f1)]
            for form, whole in self.wholes.items()
        ]
        if together:
            yield Table("all checks together", ("form", "clean passed", "fault blamed", "by chance", "F1"), together)


Forms = Mapping[str, Sequence[Form]]  # by stage


def compute_aucs(cases: Sequence[Case], forms: Forms, seed: int) -> dict[str, dict[str, Measure]]:
    """Computes the AUC of each form of a stage's check, by kind of fault. Omits forms and kinds without an AUC."""
    rows: dict[str, dict[str, Measure]] = {}
    for stage, stage_forms in forms.items():
        for form in stage_forms:
            aucs = {kind: measure_auc(*split_sides(cases, stage, form, kind), seed) for kind in KINDS}
            if row := {kind: auc for kind, auc in aucs.items() if auc}:
                rows[f"{stage} {form}"] = row
    return rows


def compute_checks(
    cases: Sequence[Case], forms: Forms, seed: int
) -> tuple[dict[str, Check], dict[str, AuditorMeasure]]:
    """Measures the checks by "stage form"; and by form, the checks of all stages that can have it, together."""
    by_form: dict[Form, dict[str, Check]] = {}
    checks: dict[str, Check] = {}
    for stage, stage_forms in forms.items():
        for form in stage_forms:
            if check := measure_check(cases, stage, form, seed):
                checks[f"{stage} {form}"] = by_form.setdefault(form, {})[stage] = check
    wholes: dict[str, AuditorMeasure] = {}
    for form, by_stage in by_form.items():
        every_stage = {stage: by_stage.get(stage, Check(form=None)) for stage in forms}
        if together := measure_auditor(cases, every_stage, seed):
            wholes[form] = together
    return checks, wholes


def _list_by_kind(title: str, measures: Mapping[str, Mapping[str, Measure]]) -> Iterator[Table]:
    """Yields tables with a row for each check and a column for each kind of fault."""
    measured = [kind for kind in KINDS if any(kind in row for row in measures.values())]
    for start in range(0, len(measured), COLUMNS):
        kinds = measured[start : start + COLUMNS]
        rows = {name: row for name, row in measures.items() if row.keys() & set(kinds)}
        yield Table(
            title,
            ("check", *kinds),
            [[name, *(_format(row.get(kind)) for kind in kinds)] for name, row in rows.items()],
        )


def _format(measure: Measure | None) -> str:
    if measure is None:
        return NONE
    return f"{format_number(measure.value)} [{format_number(measure.low)}, {format_number(measure.high)}]"


def read_planted(run: Path, identity: Mapping[str, str]) -> PlantedFaults | None:
    """Reads what was measured on a run; None if there is nothing. Raises RunError if the file cannot be read, or the
    run has changed since."""
    file, again = run / PLANTED, f"mmerg audit {run}"
    try:
        planted = read_record(file, PlantedFaults, again)
    except FileNotFoundError:
        return None
    if (planted.identity, planted.results) != (identity, results_digest(read_results(run).values())):
        raise RunError("the planted faults are stale: the run has changed since", where=str(file), hint=again)
    return planted
