"""A figure with all that must stand beside it, and the file `scores.json` that keeps a run's.

scores = Scores.model_validate_json((run / SCORES).read_bytes())
scores.scores["acc"].value, scores.scores["acc"].interval, scores.scores["acc"].n
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

SCORES = "scores.json"


class Score(BaseModel):
    """One figure. n: samples it is over. interval: 95 %, by `method` (wilson, bootstrap, …). value None: there is no
    figure, or interval None: `why` says for what reason. Percentages are ×100."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: float | None
    n: int
    interval: tuple[float, float] | None = None
    method: str = ""
    higher_is_better: bool | None = None
    signature: str = ""
    why: str = ""


class Confusion(BaseModel):
    """counts[i][j]: samples whose gold label is labels[i] and whose forecast is labels[j]; failed: without forecast,
    by gold label."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    failed: tuple[int, ...]


class Scores(BaseModel):
    """All figures of a run. `n` counts its finished samples, `failed` those of them that failed, `unfinished` those of
    the protocol that have no result yet. identity is the manifest's, answers a digest of what was scored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    corpus: str
    protocol: str
    engine: str
    n: int
    failed: int
    unfinished: int
    scores: dict[str, Score]
    confusion: Confusion | None = None
    identity: dict[str, str] = {}
    answers: str = ""
