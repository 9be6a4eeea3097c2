"""A sample's result line in `results.jsonl`, and what of it is comparable between two runs.

Figures are sums over the calls of the sample's last try. `cached_calls` and `seconds` tell how the answer was had, not
what it is: they differ between a run and its replay, all else is equal byte for byte.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from mmerg.errors import Failure

HOW = frozenset({"cached_calls", "seconds"})


class SampleLine(BaseModel):
    """How a sample's line is written and compared, whatever fields it has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def line(self) -> str:
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False) + "\n"

    def comparable(self) -> dict[str, Any]:
        """What two runs with the same replies share."""
        return self.model_dump(mode="json", exclude=set(HOW))


class Result(SampleLine):
    """One line a sample. tokens are the server's counts, seconds our clock from the sample's start to its end.

    gold_response and gold_emotion are the hidden target, for scoring; no prompt sees them. selected_pass counts from 0,
    passes is how many were completed, ended says why the loop stopped, clip_problems counts turns without their frames,
    exemplars are those that any pass was shown, excluded counts what each guard kept back from the memory's best,
    exemplars_problem says why the memory could not be searched.
    """

    id: str
    status: Literal["ok", "failed"]
    dialogue: str = ""
    response: str | None = None
    emotion: str | None = None
    plan: dict[str, Any] | str | None = None
    audit: dict[str, int] | None = None
    selected_pass: int | None = None
    passes: int = 0
    ended: str | None = None
    gold_response: str | None = None
    gold_emotion: str | None = None
    clip_problems: int = 0
    exemplars: int = 0
    excluded: dict[str, int] = {}
    exemplars_problem: str | None = None
    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    response_tokens: int = 0
    seconds: float = 0.0
    failure: Failure | None = None
    failure_text: str | None = None
