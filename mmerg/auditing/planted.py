"""How well an auditor tells clean passes from planted faults, as `planted.json` in the run's folder keeps it.

In percent, of each stage's own check, and of all checks together:

specificity: clean passes whose check passed (all: every check).
sensitivity: passes with a fault planted in the stage whose check failed (all: any check).
blame: planted passes whose earliest failed check is that of the planted stage.
j: Youden's J (Cancer 1950), sensitivity + specificity - 100, over pairs of a clean and a planted pass of one sample.
0 is an auditor that fails both equally often, as one at random does; 100 makes no mistake.

An audit that cannot be read counts against the auditor: it passes no clean pass and finds nothing planted. Intervals
are Wilson's, of J Newcombe's, with an effective n where dialogues have several cases (see `scoring.intervals`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mmerg.errors import Failure, RunError
from mmerg.judging.figures import mean
from mmerg.runs.folder import read_results
from mmerg.scoring import metric
from mmerg.scoring.paired import Pairs
from mmerg.scoring.score import Score, results_digest
from mmerg.storage.files import why
from mmerg.storage.record import Record, read_record
from mmerg.systems.audit import Audit

PLANTED, ALL = "planted.json", "all"
COLUMNS = {"specificity": "specificity", "sensitivity": "sensitivity", "blame": "blame", "j": "Youden's J"}


class Case(Record):
    """One pass that was audited. stage: where a fault is planted, "" in a clean pass; donor: the sample whose output
    stands there. failure: why the audit cannot be read."""

    sample: str
    dialogue: str
    stage: str = ""
    donor: str = ""
    audit: Audit | None = None
    failure: Failure | None = None

    def fails(self, stage: str) -> bool | None:
        """Whether the check of `stage` failed (ALL: any check); None where the audit cannot be read."""
        if self.audit is None:
            return None
        return self.audit.fault is not None if stage == ALL else not self.audit.findings[stage].passed


class Planted(Record):
    """The planted faults of a run. stages: those to plant in. failed: samples on which a call failed, which count
    nowhere. identity, results: of which state of the run (see `Scores`)."""

    run: str
    auditor: str
    seed: int
    stages: tuple[str, ...]
    failed: int
    figures: dict[str, dict[str, Score]]
    cases: tuple[Case, ...]
    identity: dict[str, str]
    results: str

    @property
    def counted(self) -> str:
        """How many passes were audited, and what is missing; without a full stop."""
        planted = sum(bool(case.stage) for case in self.cases)
        passes = f"{len(self.cases) - planted} clean passes and {planted} with a planted fault"
        unread = sum(case.audit is None for case in self.cases)
        parts = [f"{self.auditor} audited {passes}", f"{unread} of the audits cannot be read"]
        if bare := ", ".join(stage for stage in self.stages if stage not in self.figures):
            parts.append(
                f"there is no fault to plant in {bare}, which gave the same output or emotion in all dialogues"
            )
        if self.failed:
            parts.append(f"{self.failed} samples are left out, as a call failed")
        return "; ".join(parts)


def figures(cases: Sequence[Case], stages: Sequence[str], signature: str) -> dict[str, dict[str, Score]]:
    """The four figures by stage, without stages in which nothing could be planted, and over all of them."""
    clean = {case.sample: case for case in cases if not case.stage}
    by_stage = {}
    for stage in (*stages, ALL):
        planted = [case for case in cases if case.stage and stage in (case.stage, ALL)]
        if planted:
            by_stage[stage] = _figures([(clean[case.sample], case) for case in planted], stage, signature)
    return by_stage


def _figures(pairs: Sequence[tuple[Case, Case]], stage: str, signature: str) -> dict[str, Score]:
    """pairs: a clean pass and a planted one of the same sample; a sample may have several."""
    clean, planted = list({case.sample: case for case, _ in pairs}.values()), [case for _, case in pairs]
    caught = [case.fails(stage) is True for case in planted]
    right = {
        "specificity": (clean, [case.fails(stage) is False for case in clean]),
        "sensitivity": (planted, caught),
        "blame": (planted, [case.audit is not None and case.audit.fault == case.stage for case in planted]),
    }
    scores = {}
    for name, (of, verdicts) in right.items():
        shares, dialogues = [[100.0 * one] for one in verdicts], [case.dialogue for case in of]
        scores[name] = mean(name, shares, dialogues, "wilson", signature, higher_is_better=True)
    failed = np.array([*(case.fails(stage) is not False for case, _ in pairs), *caught], float)
    j = Pairs(metric.mean(100 * failed), [case.dialogue for case in planted])
    ends, method, why = j.newcombe()
    known = {"interval": ends, "method": method, "why": why}
    score = Score(name="j", value=j.observed, n=len(pairs), higher_is_better=True, signature=signature)
    scores["j"] = score.model_copy(update=known)
    return scores


def read_planted(run: Path, identity: Mapping[str, str]) -> Planted | None:
    """The planted faults of the run in folder `run`, None where there are none. Raises RunError where the file cannot
    be read, or is of another state of the run."""
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
