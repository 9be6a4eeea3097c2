"""A sample's line in `results.jsonl`: its outputs, and all that tables and metrics need of it.

Sums are over the calls of the sample's last try. `cached_calls`, `seconds` and `timing` tell how the answer was had,
not what it is: they differ between a run and its replay, all else is equal byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from mmerg.errors import Failure
from mmerg.runs.events import Count, Fact, Form, Seconds, Verdict
from mmerg.runs.events import Ended as LoopEnd

HOW = frozenset({"cached_calls", "seconds", "timing"})


class SampleLine(Fact):
    """How a sample's line is written and compared, whatever else it holds."""

    id: str
    status: Literal["ok", "failed"]
    dialogue: str = ""

    def line(self) -> str:
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False) + "\n"

    def comparable(self) -> dict[str, object]:
        """What two runs with the same replies share."""
        return self.model_dump(mode="json", exclude=set(HOW))


class Timing(Fact):
    """How fast a model answered the calls that no cache had. prompt_tokens: without those that the server's prefix
    cache served; prompt_seconds: their evaluation; reply_rates: tokens a second, one a call whose server tells it."""

    calls: Count = 0
    prompt_tokens: Count = 0
    prompt_seconds: Seconds = 0.0
    reply_rates: tuple[Seconds, ...] = ()


class Result(SampleLine):
    """One line a sample. tokens are the server's counts, seconds our clock from the sample's start to its end.

    gold_response and gold_emotion are the hidden target, for scoring; no prompt sees them. selected_pass counts from 0,
    passes is how many were completed, repeated_passes how many of them gave what the one before gave, ended says why
    the loop stopped.

    logprob: the sum of the natural logarithms of the response's own tokens, logprob_tokens how many these are (see
    `tokens`); None with tokens where one of them is no logarithm of a probability.

    turns_looked_at: history turns whose clips were looked for, frames: how many keyframes they gave, frames_form: how
    these were shown, clip_problems: how many of the turns went without.

    exemplars are those that any pass was shown, excluded counts what each guard kept back from the memory's best,
    exemplars_problem says why the memory could not be searched.

    history: (speaker, text) of the turns that were shown, responder: who replies.
    """

    response: str | None = None
    emotion: str | None = None
    plan: Mapping[str, object] | str | None = None
    audit: dict[str, int] | None = None
    selected_pass: Count | None = None
    passes: Count = 0
    repeated_passes: Count = 0
    ended: LoopEnd | None = None
    gold_response: str | None = None
    gold_emotion: str | None = None
    turns_looked_at: Count = 0
    frames: Count = 0
    frames_form: Form | None = None
    clip_problems: Count = 0
    exemplars: Count = 0
    excluded: dict[str, Count] = Field(default_factory=dict)
    exemplars_problem: str | None = None
    calls: Count = 0
    cached_calls: Count = 0
    prompt_tokens: Count = 0
    response_tokens: Count = 0
    logprob: Annotated[float, Field(le=1e4)] | None = None
    logprob_tokens: Count = 0
    seconds: Seconds = 0.0
    timing: Timing = Timing()
    failure: Failure | None = None
    failure_text: str | None = None
    responder: str = ""
    history: tuple[tuple[str, str], ...] = ()


class Verdicts(SampleLine):
    """A judge's verdicts on a finished sample, a line in `verdicts.jsonl` of a judging folder; failed where a call
    failed, so that no verdict on it counts."""

    verdicts: tuple[Verdict, ...] = ()
    calls: Count = 0
    cached_calls: Count = 0
    prompt_tokens: Count = 0
    response_tokens: Count = 0
    seconds: Seconds = 0.0
    failure: Failure | None = None
    failure_text: str | None = None


class Ended(Fact):
    """How one start of a run ended: what a sweep's report adds up. samples and failed: what was asked for. calls: what
    these samples took, however they were had; made: the calls of them that this start had to make. kept: samples that
    were finished before."""

    run: str
    samples: int
    failed: int
    kept: int
    calls: int
    made: int

    @classmethod
    def of(cls, path: Path, results: Collection[Result], kept: int, made: int) -> Ended:
        """Of the run in folder `path` with these results, `kept` of them from before, `made` calls made now."""
        failed = sum(result.status == "failed" for result in results)
        calls = sum(result.calls for result in results)
        return cls(run=str(path), samples=len(results), failed=failed, kept=kept, calls=calls, made=made)

    @property
    def code(self) -> int:
        """The exit code: 0 all fine, 1 some samples failed."""
        return 1 if self.failed else 0
