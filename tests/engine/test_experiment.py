"""One sample from its clips to its result, failed or not, alone and in parallel."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.protocol import Backend, Completion, Finish, Request, Sampling
from mmerg.backends.scripted import ENGINE, Scripted, ScriptItem
from mmerg.corpora.dialogue import Clip, Sample, Turn
from mmerg.engine.keyframes import KeyframeSampler
from mmerg.engine.parallel import run_in_threads
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Experiment
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import State
from mmerg.errors import CallError, Failure
from mmerg.frames.store import FrameStore
from mmerg.runs import events
from mmerg.runs.result import Result
from mmerg.settings.model import FramesSettings
from mmerg.systems.system import System
from tests.engine.parts import SCENE, STAGES, as_text, audit, fill_schema, find_stage, merg, outputs
from tests.frames.clips import numbered
from tests.run_folders import comparable
from tests.scripted_ollama import PLAN

SAMPLE = Sample(SCENE, "d1", Turn("Ben", "SECRET words", "sadness"))


def answer(request: Request) -> str:
    """A valid completion of the stage; every check passes."""
    stage = find_stage(request)
    if stage == "gra":
        return as_text(audit(dict.fromkeys(STAGES, True)))
    output = outputs()[stage]
    return output if isinstance(output, str) else fill_schema(output.model_dump(), json.loads(request.schema))


def scripted(**instead: Callable[[Request], ScriptItem]) -> Scripted:
    """A backend with valid completions, except for the named stages."""
    return Scripted(lambda request: instead.get(find_stage(request), answer)(request))


@dataclass(frozen=True)
class Always:
    """A source with the same output for every sample."""

    given: SourceOutput
    digest: str = "1"

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput:
        return self.given


class Lab:
    """Runs samples, and stores their events and frames."""

    def __init__(self, folder: Path, system: System | None = None) -> None:
        system = system or merg()
        self.experiment = Experiment(
            prompts=Prompts(system),
            sampler=KeyframeSampler(
                FramesSettings(per_clip=2, long_side=96, last_turns=3), FrameStore(folder / "frames")
            ),
            sampling=Sampling(seed=3),
            engine=ENGINE,
            max_images=8,
        )
        self.events: list[events.Event] = []
        self.kept: dict[str, bytes] = {}

    def __call__(self, backend: Backend, sample: Sample = SAMPLE) -> Result:
        return self.experiment.run_sample(sample, backend, self.events.append, self.keep)

    def keep(self, sha256: str, read: Callable[[], bytes]) -> None:
        self.kept[sha256] = read()

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_frames_are_stored_before_their_event(lab: Lab, tmp_path: Path) -> None:
    numbered(tmp_path / "c.mp4", 10)
    turns = (Turn("Ana", "It's fine.", clip=Clip(tmp_path / "c.mp4")),)
    kept: list[bool] = []

    def emit(event: events.Event) -> None:
        if isinstance(event, events.FramesTaken):
            kept.extend(frame.sha256 in lab.kept for turn in event.turns for frame in turn.frames)

    lab.experiment.run_sample(Sample(replace(SCENE, history=turns), "d1", Turn("Ben", "x")), scripted(), emit, lab.keep)
    assert kept == [True, True]


def test_a_finished_sample_has_a_complete_result(lab: Lab) -> None:
    backend = scripted()
    result = lab(backend)
    assert result.model_dump(exclude={"seconds", "timing", "logprob", "logprob_tokens"}) == {
        "id": "d1/4",
        "dialogue": "d1",
        "status": "ok",
        "response": "That must hurt.",
        "emotion": "sadness",
        "plan": {"reasoning": "needs comfort", **PLAN},
        "audit": dict.fromkeys(STAGES, 1),
        "selected_pass": 0,
        "passes": 1,
        "ended": "passed",
        "gold_response": "SECRET words",
        "gold_emotion": "sadness",
        "repeated_passes": 0,
        "forecasts": (),
        "handed_on": {},
        "label_logprobs": {},
        "copied": {},
        "digest": "",
        "cleaned": {},
        "turns_searched": 3,
        "frames": 0,
        "frames_form": "none",
        "clip_problems": 0,
        "exemplars": 0,
        "excluded": {},
        "exemplars_problem": None,
        "calls": 5,
        "cached_calls": 0,
        "prompt_tokens": sum(len(m.text.split()) for request in backend.requests for m in request.messages),
        "response_tokens": sum(event.completion.response_tokens for event in lab.events if event.kind == "called"),
        "failure": None,
        "failure_text": None,
        "responder": SAMPLE.scene.responder,
        "history": tuple((turn.speaker, turn.text) for turn in SAMPLE.scene.history),
    }
    assert result.seconds >= 0
    assert result.timing.calls == 5
    assert (result.logprob, result.logprob_tokens) == (-3.0, 3)  # the scripted engine gives -1 a word
    assert [find_stage(request) for request in backend.requests] == [*STAGES, "gra"]
    assert lab.kinds() == [
        *("sample_started", "frames_taken"),
        *("called", "produced") * 4,
        *("called", "audited", "selected", "sample_done"),
    ]


def test_a_stage_may_see_several_sources(lab: Lab, tmp_path: Path) -> None:
    """Only items with an id are counted as exemplars."""
    system = lab.experiment.prompts.system
    stages = [replace(stage, sees=(*stage.sees, "K", "N")) if "M" in stage.sees else stage for stage in system.stages]
    exemplar: dict[str, object] = {"id": "x/2", "history": (), "reply": "I am here.", "emotion": None}
    (tmp_path / "own").mkdir()
    template = (system.prompts[0] / "sgrg.j2").read_text(encoding="utf-8")
    (tmp_path / "own" / "sgrg.j2").write_text("{{ K }}{{ N }}" + template, encoding="utf-8")
    lab.experiment = replace(
        lab.experiment,
        prompts=Prompts(replace(system, stages=tuple(stages), prompts=(tmp_path / "own", *system.prompts))),
        sources={
            "M": Always(SourceOutput((exemplar,))),
            "K": Always(SourceOutput(({"fact": "A job is lost."}, {"fact": "It is fine."}))),
            "N": Always(SourceOutput((exemplar,))),
        },
    )
    result = lab(scripted())
    assert (result.status, result.exemplars, result.exemplars_problem) == ("ok", 2, None)
    supplied = [event for event in lab.events if isinstance(event, events.Supplied)]
    assert [(event.symbol, len(event.content)) for event in supplied] == [("M", 1), ("K", 2), ("N", 1)]


def test_only_the_result_has_the_target(lab: Lab) -> None:
    backend = scripted()
    lab(backend)
    assert not any("SECRET" in message.text for request in backend.requests for message in request.messages)
    assert not any("SECRET" in event.model_dump_json() for event in lab.events)


def test_the_result_is_that_of_the_selected_pass(lab: Lab) -> None:
    """The first audit fails psp, whose second plan and reply pass."""
    plans = (as_text(outputs(mark)["psp"]) for mark in ("", " again"))
    audits = iter([{**dict.fromkeys(STAGES, True), "psp": False}, dict.fromkeys(STAGES, True)])
    replies = iter(["First.", "Second."])
    result = lab(
        scripted(gra=lambda _: as_text(audit(next(audits))), psp=lambda _: next(plans), sgrg=lambda _: next(replies))
    )
    assert (result.response, result.selected_pass, result.passes, result.ended) == ("Second.", 1, 2, "passed")
    assert result.calls == 5 + 3
    assert result.audit == dict.fromkeys(STAGES, 1)


def text(given: Any, request: Request) -> str:
    return given if isinstance(given, str) else str(given(request))


def error(failure: Failure) -> CallError:
    return CallError(failure, "it broke", where="host 1", hint="mend it")


CUT = Completion(text="That", finish=Finish.LENGTH, response_tokens=9)
FAILURES: list[tuple[dict[str, ScriptItem], Failure, str, int]] = [
    ({"mpa": "no JSON"}, Failure.SCHEMA_INVALID, "mpa, pass 0", 3),
    ({"sgrg": " "}, Failure.EMPTY, "sgrg, pass 0", 3 + 3),
    ({"sgrg": CUT}, Failure.TRUNCATED, "cut off after 9 tokens", 3 + 3),
    ({"caef": error(Failure.TIMEOUT)}, Failure.TIMEOUT, "it broke\n  where: host 1\n  next:  mend it", 1),
    ({"gra": error(Failure.CONTEXT_OVERFLOW)}, Failure.CONTEXT_OVERFLOW, "mend it", 4),
]


@pytest.mark.parametrize(("script", "failure", "message", "calls"), FAILURES, ids=[str(case[1]) for case in FAILURES])
def test_a_failed_sample_names_its_failure(
    script: dict[str, ScriptItem], failure: Failure, message: str, calls: int, lab: Lab
) -> None:
    result = lab(scripted(**{stage: lambda _, bad=bad: bad for stage, bad in script.items()}))
    assert (result.status, result.failure) == ("failed", failure)
    assert message in (result.failure_text or "")
    assert (result.response, result.emotion, result.plan, result.audit, result.selected_pass) == (None,) * 5
    assert (result.gold_response, result.calls) == ("SECRET words", calls)
    failed = lab.events[-1]
    assert isinstance(failed, events.SampleFailed)
    assert (failed.failure, "sample_done" in lab.kinds()) == (failure, False)


@pytest.mark.parametrize(
    ("bad", "failure", "hint"),
    [
        ("all CORRECT", Failure.SCHEMA_INVALID, "--prompts"),
        (CUT, Failure.TRUNCATED, "system.auditor.sampling.num_predict=…"),
    ],
)
def test_an_unreadable_audit_keeps_the_reply(bad: ScriptItem, failure: Failure, hint: str, lab: Lab) -> None:
    result = lab(scripted(gra=lambda _: bad))
    assert (result.status, result.ended, result.unaudited) == ("ok", "unaudited", True)
    assert (result.selected_pass, result.passes, result.audit, result.calls) == (0, 1, None, 4 + 3)
    assert result.response == outputs()["sgrg"]
    [unread] = [event for event in lab.events if isinstance(event, events.Unaudited)]
    assert (unread.failure, hint in unread.hint) == (failure, True)


def test_an_interrupted_sample_has_no_result(lab: Lab) -> None:
    with pytest.raises(CallError) as caught:
        lab(scripted(psp=lambda _: error(Failure.INTERRUPTED)))
    assert caught.value.failure is Failure.INTERRUPTED
    assert not {"sample_done", "sample_failed"} & set(lab.kinds())


def test_frames_are_stored_and_bad_clips_counted(lab: Lab, tmp_path: Path) -> None:
    clip = numbered(tmp_path / "one.avi", 20, "MJPG")
    seen, gone, none = SCENE.history
    history = (replace(seen, clip=Clip(clip)), replace(gone, clip=Clip(tmp_path / "gone.mp4")), none)
    backend = scripted()
    result = lab(backend, replace(SAMPLE, scene=replace(SCENE, history=history), dropped=(3,)))
    assert (result.status, result.clip_problems) == ("ok", 2)
    images = {find_stage(request): [image.sha256 for image in request.images] for request in backend.requests}
    assert len(images["mpa"]) == 2
    assert images == {"mpa": images["mpa"], "caef": images["mpa"], "gra": images["mpa"], "psp": [], "sgrg": []}
    assert set(lab.kept) == set(images["mpa"])
    assert all(data.startswith(b"\xff\xd8") for data in lab.kept.values())


def samples(count: int) -> list[Sample]:
    return [
        replace(SAMPLE, scene=replace(SCENE, id=f"d{n}/4", history=(Turn("Ana", f"number {n}"), *SCENE.history[1:])))
        for n in range(count)
    ]


def by_content(request: Request) -> str:
    """Completions and verdicts that depend only on the request."""
    good = answer(request)
    bad = request.digest < "6"
    if find_stage(request) == "gra":
        return as_text(audit({name: not (bad and name == "caef") for name in STAGES}))
    return f"{good} {request.digest[:6]}" if find_stage(request) == "sgrg" else good


@pytest.mark.parametrize("slots", [1, 8])
def test_parallel_samples_have_equal_results(lab: Lab, slots: int) -> None:
    todo = samples(4)

    def work(sample: Sample) -> Result:
        return lab(Scripted(by_content), sample)

    alone = {sample.id: comparable(work(sample)) for sample in todo}
    assert len({result["response"] for result in alone.values()}) == len(todo)
    together = list(run_in_threads(reversed(todo), work, slots, lambda: None))
    assert {result.id: comparable(result) for result in together} == alone
