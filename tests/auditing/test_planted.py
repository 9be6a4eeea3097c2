"""Planted faults by the command itself, in this process: who audits is scripted, figures are counted by hand."""

import signal
import sys
from math import sqrt
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from mmerg.audit import main
from mmerg.auditing.first_passes import FirstPasses
from mmerg.auditing.launch import Auditing, settings_of
from mmerg.auditing.planted import ALL, PLANTED, Case, figures
from mmerg.backends.protocol import Sampling
from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, Failure
from mmerg.experiment.plan import plan_prompts
from mmerg.runs.events import Audited, Called
from mmerg.runs.manifest import read_manifest
from mmerg.systems.audit import audit_of
from tests.auditing.parts import DIALOGUES, LABELS, Auditor, answers, corpus, finds_all, passes_all, planted_of, run
from tests.engine.parts import STAGES, as_text, audit
from tests.frames.clips import numbered
from tests.processes import begun
from tests.run_folders import all_events
from tests.scripted_ollama import ScriptedOllama, scripted_ollama

Z = 1.959963984540054


def wilson(share: float, n: int) -> tuple[float, float]:
    middle, half = share + Z**2 / (2 * n), Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return 100 * (middle - half) / (1 + Z**2 / n), 100 * (middle + half) / (1 + Z**2 / n)


@pytest.mark.parametrize(("auditor", "sensitivity"), [(finds_all, 100), (passes_all, 0)])
def test_an_auditor_that_finds_all_and_one_that_passes_all(
    tmp_path: Path, auditor: Auditor, sensitivity: int, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "data")
    with scripted_ollama(answer=answers(auditor)) as server:
        path = run(tmp_path, server.url)
        before = server.calls
        for _ in range(2):  # the clean ones are the run's own, and what was asked once is in the cache
            assert main([str(path)]) == 0
            assert server.calls - before == len(STAGES) * DIALOGUES
    found = planted_of(path)
    assert list(found.figures) == [*STAGES, ALL]
    for stage, scores in found.figures.items():
        n = DIALOGUES * (len(STAGES) if stage == ALL else 1)
        values = {name: (score.value, score.n) for name, score in scores.items()}
        assert values == {
            "specificity": (100, DIALOGUES),
            **dict.fromkeys(("sensitivity", "blame", "j"), (sensitivity, n)),
        }
        assert scores["specificity"].interval == pytest.approx(wilson(1, DIALOGUES))
        for score in scores.values():
            assert score.interval
            assert score.interval[0] < score.interval[1]
            assert ("effective n" in score.method) == (stage == ALL and score.name != "specificity")
    told = " ".join(capsys.readouterr().out.split())
    assert f"gra audited {DIALOGUES} clean passes and {4 * DIALOGUES} with a planted fault; 0 of the audits" in told
    assert "Youden's J" in told


def test_figures_of_an_auditor_at_random_are_what_counting_gives(tmp_path: Path) -> None:
    corpus(tmp_path / "data")
    with scripted_ollama(answer=answers(None)) as server:
        path = run(tmp_path, server.url)
        before = server.calls
        assert main([str(path), "--seed", "3"]) == 0
        assert server.calls - before == len(STAGES) * DIALOGUES
    found = planted_of(path)
    own = {event.sample: event.audit for event in all_events(path) if isinstance(event, Audited) and event.t == 0}
    assert any(not all(audit.checks) for audit in own.values())  # so that some samples have a second pass
    clean = {case.sample: case for case in found.cases if not case.stage}
    assert {sample: case.audit for sample, case in clean.items()} == own
    for stage in STAGES:
        swapped = [case.audit for case in found.cases if case.stage == stage]
        assert len(swapped) == DIALOGUES
        missed = sum(one.findings[stage].passed for one in swapped if one)
        passed = sum(one.findings[stage].passed for one in own.values())
        blamed = sum(one.fault == stage for one in swapped if one)
        scores = found.figures[stage]
        counted = {"specificity": passed, "sensitivity": DIALOGUES - missed, "blame": blamed, "j": passed - missed}
        assert {name: score.value for name, score in scores.items()} == pytest.approx(
            {name: 100 * count / DIALOGUES for name, count in counted.items()}
        )
        for name in ("specificity", "sensitivity", "blame"):
            assert scores[name].interval == pytest.approx(wilson(counted[name] / DIALOGUES, DIALOGUES))
    assert found.figures[ALL]["sensitivity"].n == len(STAGES) * DIALOGUES


def test_what_is_planted_is_another_dialogues_and_of_another_emotion(path: Path) -> None:
    assert main([str(path), "--n", "2", "--stages", "caef"]) == 0
    few = planted_of(path)
    assert main([str(path), "--n", "4"]) == 0
    found = planted_of(path)
    assert len(found.cases) == 4 * 5
    assert (len(few.cases), few.stages) == (2 * 2, ("caef",))
    assert {case.model_dump_json() for case in few.cases} < {case.model_dump_json() for case in found.cases}
    for case in found.cases:
        sample, donor = (int(id[1 : id.index("/")]) for id in (case.sample, case.donor or case.sample))
        assert (sample != donor) == bool(case.stage)
        if case.stage == "caef":
            assert sample % len(LABELS) != donor % len(LABELS)
        if case.stage == "psp":  # of the other dialogues' plans the one with another goal
            assert DIALOGUES - 1 in (sample, donor)
        assert case.audit
        assert case.audit.fault == (case.stage or None)


@pytest.mark.parametrize(
    ("form", "capabilities", "more"),
    [
        ("images", ("completion", "vision"), ()),
        ("montage", ("completion", "vision"), ("backbone.max_images=1",)),
        ("descriptions", ("completion",), ()),
    ],
)
def test_what_the_auditor_is_asked_of_frames_is_what_the_run_asked(
    tmp_path: Path, form: str, capabilities: tuple[str, ...], more: tuple[str, ...]
) -> None:
    numbered(corpus(tmp_path / "data", clips=True) / "clip.mp4", 20, scene=lambda number: number // 10)
    with scripted_ollama(answer=answers(finds_all), capabilities=capabilities) as server:
        path = run(tmp_path, server.url, "ids=[d0/4,d1/4,d2/4]", *more)
        before = server.calls
        assert main([str(path), "--stages", "sgrg"]) == 0
        assert server.calls - before == 3
        told = [event for event in all_events(path) if isinstance(event, Called) and event.stage == "gra"]
        assert all(bool(event.messages[1].images) == (form != "descriptions") for event in told)
        if form == "descriptions":
            return
        for image in (path / "frames").iterdir():
            image.write_bytes(b"")
        assert main([str(path)]) == 2


def test_any_system_that_audits_its_stages(
    tmp_path: Path, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "data")
    of_one_emotion = run(tmp_path, server.url, "system=direct_audit", "ids=[d0/4,d3/4]")
    assert main([str(of_one_emotion)]) == 2
    assert "there is no fault to plant" in capsys.readouterr().err
    assert not (of_one_emotion / PLANTED).exists()
    path = run(tmp_path, server.url, "system=direct_audit")
    before = server.calls
    assert main([str(path)]) == 0
    assert server.calls - before == DIALOGUES
    assert planted_of(path).stages == ("answer",)
    assert planted_of(path).figures["answer"]["j"].value == 100


def test_audits_that_cannot_be_read_are_counted_and_never_a_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "data")
    right = answers(finds_all)
    broken = False

    def answer(body: dict[str, object]) -> str:
        said = right(body)
        return "{" if broken and '"d_sgrg"' in said else said

    with scripted_ollama(answer=answer) as server:
        path = run(tmp_path, server.url)
        broken = True
        assert main([str(path), "--stages", "psp"]) == 0
    found = planted_of(path)
    assert {case.failure for case in found.cases} == {None, "schema_invalid"}
    scores = found.figures["psp"]
    assert (scores["specificity"].value, scores["sensitivity"].value, scores["j"].value) == (100, 0, 0)
    assert f"{DIALOGUES} of the audits cannot be read" in " ".join(capsys.readouterr().out.split())


def test_a_clean_pass_that_cannot_be_read_counts_as_not_passed() -> None:
    wrong, right = (audit_of(audit({"a": passed})) for passed in (False, True))
    cases = []
    for sample, clean, planted in (("1", None, wrong), ("2", right, wrong), ("3", right, None), ("4", wrong, right)):
        cases.append(Case(sample=sample, dialogue=sample, audit=clean))
        cases.append(Case(sample=sample, dialogue=sample, stage="a", donor="x", audit=planted))
    found = figures(cases, ["a", "b"], "")
    assert list(found) == ["a", ALL]  # nothing is planted in b
    for scores in found.values():
        values = {name: score.value for name, score in scores.items()}
        assert values == {"specificity": 50, "sensitivity": 50, "blame": 50, "j": 0}


def test_a_call_that_fails_costs_its_sample_alone(path: Path) -> None:
    prompts = plan_prompts(settings_of(path, read_manifest(path)))
    auditor, stages = prompts.system.agents[-1], prompts.system.stages[:1]
    passes = FirstPasses(path, prompts.system, {f"d{number}/4": f"d{number}" for number in range(DIALOGUES)})
    passed = as_text(audit(dict.fromkeys(STAGES, True)))
    backend = Scripted([passed, CallError(Failure.SERVER_ERROR, "no more"), passed, passed])
    auditing = Auditing(passes, prompts, auditor, stages, Sampling(), 0)
    failed, done = (auditing.sample(sample, backend, lambda _: None) for sample in ("d0/4", "d1/4"))
    assert (failed.status, failed.cases, failed.failure_text) == ("failed", (), "no more")
    assert (done.status, [case.stage for case in done.cases]) == ("ok", ["", "mpa"])
    with pytest.raises(CallError, match="stopped"):
        auditing.sample("d2/4", Scripted([CallError(Failure.INTERRUPTED, "stopped")]), lambda _: None)


def test_a_killed_command_goes_on_from_the_cache(tmp_path: Path) -> None:
    corpus(tmp_path / "data")
    process: BaseProcess | None = None

    def on_call(number: int) -> None:
        if process and number == killed_at:
            process.kill()

    with scripted_ollama(on_call, answers(finds_all)) as server:
        path = run(tmp_path, server.url)
        killed_at = server.calls + 10
        before = server.calls
        process = begun([sys.executable, "-m", "mmerg.audit", path], tmp_path)
        process.join(120)
        assert process.exitcode == -signal.SIGKILL
        assert not (path / PLANTED).exists()
        assert server.calls - before < len(STAGES) * DIALOGUES
        assert main([str(path)]) == 0
        assert server.calls - before <= len(STAGES) * DIALOGUES + 1
    assert planted_of(path).figures[ALL]["j"].value == 100
