"""Runs for a report's tests, written through the real `Run` and `Trace`: corrected, failed, kept, hostile samples.

folder = build(tmp_path / "run", [Told("d0/4", passes=("0111", "1111"))])
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mmerg.backends.protocol import Finish, Reply
from mmerg.errors import Failure
from mmerg.frames.picture import to_jpeg
from mmerg.frames.store import Frame
from mmerg.runs import events
from mmerg.runs.folder import Run
from mmerg.runs.result import Result
from mmerg.systems.audit import Audit, Verdict
from tests.scoring.run_builder import AT, LABELS, make_manifest, record_sample, result

STAGES = {"mpa": "E", "caef": "e", "psp": "P", "sgrg": "R"}
HISTORY = (("Ana", "I did not get the job."), ("Ben", "Oh no."), ("Ana", "It's fine. Really."))
STEERING = "\u202e gnp.exe\u202c \x00 \x1b[2J"
HOSTILE = (
    f'"><img src=x onerror="window.__pwned=1"><script>window.__pwned=1;alert(1)</script></script><!--{STEERING}'
    "<a href=\"javascript:window.__pwned=1\">javascript:window.__pwned=1</a> {{ 7*7 }} {% raw %} ' onfocus='x "
    "<iframe src=https://example.com></iframe><style>*{display:none}</style><base href=//example.com>"
)
HOSTILE_IDS = (
    f"<script>window.__pwned=1</script>{STEERING}/1",
    "../../../../etc/passwd",
    "CON",
    "con",
    "dia\u00e9/\u4f60\u597d/1",
    "x" * 4000,
    "a/1",
    "A/1",
    "",
)


@dataclass(frozen=True)
class Told:
    """A sample to be. passes: the checks of each pass, "0111" where the first failed; a pass "x" has an audit that
    cannot be read, and where `failure` is set the sample fails in its last pass's second stage. mended: the stage whose
    first reply is refused, and the next one taken. cleaned: what was taken off the response of each pass."""

    id: str
    passes: tuple[str, ...] = ("1111",)
    emotion: str = "sadness"
    gold: str | None = "sadness"
    mark: str = ""
    failure: Failure | None = None
    mended: str = ""
    cleaned: tuple[str, ...] = ()
    frames: int = 3
    history: tuple[tuple[str, str], ...] = HISTORY


@cache
def jpeg(number: int) -> bytes:
    """A picture of one colour, another one for each number."""
    picture = np.full((108, 192, 3), (40 * number % 200 + 30, 90, 160), np.uint8)
    picture[::6] = 40 + number % 200
    return to_jpeg(picture, 80)


def sha(number: int) -> str:
    return hashlib.sha256(jpeg(number)).hexdigest()


def build(folder: Path, told: Sequence[Told], **manifest: Any) -> Path:
    """A run folder with these samples; manifest: see `make_manifest`."""
    results = [result_of(one) for one in told]
    with Run(folder, make_manifest(results, **manifest)) as run:
        for one, made in zip(told, results, strict=True):
            for number in range(1, one.frames + 1):
                run.keep_frame(sha(number), lambda number=number: jpeg(number))  # type: ignore[misc]
            record_sample(run, made, events_of(one))
        run.seal([one.id for one in told])
    return folder


def rank_of(checks: str, t: int) -> tuple[int, ...]:
    return (*map(int, checks), -t)


def selected_of(told: Told) -> int:
    ranks = {t: rank_of(checks, t) for t, checks in enumerate(told.passes) if checks != "x"}
    return max(ranks, key=lambda t: ranks[t])


def result_of(told: Told) -> Result:
    if told.failure:
        return result(
            told.id, None, gold=told.gold, failure=told.failure, failure_text=f"the reply was cut {told.mark}"
        )
    t = selected_of(told)
    return result(
        told.id,
        reply_of(told, t),
        told.emotion,
        gold=told.gold,
        gold_response=f"You were the best of them. {told.mark}",
        selected_pass=t,
        passes=len(told.passes),
        ended="unaudited" if "x" in told.passes else "passed" if "0" not in told.passes[-1] else "max_iterations",
        audit=dict(zip(STAGES, map(int, told.passes[t]), strict=True)),
        plan=outputs(told, t)["psp"],
        excluded={"same reply": 1},
        cleaned=dict.fromkeys(told.cleaned, len(told.passes)),
        exemplars=1,
        prompt_tokens=1000,
        response_tokens=100,
        seconds=2.5,
    )


def reply_of(told: Told, t: int) -> str:
    texts = ("That is fine then, let us go and eat.", "That must hurt. Do you want to talk about it?")
    return f"{texts[min(t, 1)]}{' Now.' * max(0, t - 1)} {told.mark}".strip()


def outputs(told: Told, t: int) -> Mapping[str, Any]:
    """What each stage says in pass t."""
    seen = "looks at the camera" if t == 0 else "looks down and away from the camera"
    return {
        "mpa": {
            "textual_cues": [{"turn": 3, "cue": f"“Really.” is said after a full stop {told.mark}"}],
            "visual_cues": [{"frame": 2, "cue": f"she {seen}"}] * bool(told.frames),
        },
        "caef": {
            "textual": "she says that it is fine",
            "visual": "her face is sad",
            "consistency": "conflict",
            "reasoning": f"the face outweighs the words {told.mark}",
            "emotion": "joy" if t == 0 and len(told.passes) > 1 else told.emotion,
        },
        "psp": {
            "reasoning": "she needs to be heard before she needs advice",
            "goal": "comfort",
            "stance": "warm",
            "tactic": "question",
            "tone": "gentle",
        },
        "sgrg": reply_of(told, t),
    }


def events_of(told: Told) -> list[events.Event]:
    """The whole trace of a sample."""
    shots = tuple(
        Frame(sha256=sha(n), source=f"{told.mark or 'clip'}_{n}.mp4", time=n / 2, width=192, height=108)
        for n in range(1, told.frames + 1)
    )
    turns = (events.TurnFrames(turn=2, problem="missing"), events.TurnFrames(turn=3, frames=shots))
    found: list[events.Event] = [
        events.SampleStarted(sample=told.id, at=AT, dialogue="d", history=told.history, responder="Ben", labels=LABELS),
        events.FramesTaken(sample=told.id, at=AT, form="images", turns=turns),
    ]
    first = 0
    for t, checks in enumerate(told.passes):
        last = t == len(told.passes) - 1
        for stage in list(STAGES)[first:]:
            if told.failure and last and stage == "caef":
                return [*found, *_failing(told, t)]
            found += _stage(told, t, stage)
        found.append(called(told, "gra", t, "{…}"))
        if checks == "x":
            found.append(events.Unaudited(sample=told.id, at=AT, t=t, failure=Failure.SCHEMA_INVALID, what="no JSON"))
            break
        findings = {
            stage: Verdict(reason=f"{stage} was looked at", passed=one == "1", correction="" if one == "1" else "mend")
            for stage, one in zip(STAGES, checks, strict=True)
        }
        audit = Audit(findings=findings)
        found.append(events.Audited(sample=told.id, at=AT, t=t, audit=audit, checks=audit.checks, fault=audit.fault))
        if audit.fault and not last:
            first = list(STAGES).index(audit.fault)
            found.append(
                events.Rerun(
                    sample=told.id,
                    at=AT,
                    t=t + 1,
                    stage=audit.fault,
                    reason=f"what is said of the face is wrong {told.mark}",
                    correction="look at frame 2 again",
                )
            )
    ranks = {t: rank_of(checks, t) for t, checks in enumerate(told.passes) if checks != "x"}
    ended: events.LoopEnd = "unaudited" if "x" in told.passes else "passed"
    found.append(events.Selected(sample=told.id, at=AT, t=selected_of(told), ranks=ranks, ended=ended))
    return [*found, events.SampleDone(sample=told.id, at=AT)]


def _stage(told: Told, t: int, stage: str) -> list[events.Event]:
    output = outputs(told, t)[stage]
    found: list[events.Event] = []
    if stage == "sgrg":
        exemplar = {
            "id": "m/3",
            "from": "demo memory",
            "similarity": 0.612,
            "history": [{"speaker": "Wren", "text": f"I lost it. {told.mark}"}],
            "reply": f"That is a loss. {told.mark}",
            "emotion": "sadness",
        }
        kept = events.Excluded(id="m/9", guard="same reply", similarity=0.93, reply=f"You were the best. {told.mark}")
        found.append(
            events.Supplied(sample=told.id, at=AT, t=t, stage=stage, symbol="M", content=(exemplar,), excluded=(kept,))
        )
    attempt = int(told.mended == stage and t == 0)
    if attempt:
        found += [called(told, stage, t, "{"), refused(told, stage, t, Failure.SCHEMA_INVALID)]
    found.append(called(told, stage, t, str(output), attempt))
    if told.cleaned and stage == "sgrg":
        found.append(events.Cleaned(sample=told.id, at=AT, t=t, stage=stage, attempt=attempt, taken=told.cleaned))
    return [*found, events.Produced(sample=told.id, at=AT, t=t, stage=stage, symbol=STAGES[stage], output=output)]


def _failing(told: Told, t: int) -> list[events.Event]:
    assert told.failure
    return [
        called(told, "caef", t, "{"),
        refused(told, "caef", t, told.failure),
        events.SampleFailed(
            sample=told.id,
            at=AT,
            failure=told.failure,
            what=f"the reply was cut {told.mark}",
            where=f"caef, pass {t}",
            hint="give the stage more tokens",
        ),
    ]


def refused(told: Told, stage: str, t: int, failure: Failure, attempt: int = 0) -> events.Refused:
    return events.Refused(
        sample=told.id, at=AT, t=t, stage=stage, attempt=attempt, failure=failure, complaint=f"cut {told.mark}"
    )


def called(told: Told, stage: str, t: int, text: str, attempt: int = 0) -> events.Called:
    images = tuple(sha(number) for number in range(1, told.frames + 1)) if stage in ("mpa", "caef", "gra") else ()
    shared = "You are one of five agents. " * 20
    return events.Called(
        sample=told.id,
        at=AT,
        t=t,
        stage=stage,
        attempt=attempt,
        digest="0" * 64,
        messages=(
            events.TracedMessage(role="system", text=shared),
            events.TracedMessage(role="user", text=f"Your step: {stage} {told.mark}", images=images),
        ),
        answer_schema='{"type":"object"}',
        sampling={"seed": 0, "stop": ("\n",)},
        logprobs=False,
        reply=Reply(
            text=text, finish=Finish.STOP, prompt_tokens=200, response_tokens=20, seconds=0.5, host="http://127.0.0.1"
        ),
    )


USUAL = (
    Told("d0/4", ("0111", "1101", "1111")),
    Told("d0/5", ("0111", "1000"), "joy"),
    Told("d1/4", mended="psp"),
    Told("d1/5", ("0111", "1111"), failure=Failure.TRUNCATED),
    Told("d2/4", ("1101", "0111"), gold=None),
    Told("d2/5", ("1101", "x"), frames=0),
    Told("d3/1", failure=Failure.SCHEMA_INVALID),
)
