"""The results of `mmerg audit`, stored as `planted.json` in the run folder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mmerg.auditing.calibrate import AuditorMeasure, measure_auditor, measure_check
from mmerg.auditing.faults import BY_CODE, KINDS, ROLES, Case
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
        """Yields tables of AUC and sensitivity by kind of fault, faults of replies apart; then of all checks
        together."""
        of_replies = [kind for kind in KINDS if kind == ROLES or kind in BY_CODE]
        for kinds in ([kind for kind in KINDS if kind not in of_replies], of_replies):
            columns = [kind for kind in kinds if any(kind in row for row in self.aucs.values())]
            rows = {name: row for name, row in self.aucs.items() if row.keys() & set(columns)}
            if not rows:
                continue
            aucs = [[name, *(_format(row.get(kind)) for kind in columns)] for name, row in rows.items()]
            yield Table("AUC [95 %] by kind of fault; 0.5 is chance", ("check", *columns), aucs)
            checks = {name: self.checks[name] for name in rows if name in self.checks}
            detected = []
            for name, check in checks.items():
                measures = [check.specificity, *(check.sensitivity.get(kind) for kind in columns)]
                detected.append([name, *map(_format, measures), format_number(check.ece)])
            title = f"sensitivity; threshold fitted for specificity {SPECIFICITY} on the other half of the dialogues;"
            title += " findings and code have none"
            yield Table(title, ("check", "specificity", *columns, "ECE"), detected)
        together = [
            [form, _format(whole.passed), _format(whole.blamed), format_number(whole.chance), format_number(whole.f1)]
            for form, whole in self.wholes.items()
        ]
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
