"""Audits by the command itself, in this process: who audits is scripted, scores are counted by hand."""

from pathlib import Path
from typing import Any

import pytest

from mmerg.audit import main
from mmerg.auditing.faults import BY_CODE, FLIPPED, FOREIGN, HOT, HUMAN, KINDS, ROLES, WRONG, Auditing
from mmerg.auditing.first_passes import FirstPasses
from mmerg.auditing.launch import restore_settings
from mmerg.auditing.planted import PLANTED
from mmerg.backends.protocol import Engine, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.doctor import examine
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.experiment.plan import plan_prompts, plan_run
from mmerg.runs.auditor import read_auditor, update_auditor
from mmerg.runs.events import Called
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.settings.commands import DoctorRunSettings
from mmerg.settings.model import Form
from mmerg.settings.parse import parse
from mmerg.systems.audit import Check
from tests.auditing.parts import (
    DIALOGUES,
    FOREIGN_ONLY,
    Auditor,
    answers,
    corpus,
    finds_all,
    fitting,
    passes_all,
    planted_of,
    run,
)
from tests.composed import composed
from tests.composed import settings_of as settings_of_run
from tests.engine.parts import STAGES, as_text, audit
from tests.frames.clips import numbered
from tests.run_folders import all_events
from tests.scripted_ollama import ScriptedOllama, scripted_ollama

ENGINE = Engine(backend="ollama", version="1", model="m", digest="d")


@pytest.mark.parametrize(("auditor", "found"), [(finds_all, 1.0), (passes_all, 0.5)])
def test_an_auditor_that_finds_all_and_one_that_passes_all(
    tmp_path: Path, auditor: Auditor, found: float, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "data")
    with scripted_ollama(answer=answers(auditor)) as server:
        path = run(tmp_path, server.url)
        before = server.calls
        for _ in range(2):  # the clean ones are the run's own, and what was asked once is in the cache
            assert main([str(path), *FOREIGN_ONLY]) == 0
            assert server.calls - before <= len(STAGES) * DIALOGUES + 4  # and the doctor's questions
    planted = planted_of(path)
    values = {name: row[FOREIGN].value for name, row in planted.aucs.items()}
    assert values == {f"{one} finding": found for one in STAGES}
    whole = planted.wholes["finding"]
    assert (whole.passed.value, whole.blamed.value, whole.chance) == (1, float(found > 0.5), 0)
    told = " ".join(capsys.readouterr().out.split())
    assert (
        f"{4 * DIALOGUES} outputs of {DIALOGUES} samples and {4 * DIALOGUES} with a planted fault were checked" in told
    )
    assert "worth of the loop: unknown" in told


def test_every_kind_of_fault_and_form_side_by_side(tmp_path: Path) -> None:
    corpus(tmp_path / "data")
    right, schemas = answers(finds_all), list[dict[str, Any]]()

    def answer(body: dict[str, Any]) -> str:
        schemas.append((body.get("format") or {}).get("properties", {}))
        return right(body)

    with scripted_ollama(answer=answer, logprob=fitting) as server:
        path = run(tmp_path, server.url)
        assert main([str(path)]) == 0
    planted = planted_of(path)
    decoys = 2  # dialogues that comparisons are with
    kinds = {stage: {case.fault for case in planted.cases if case.stage == stage} for stage in STAGES}
    assert kinds["mpa"] == kinds["psp"] == {"", FOREIGN, HOT}
    assert kinds["caef"] == {"", FOREIGN, FLIPPED, HOT}
    assert kinds["sgrg"] == {"", FOREIGN, HOT, ROLES, HUMAN, *BY_CODE}
    assert {kind for row in planted.aucs.values() for kind in row} == set(KINDS)
    own = [case for case in planted.cases if not case.fault]
    assert len(own) == 4 * (DIALOGUES - decoys)
    assert {case.right for case in own if case.stage == "caef"} == {True, False}  # joy is gold in all dialogues
    assert {case.right for case in own if case.stage != "caef"} == {None}
    forms = {stage: {form for case in own if case.stage == stage for form in case.scores} for stage in STAGES}
    rest = {"likelihood", "odds", "comparison", "finding"}
    assert forms == {"mpa": {"code", *rest}, "caef": rest, "psp": rest, "sgrg": {"code", *rest}}
    value = {name: {kind: one.value for kind, one in row.items()} for name, row in planted.aucs.items()}
    assert [value[f"{stage} likelihood"][FOREIGN] for stage in STAGES] == [1] * 4
    assert value["caef likelihood"][WRONG] == value["caef likelihood"][FLIPPED] == 0.5  # they fit their scene as well
    choices = [field["enum"] for schema in schemas for name, field in schema.items() if name.endswith("emotion")]
    assert sum(len(labels) == 1 for labels in choices) == DIALOGUES - decoys  # a flipped forecast has no other choice
    assert [value["sgrg code"][kind] for kind in BY_CODE] == [1, 1, 1, 1, 0.5]  # the last turn is of one word


def test_a_larger_n_keeps_the_samples_of_a_smaller_one(path: Path) -> None:
    assert main([str(path), "--n", "2", *FOREIGN_ONLY]) == 0
    few = planted_of(path)
    assert main([str(path), *FOREIGN_ONLY, "--n", "4"]) == 0
    found = planted_of(path)
    assert len(found.cases) == 4 * 2 * 4
    assert {case.model_dump_json() for case in few.cases} < {case.model_dump_json() for case in found.cases}
    assert all(case.scores == {"finding": -1.0 if case.fault else 1.0} for case in found.cases)


def test_a_calibrated_auditor_in_use_and_where_it_is_not_to_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "data", dialogues=12)
    file, words = tmp_path / "auditor.json", ("--forms", "likelihood", "--faults", "foreign", "--calibrate")
    with scripted_ollama(answer=answers(finds_all), logprob=fitting) as server:
        path = run(tmp_path, server.url)
        assert main([str(path), *words, str(file)]) == 0
        auditor = read_auditor(file)
        likely = dict.fromkeys(STAGES, "likelihood")
        assert {name: check.form for name, check in auditor.checks.items()} == likely | {"caef": None}
        assert "has an AUC of 0.50 on wrong faults" in auditor.checks["caef"].why  # though it tells foreign ones
        assert (auditor.dialogues, auditor.digest) == (12, server.digest)
        assert "mpa: likelihood from" in capsys.readouterr().out
        with pytest.raises(ConfigError, match="fitted on the labels of the evaluated split"):
            run(tmp_path, server.url, f"auditor={file}")
        corpus(tmp_path / "data", dialogues=13)  # another corpus
        used = run(tmp_path, server.url, f"auditor={file}")
        assert used != path
        audited = [event for event in all_events(used) if isinstance(event, Called) and event.stage == "gra"]
        assert len(audited) == 13 * 3 * 2
        assert {result.ended for result in read_results(used).values()} == {"passed"}
        with pytest.raises(Exception, match="measured with other prompts: stage caef"):
            run(tmp_path, server.url, f"auditor={file}", "system.without=[mpa]")
        nothing = {name: check.model_copy(update={"form": None}) for name, check in auditor.checks.items()}
        file.write_text(auditor.model_copy(update={"checks": nothing}).model_dump_json(), encoding="utf-8")
        capsys.readouterr()
        bare = run(tmp_path, server.url, f"auditor={file}")
        assert bare not in (path, used)
        assert {(result.ended, result.calls) for result in read_results(bare).values()} == {("no auditor", 4)}
        told = capsys.readouterr().out
        assert told.index("no stage has a check, so runs have no audit loop") < told.index("13 samples")
        asked = ("backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]", "dataset=folder", f"auditor={file}")
        settings = parse(composed(*asked, f"dataset.root={tmp_path}/data", name="doctor_run"), DoctorRunSettings)
        examine(settings)
        assert "no stage has a check, so runs have no audit loop" in capsys.readouterr().out
        file.write_text(auditor.model_copy(update={"digest": "e" * 64}).model_dump_json(), encoding="utf-8")
        with pytest.raises(ConfigError, match="measured on another model"):
            run(tmp_path, server.url, f"auditor={file}")
        assert examine(settings) == 1
        assert "✗ auditor: the auditor was measured on another model" in capsys.readouterr().out


def test_a_check_by_code_is_measured_with_its_functions(tmp_path: Path) -> None:
    file, given = tmp_path / "auditor.json", ("dataset=demo", "backend=dry")
    prompts, checks = plan_prompts(settings_of_run(*given)).measured(), {"sgrg": Check(form="code")}
    update_auditor(file, ENGINE, prompts, checks=checks)
    used = plan_prompts(settings_of_run(*given, f"auditor={file}")).system
    assert [stage.name for stage in used.checked] == ["sgrg"]
    other = "system.stages.sgrg.code=[mmerg.engine.code.cues_not_in_turn]"
    with pytest.raises(ConfigError, match="measured with other prompts: stage sgrg"):
        plan_prompts(settings_of_run(*given, f"auditor={file}", other))
    with pytest.raises(ConfigError, match="loop=refine uses free-text feedback, so measured checks have no effect"):
        plan_prompts(settings_of_run(*given, f"auditor={file}", "system=self_refine"))
    plain, named = (plan_run(settings_of_run(*given, "system=one_pass", *more)) for more in ((), (f"auditor={file}",)))
    assert plain.run == named.run  # so that a sweep over systems can name an auditor
    assert "has no effect: system=one_pass has no auditor" in named.note


def test_an_auditor_of_a_model_that_did_not_think_is_refused_where_it_thinks(tmp_path: Path) -> None:
    auditor = update_auditor(tmp_path / "auditor.json", ENGINE, {})
    auditor.check_engine(ENGINE, "")
    with pytest.raises(ConfigError, match=r"was measured with backbone\.think=false"):
        auditor.check_engine(ENGINE.model_copy(update={"load": {"think": True}}), "")


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
        assert main([str(path), *FOREIGN_ONLY]) == 0
        assert server.calls - before <= 3 * 4 + 4  # what is not planted is in the cache
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
    assert main([str(of_one_emotion), *FOREIGN_ONLY]) == 2
    assert "there is no fault to measure" in capsys.readouterr().err
    assert not (of_one_emotion / PLANTED).exists()
    path = run(tmp_path, server.url, "system=direct_audit")
    assert main([str(path), *FOREIGN_ONLY]) == 0
    assert planted_of(path).aucs["answer finding"][FOREIGN].value == 1


def test_the_worth_of_a_loop_is_read_from_the_run(tmp_path: Path) -> None:
    corpus(tmp_path / "data")
    with scripted_ollama(answer=answers(None)) as server:  # its audits are drawn, and its reruns idle
        path = run(tmp_path, server.url)
        assert main([str(path), *FOREIGN_ONLY, "--n", "2"]) == 0
    worth, results = planted_of(path).worth, read_results(path).values()
    wrong = sum(result.emotion != "joy" for result in results)
    assert worth.shares["wrong forecasts"].value == wrong / DIALOGUES
    again = {name: worth.shares[name].value for name in ("mended", "spoiled") if name in worth.shares}
    assert again
    assert set(again.values()) == {0}
    assert (
        worth.tokens
        == sum(
            event.reply.prompt_tokens + event.reply.response_tokens
            for event in all_events(path)
            if isinstance(event, Called) and (event.t or event.stage == "gra")
        )
        / DIALOGUES
    )


def test_audits_that_cannot_be_read_are_counted_and_never_a_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "data")
    right = answers(finds_all)
    broken = False

    def answer(body: dict[str, Any]) -> str:
        said = right(body)
        return "{" if broken and '"d_sgrg"' in said else said

    with scripted_ollama(answer=answer) as server:
        path = run(tmp_path, server.url)
        broken = True
        assert main([str(path), *FOREIGN_ONLY]) == 0
    found = planted_of(path)
    assert {case.scores["finding"] for case in found.cases if case.fault} == {None}
    assert {row[FOREIGN].value for row in found.aucs.values()} == {0}
    assert f"{4 * DIALOGUES} of them have a check that cannot be read" in " ".join(capsys.readouterr().out.split())


def test_a_call_that_fails_costs_its_sample_alone(path: Path) -> None:
    prompts = plan_prompts(restore_settings(path, read_manifest(path)))
    passes = FirstPasses(path, prompts.system, {f"d{number}/4": f"d{number}" for number in range(DIALOGUES)})
    passed = as_text(audit(dict.fromkeys(STAGES, True)))
    backend = Scripted([passed, CallError(Failure.SERVER_ERROR, "no more"), passed, passed])
    forms: dict[str, list[Form]] = {"mpa": ["finding"]}
    stages = prompts.system.stages[:1]
    auditing = Auditing(passes, read_results(path), stages, forms, [FOREIGN], 0, prompts, Sampling())
    failed, done = (auditing.sample(sample, backend, lambda _: None) for sample in ("d0/4", "d1/4"))
    assert (failed.status, failed.cases, failed.failure_text) == ("failed", (), "no more")
    assert (done.status, [case.fault for case in done.cases]) == ("ok", ["", FOREIGN])
    with pytest.raises(CallError, match="stopped"):
        auditing.sample("d2/4", Scripted([CallError(Failure.INTERRUPTED, "stopped")]), lambda _: None)
