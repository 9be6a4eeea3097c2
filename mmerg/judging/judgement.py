"""What a judge's verdicts come to, as the files keep it.

judgement-<judge's backbone>.json beside a judged run holds a `Judgement`, judgement.json in the folder of a comparison
a `Match`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from mmerg.records.run import replace_file
from mmerg.scoring.score import Score

MATCH = "judgement.json"


class _Judged(BaseModel):
    """judge: the name of its backbone. judging: the folder with the verdicts. n: samples judged; failed: those on which
    a call failed; unjudged: those not come to yet; left_out: those without replies to judge, by reason. verdicts:
    answers asked for on the n samples, of which so many were unusable. identity: what decided the verdicts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str
    engine: str
    judging: str
    corpus: str
    n: int
    failed: int
    unjudged: int
    left_out: dict[str, int]
    verdicts: int
    unusable: int
    identity: dict[str, str]

    def write(self, file: Path) -> None:
        """Write the file, whole or not at all. Raises RunError where it cannot be written."""
        replace_file(file, json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")


class Judgement(_Judged):
    """The ratings of one run, by aspect. self_judged: the judge is the model that wrote the replies."""

    run: str
    protocol: str
    self_judged: bool
    scores: dict[str, Score]


class Match(_Judged):
    """Run A against run B: figures by aspect (see `preferences.FIGURES`), and over all aspects. self_judged: the runs
    whose replies the judge itself wrote."""

    runs: tuple[str, str]
    self_judged: tuple[str, ...]
    aspects: dict[str, dict[str, Score]]
    overall: dict[str, Score]


def judgement_file(backbone: str) -> str:
    """The name of the file beside a judged run."""
    return f"judgement-{backbone}.json"


def same_model(engine: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two engines, as manifests hold them, run one model: the same name, or the same weights under another."""
    return engine["model"] == other["model"] or bool(engine["digest"] and engine["digest"] == other["digest"])
