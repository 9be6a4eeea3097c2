"""The output of an auditor, and the checks and label frequencies that `mmerg audit` measures.

An auditor gives a finding for each audited stage. Code computes the fault from the findings (MERG, arXiv 2604.18988,
section 3: GRA).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import log
from typing import Annotated, Any

from pydantic import BaseModel, Field, FiniteFloat, create_model, model_validator

from mmerg.settings.model import Form
from mmerg.storage.record import Record
from mmerg.systems.fields import AtMost


class Finding(Record):
    """The auditor's finding on one stage: the reason, the verdict, and what to improve."""

    reason: Annotated[str, AtMost(30), Field(min_length=1, description="what you checked and what you found")]
    passed: Annotated[bool, Field(description="true if the check passes, false if it fails")]
    correction: Annotated[
        str, AtMost(30), Field(description="if it fails, the instruction that fixes it; otherwise empty")
    ]

    @model_validator(mode="after")
    def _failing_says_how(self) -> Finding:
        if not self.passed and not self.correction.strip():
            raise ValueError("a check that fails needs a correction")
        return self


class Verdict(Finding):
    """A finding as it is stored, with the form of the check, and its score if it has one."""

    form: Form = Field(default="finding", exclude_if=lambda form: form == "finding")
    score: float | None = Field(default=None, exclude_if=lambda score: score is None)


class Measure(Record):
    """A score with its 95 % interval over `n` dialogues."""

    value: float
    low: float
    high: float
    n: int


class Check(Record):
    """How a stage is checked, and how well that detects faults.

    slope × score + intercept is the log-likelihood ratio of a clean output over a faulty one. The metrics are from
    dialogues that were not used to fit slope, intercept and threshold.
    """

    form: Form | None = "finding"  # None if no form detects the stage's faults better than chance; then `why` says so
    why: str = ""
    threshold: FiniteFloat = 0.0  # a score below it fails
    slope: FiniteFloat | None = None  # None if not measured
    intercept: FiniteFloat = 0.0
    auc: dict[str, Measure] = Field(default_factory=dict)  # by kind of fault
    specificity: Measure | None = None
    sensitivity: dict[str, Measure] = Field(default_factory=dict)  # by kind of fault
    ece: float | None = None  # the expected calibration error
    decoys: tuple[Any, ...] = ()  # the outputs with which form=comparison compares

    def log_likelihood_ratio(self, verdict: Verdict) -> float | None:
        """Returns the log-likelihood ratio of clean over faulty; None if not measured. A verdict without a score counts
        as 1 if it passed, and as -1 if it failed."""
        if self.slope is None:
            return None
        score = verdict.score
        if score is None:
            score = 1.0 if verdict.passed else -1.0
        return self.slope * score + self.intercept


class LabelPrior(Record):
    """Batch calibration (Zhou et al., 2023, arXiv 2309.17249) with label frequencies."""

    corpus: str  # on which the prior was measured
    fingerprint: str
    n: int  # scenes
    mean: dict[str, float]  # mean log-probability of each label over these scenes, whatever their correct labels
    counts: dict[str, int]  # how often each label is correct in these scenes

    def calibrate(self, logprobs: Mapping[str, float]) -> dict[str, float]:
        """Returns the score of each label: log p minus its mean, plus the log of its frequency (add-one smoothing)."""
        total = sum(self.counts.values()) + len(self.mean)
        return {
            label: value - self.mean[label] + log((self.counts.get(label, 0) + 1) / total)
            for label, value in logprobs.items()
        }


class Audit(Record):
    """The findings of one pass, in stage order."""

    findings: dict[str, Verdict]

    @property
    def checks(self) -> tuple[int, ...]:
        """(c1, c2, …): 1 for a check that passed, 0 for one that failed."""
        return tuple(int(finding.passed) for finding in self.findings.values())

    @property
    def fault(self) -> str | None:
        """a*: the name of the earliest stage whose check failed; None if all passed."""
        return next((name for name, finding in self.findings.items() if not finding.passed), None)


@cache
def make_audit_class(stages: tuple[str, ...]) -> type[BaseModel]:
    """Makes the class of an auditor's output, which has a `Finding` for each stage."""
    fields: dict[str, tuple[type[Finding], object]] = dict.fromkeys(stages, (Finding, ...))
    model: type[BaseModel] = create_model("AuditOutput", __base__=Record, **fields)  # type: ignore[call-overload]
    return model


def to_audit(output: BaseModel) -> Audit:
    return Audit(findings={name: Verdict.model_validate(dict(finding)) for name, finding in output})
