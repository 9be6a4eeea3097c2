"""What an auditor answers: a finding for each audited stage, and the fault that code computes from them (MERG, arXiv
2604.18988, section 3: GRA)."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import BaseModel, Field, create_model, model_validator

from mmerg.storage.record import Record
from mmerg.systems.fields import AtMost


class Finding(Record):
    """The auditor's finding on one stage: reason first, then the verdict, then what to do better."""

    reason: Annotated[str, AtMost(30), Field(min_length=1, description="what you checked and what you found")]
    passed: Annotated[bool, Field(description="true if the check holds, false if it fails")]
    correction: Annotated[
        str, AtMost(30), Field(description="if it fails, the instruction that mends it; otherwise empty")
    ]

    @model_validator(mode="after")
    def _failing_says_how(self) -> Finding:
        if not self.passed and not self.correction.strip():
            raise ValueError("a check that fails needs a correction")
        return self


class Audit(Record):
    """The findings of one pass, in stage order."""

    findings: dict[str, Finding]

    @property
    def checks(self) -> tuple[int, ...]:
        """(c1, c2, …): 1 where the check passed."""
        return tuple(int(finding.passed) for finding in self.findings.values())

    @property
    def fault(self) -> str | None:
        """a*: the name of the earliest stage whose check failed, None if all passed."""
        return next((name for name, finding in self.findings.items() if not finding.passed), None)


@cache
def audit_class(stages: tuple[str, ...]) -> type[BaseModel]:
    """The class of an auditor's reply: a `Finding` for each stage."""
    fields: dict[str, tuple[type[Finding], object]] = dict.fromkeys(stages, (Finding, ...))
    model: type[BaseModel] = create_model("AuditReply", __base__=Record, **fields)  # type: ignore[call-overload]
    return model


def audit_of(reply: BaseModel) -> Audit:
    """The `Audit` in an auditor's validated reply."""
    return Audit(findings=dict(reply))
