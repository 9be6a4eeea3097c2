"""The results of `mmerg audit`, stored as `planted.json` in the run folder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mmerg.auditing.calibrate import Whole, measured, whole
from mmerg.auditing.faults import BY_CODE, KINDS, ROLES, Case
from mmerg.auditing.metrics import SPECIFICITY, auc, sides
from mmerg.auditing.worth import Worth
from mmerg.console.tables import NONE, Table, format_number
from mmerg.errors import RunError
from mmerg.runs.folder import read_results
from mmerg.scoring.score import results_digest
from mmerg.settings.model import Form
from mmerg.storage.files import describe_error
from mmerg.storage.record import Record, read_record
from mmerg.systems.audit import Check, Measure

PLANTED = "planted.json"


class Planted(Record):
    """What `mmerg audit` measured. aucs: by "stage form" and kind of fault, over all dialogues. checks: by the same
    names, with threshold and scores from the split. wholes: by form, all stages' checks together. failed: samples with
    a failed call, which count nowhere. identity, results: the state of the run (see `Scores`)."""

    run: str
    auditor: str
    seed: int
    failed: int
    aucs: dict[str, dict[str, Measure]]
    checks: dict[str, Check]
    wholes: dict[str, Whole]
    worth: Worth
    cases: tuple[Case, ...]
    identity: dict[str, str]
    results: str

    @property
    def counted(self) -> str:
        """How many outputs were checked, and what is missing; no full stop at the end."""
        samples, own = len({case.sample for case in self.cases}), sum(not case.fault for case in self.cases)
        unread = sum(None in case.scores.values() for case in self.cases)
        made = f"{own} outputs of {samples} samples and {len(self.cases) - own} with a planted fault were checked"
        failed = f"; {self.failed} samples are skipped because a call failed" * bool(self.failed)
        return f"{made}; {unread} of them have a check that cannot be read{failed}"

    def tables(self) -> Iterator[Table]:
        """AUC and sensitivity by kind of fault, with faults of replies in tables of their own; all checks together."""
        made = {ROLES, *BY_CODE}
        for kinds in ([kind for kind in KINDS if kind not in made], [kind for kind in KINDS if kind in made]):
            columns = [kind for kind in kinds if any(kind in row for row in self.aucs.values())]
            rows = {name: row for name, row in self.aucs.items() if row.keys() & set(columns)}
            if not rows:
                continue
            aucs = [[name, *(_cell(row.get(kind)) for kind in columns)] for name, row in rows.items()]
            yield Table("AUC [95 %] by kind of fault; 0.5 is chance", ("check", *columns), aucs)
            checks = {name: self.checks[name] for name in rows if name in self.checks}
            found = [
                [name, *map(_cell, (one.specificity, *map(one.sensitivity.get, columns))), format_number(one.ece)]
                for name, one in checks.items()
            ]
            title = f"sensitivity; threshold fitted for specificity {SPECIFICITY} on the other half of the dialogues;"
            title += " a finding has none"
            yield Table(title, ("check", "specificity", *columns, "ECE"), found)
        together = [
            [form, _cell(one.passed), _cell(one.blamed), format_number(one.chance), format_number(one.f1)]
            for form, one in self.wholes.items()
        ]
        yield Table("all checks together", ("form", "clean passed", "fault blamed", "by chance", "F1"), together)


Forms = Mapping[str, Sequence[Form]]  # by stage


def compute_aucs(cases: Sequence[Case], forms: Forms, seed: int) -> dict[str, dict[str, Measure]]:
    """The AUC of each form of a stage's check, by kind of fault; unmeasured ones are omitted."""
    rows: dict[str, dict[str, Measure]] = {}
    for stage, form in ((stage, form) for stage, able in forms.items() for form in able):
        row = {kind: one for kind in KINDS if (one := auc(*sides(cases, stage, form, kind), seed))}
        rows |= {f"{stage} {form}": row} if row else {}
    return rows


def compute_checks(cases: Sequence[Case], forms: Forms, seed: int) -> tuple[dict[str, Check], dict[str, Whole]]:
    """Each check by "stage form", from the split; and by form the checks of all stages that can have it."""
    made = {(stage, form): measured(cases, stage, form, seed) for stage, able in forms.items() for form in able}
    checks = {key: check for key, check in made.items() if check}
    wholes: dict[str, Whole] = {}
    for form in dict.fromkeys(form for _, form in checks):
        if together := whole(cases, {stage: checks.get((stage, form), Check(form=None)) for stage in forms}, seed):
            wholes[form] = together
    return {f"{stage} {form}": check for (stage, form), check in checks.items()}, wholes


def _cell(one: Measure | None) -> str:
    if one is None:
        return NONE
    return format_number(one.value) + (
        f" [{format_number(one.low)}, {format_number(one.high)}]" if one.low is not None else ""
    )


def read_planted(run: Path, identity: Mapping[str, str]) -> Planted | None:
    """The measurements of the run in folder `run`, or None. Raises RunError if the file cannot be read, or the run has
    changed since."""
    file, again = run / PLANTED, f"mmerg audit {run}"
    try:
        planted = read_record(file, Planted)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        what = f"the planted faults cannot be read, or are of another version: {describe_error(error)}"
        raise RunError(what, where=str(file), hint=again) from error
    if (planted.identity, planted.results) != (identity, results_digest(read_results(run).values())):
        raise RunError("the planted faults are stale: the run has changed since", where=str(file), hint=again)
    return planted
