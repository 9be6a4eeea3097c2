"""How one start of a run ended, in figures: what a sweep's report adds up.

Ended.of(path, results, made=12).calls
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from mmerg.runs.result import Result


class Ended(BaseModel):
    """samples and failed: what was asked for. calls: what these samples took, however they were had; made: the calls of
    them that this start had to make. kept: samples that were finished before."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    samples: int
    failed: int
    kept: int
    calls: int
    made: int

    @classmethod
    def of(cls, path: Path, results: Collection[Result], kept: int, made: int) -> Ended:
        """Of the run in folder `path` with these results, `kept` of them from before, `made` calls made now."""
        return cls(
            run=str(path),
            samples=len(results),
            failed=sum(result.status == "failed" for result in results),
            kept=kept,
            calls=sum(result.calls for result in results),
            made=made,
        )

    @property
    def code(self) -> int:
        """The exit code: 0 all fine, 1 some samples failed."""
        return 1 if self.failed else 0
