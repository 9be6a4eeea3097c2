"""Runs for tests of reports, written through the real `Run`: rerun, failed, kept and hostile samples.

folder = build(tmp_path / "run", [SampleSpec("d0/4", passes=("0111", "1111"))])
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mmerg.backends.protocol import Completion, Finish
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
class SampleSpec:
    """A sample of a run to build."""

    id: str
    passes: tuple[str, ...] = ("1111",)  # the checks of each, such as "0111" if the first failed; "x": unreadable
    emotion: str = "sadness"
    gold: str | None = "sadness"
    mark: str = ""  # put into all texts
    failure: Failure | None = None  # in the second stage of its last pass
    mended: str = ""  # the stage whose first completion is refused, and whose second is accepted
    cleaned: tuple[str, ...] = ()  # what is removed from the response of each pass
    frames: int = 3  # number of keyframes
    history: tuple[tuple[str, str], ...] = HISTORY


@cache
def jpeg(number: int) -> bytes:
    """Makes a picture, a different one for each number."""
    picture = np.full((108, 192, 3), (40 * number % 200 + 30, 90, 160), np.uint8)
    picture[::6] = 40 + number % 200
    return to_jpeg(picture, 80)


def sha(number: int) -> str:
    return hashlib.sha256(jpeg(number)).hexdigest()


def build(folder: Path, specs: Sequence[SampleSpec], **manifest: Any) -> Path:
    """Builds a run folder with these samples. manifest: see `make_manifest`."""
    results = [make_result(spec) for spec in specs]
    with Run(folder, make_manifest(results, **manifest)) as run:
        for spec, sample_result in zip(specs, results, strict=True):
            for number in range(1, spec.frames + 1):
                run.keep_frame(sha(number), lambda number=number: jpeg(number))  # type: ignore[misc]
            record_sample(run, sample_result, make_events(spec))
        run.seal([spec.id for spec in specs])
    return folder


def get_rank(checks: str, t: int) -> tuple[int, ...]:
    return (*map(int, checks), -t)


def select_pass(spec: SampleSpec) -> int:
    ranks = {t: get_rank(checks, t) for t, checks in enumerate(spec.passes) if checks != "x"}
    return max(ranks, key=lambda t: ranks[t])


def make_result(spec: SampleSpec) -> Result:
    if spec.failure:
        return result(
            spec.id, None, gold=spec.gold, failure=spec.failure, failure_text=f"the completion was cut {spec.mark}"
        )
    t = select_pass(spec)
    return result(
        spec.id,
        get_reply(spec, t),
        spec.emotion,
        gold=spec.gold,
        gold_response=f"You were the best of them. {spec.mark}",
        selected_pass=t,
        passes=len(spec.passes),
        ended="unaudited" if "x" in spec.passes else "passed" if "0" not in spec.passes[-1] else "max_iterations",
        audit=dict(zip(STAGES, map(int, spec.passes[t]), strict=True)),
        plan=outputs(spec, t)["psp"],
        excluded={"same reply": 1},
        cleaned=dict.fromkeys(spec.cleaned, len(spec.passes)),
        exemplars=1,
        prompt_tokens=1000,
        response_tokens=100,
        seconds=2.5,
    )


def get_reply(spec: SampleSpec, t: int) -> str:
    texts = ("That is fine then, let us go and eat.", "That must hurt. Do you want to talk about it?")
    return f"{texts[min(t, 1)]}{' Now.' * max(0, t - 1)} {spec.mark}".strip()


def outputs(spec: SampleSpec, t: int) -> Mapping[str, Any]:
    """Returns the output of each stage in pass t."""
    seen = "looks at the camera" if t == 0 else "looks down and away from the camera"
    return {
        "mpa": {
            "textual_cues": [{"turn": 3, "cue": f"“Really.” is said after a full stop {spec.mark}"}],
            "visual_cues": [{"frame": 2, "cue": f"she {seen}"}] * bool(spec.frames),
        },
        "caef": {
            "textual": "she says that it is fine",
            "visual": "her face is sad",
            "consistency": "conflict",
            "reasoning": f"the face outweighs the words {spec.mark}",
            "emotion": "joy" if t == 0 and len(spec.passes) > 1 else spec.emotion,
        },
        "psp": {
            "reasoning": "she needs to be heard before she needs advice",
            "goal": "comfort",
            "stance": "warm",
            "tactic": "question",
            "tone": "gentle",
        },
        "sgrg": get_reply(spec, t),
    }


def make_events(spec: SampleSpec) -> list[events.Event]:
    shots = tuple(
        Frame(sha256=sha(n), source=f"{spec.mark or 'clip'}_{n}.mp4", time=n / 2, width=192, height=108)
        for n in range(1, spec.frames + 1)
    )
    turns = (events.TurnFrames(turn=2, problem="missing"), events.TurnFrames(turn=3, frames=shots))
    trace: list[events.Event] = [
        events.SampleStarted(sample=spec.id, at=AT, dialogue="d", history=spec.history, responder="Ben", labels=LABELS),
        events.FramesTaken(sample=spec.id, at=AT, form="images", turns=turns),
    ]
    first = 0
    for t, checks in enumerate(spec.passes):
        last = t == len(spec.passes) - 1
        for stage in list(STAGES)[first:]:
            if spec.failure and last and stage == "caef":
                return [*trace, *_failing(spec, t)]
            trace += _stage(spec, t, stage)
        trace.append(called(spec, "gra", t, "{…}"))
        if checks == "x":
            trace.append(events.Unaudited(sample=spec.id, at=AT, t=t, failure=Failure.SCHEMA_INVALID, what="no JSON"))
            break
        findings = {
            stage: Verdict(
                reason=f"{stage} was looked at", passed=check == "1", correction="" if check == "1" else "mend"
            )
            for stage, check in zip(STAGES, checks, strict=True)
        }
        audit = Audit(findings=findings)
        trace.append(events.Audited(sample=spec.id, at=AT, t=t, audit=audit, checks=audit.checks, fault=audit.fault))
        if audit.fault and not last:
            first = list(STAGES).index(audit.fault)
            trace.append(
                events.Rerun(
                    sample=spec.id,
                    at=AT,
                    t=t + 1,
                    stage=audit.fault,
                    reason=f"what is said of the face is wrong {spec.mark}",
                    correction="look at frame 2 again",
                )
            )
    ranks = {t: get_rank(checks, t) for t, checks in enumerate(spec.passes) if checks != "x"}
    ended: events.LoopEnd = "unaudited" if "x" in spec.passes else "passed"
    trace.append(events.Selected(sample=spec.id, at=AT, t=select_pass(spec), ranks=ranks, ended=ended))
    return [*trace, events.SampleDone(sample=spec.id, at=AT)]


def _stage(spec: SampleSpec, t: int, stage: str) -> list[events.Event]:
    output = outputs(spec, t)[stage]
    trace: list[events.Event] = []
    if stage == "sgrg":
        exemplar = {
            "id": "m/3",
            "from": "demo memory",
            "similarity": 0.612,
            "history": [{"speaker": "Wren", "text": f"I lost it. {spec.mark}"}],
            "reply": f"That is a loss. {spec.mark}",
            "emotion": "sadness",
        }
        kept = events.Excluded(id="m/9", guard="same reply", similarity=0.93, reply=f"You were the best. {spec.mark}")
        trace.append(
            events.Supplied(sample=spec.id, at=AT, t=t, stage=stage, symbol="M", content=(exemplar,), excluded=(kept,))
        )
    attempt = int(spec.mended == stage and t == 0)
    if attempt:
        trace += [called(spec, stage, t, "{"), refused(spec, stage, t, Failure.SCHEMA_INVALID)]
    trace.append(called(spec, stage, t, str(output), attempt))
    if spec.cleaned and stage == "sgrg":
        trace.append(events.Cleaned(sample=spec.id, at=AT, t=t, stage=stage, attempt=attempt, removed=spec.cleaned))
    return [*trace, events.Produced(sample=spec.id, at=AT, t=t, stage=stage, symbol=STAGES[stage], output=output)]


def _failing(spec: SampleSpec, t: int) -> list[events.Event]:
    assert spec.failure
    return [
        called(spec, "caef", t, "{"),
        refused(spec, "caef", t, spec.failure),
        events.SampleFailed(
            sample=spec.id,
            at=AT,
            failure=spec.failure,
            what=f"the completion was cut {spec.mark}",
            where=f"caef, pass {t}",
            hint="give the stage more tokens",
        ),
    ]


def refused(spec: SampleSpec, stage: str, t: int, failure: Failure, attempt: int = 0) -> events.Refused:
    return events.Refused(
        sample=spec.id, at=AT, t=t, stage=stage, attempt=attempt, failure=failure, complaint=f"cut {spec.mark}"
    )


def called(spec: SampleSpec, stage: str, t: int, text: str, attempt: int = 0) -> events.Called:
    images = tuple(sha(number) for number in range(1, spec.frames + 1)) if stage in ("mpa", "caef", "gra") else ()
    shared = "You are one of five agents. " * 20
    return events.Called(
        sample=spec.id,
        at=AT,
        t=t,
        stage=stage,
        attempt=attempt,
        digest="0" * 64,
        messages=(
            events.TracedMessage(role="system", text=shared),
            events.TracedMessage(role="user", text=f"Your step: {stage} {spec.mark}", images=images),
        ),
        answer_schema='{"type":"object"}',
        sampling={"seed": 0, "stop": ("\n",)},
        logprobs=False,
        completion=Completion(
            text=text, finish=Finish.STOP, prompt_tokens=200, response_tokens=20, seconds=0.5, host="http://127.0.0.1"
        ),
    )


USUAL = (
    SampleSpec("d0/4", ("0111", "1101", "1111")),
    SampleSpec("d0/5", ("0111", "1000"), "joy"),
    SampleSpec("d1/4", mended="psp"),
    SampleSpec("d1/5", ("0111", "1111"), failure=Failure.TRUNCATED),
    SampleSpec("d2/4", ("1101", "0111"), gold=None),
    SampleSpec("d2/5", ("1101", "x"), frames=0),
    SampleSpec("d3/1", failure=Failure.SCHEMA_INVALID),
)
