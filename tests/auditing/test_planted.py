"""The command `audit` with a scripted auditor, whose scores are known."""

from pathlib import Path
from typing import Any

import pytest

from mmerg.audit import main
from mmerg.auditing.faults import BY_CODE, FLIPPED, FOREIGN, HOT, HUMAN, KINDS, ROLES, WRONG, Auditing
from mmerg.auditing.first_passes import FirstPasses
from mmerg.auditing.launch import restore_settings
from mmerg.backends.protocol import Engine, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.experiment.plan import plan_prompts, plan_run
from mmerg.runs.auditor import read_auditor, update_auditor
from mmerg.runs.events import Called
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.settings.model import Form
from mmerg.systems.audit import Check, LabelPrior
from tests.auditing.parts import (
    DIALOGUES,
    FOREIGN_ONLY,
    answer_with,
    corpus,
    find_all,
    read_faults,
    run,
    score_fit,
)
from tests.configs import parse_settings as settings_of_run
from tests.engine.parts import STAGES, as_text, audit
from tests.frames.clips import numbered
from tests.run_folders import read_all_events
from tests.scripted_ollama import ScriptedOllama, scripted_ollama

ENGINE = Engine(backend="ollama", version="1", model="m", digest="d")


def test_an_auditor_that_finds_every_fault_has_perfect_scores(
    path: Path, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(path), *FOREIGN_ONLY, "--n", "2"]) == 0
    few = read_faults(path)
    before = server.calls
    for _ in range(2):  # unchanged outputs and repeated questions come from the completion cache
        assert main([str(path), *FOREIGN_ONLY]) == 0
        assert server.calls - before <= len(STAGES) * (DIALOGUES - 2) + 4  # and the probes of the server
    planted = read_faults(path)
    assert {name: row[FOREIGN].value for name, row in planted.aucs.items()} == {
        f"{stage} finding": 1 for stage in STAGES
    }
    whole = planted.wholes["finding"]
    assert (whole.passed.value, whole.blamed.value, whole.chance) == (1, 1, 0)
    assert {case.model_dump_json() for case in few.cases} < {case.model_dump_json() for case in planted.cases}
    assert all(case.scores == {"finding": -1.0 if case.fault else 1.0} for case in planted.cases)
    shown = " ".join(capsys.readouterr().out.split())
    outputs = 4 * DIALOGUES
    assert f"{outputs} outputs of {DIALOGUES} samples and {outputs} with a planted fault were checked" in shown
    assert "worth of the loop: unknown" in shown


def test_every_kind_of_fault_is_measured_in_every_form(tmp_path: Path) -> None:
    dialogues, decoys = 5, 2  # form=comparison compares with the outputs of the decoys
    corpus(tmp_path / "data", dialogues=dialogues)
    right, schemas = answer_with(find_all), list[dict[str, Any]]()

    def answer(body: dict[str, Any]) -> str:
        schemas.append((body.get("format") or {}).get("properties", {}))
        return right(body)

    with scripted_ollama(answer=answer, logprob=score_fit) as server:
        path = run(tmp_path, server.url, "dataset.labels=[joy,anger,sadness]")
        assert main([str(path)]) == 0
    planted = read_faults(path)
    kinds = {stage: {case.fault for case in planted.cases if case.stage == stage} for stage in STAGES}
    assert kinds["mpa"] == kinds["psp"] == {"", FOREIGN, HOT}
    assert kinds["caef"] == {"", FOREIGN, FLIPPED, HOT}
    assert kinds["sgrg"] == {"", FOREIGN, HOT, ROLES, HUMAN, *BY_CODE}
    assert {kind for row in planted.aucs.values() for kind in row} == set(KINDS)
    own = [case for case in planted.cases if not case.fault]
    assert len(own) == 4 * (dialogues - decoys)
    assert {case.right for case in own if case.stage == "caef"} == {True, False}  # joy is gold in all dialogues
    assert {case.right for case in own if case.stage != "caef"} == {None}
    forms = {stage: {form for case in own if case.stage == stage for form in case.scores} for stage in STAGES}
    rest = {"likelihood", "odds", "comparison", "finding"}
    assert forms == {"mpa": {"code", *rest}, "caef": rest, "psp": rest, "sgrg": {"code", *rest}}
    value = {name: {kind: auc.value for kind, auc in row.items()} for name, row in planted.aucs.items()}
    for form in ("likelihood", "comparison", "finding"):
        assert [value[f"{stage} {form}"][FOREIGN] for stage in STAGES] == [1] * 4
    assert value["caef likelihood"][WRONG] == value["caef likelihood"][FLIPPED] == 0.5  # they fit their scene too
    choices = [field["enum"] for schema in schemas for name, field in schema.items() if name.endswith("emotion")]
    assert sum(len(labels) == 1 for labels in choices) == dialogues - decoys  # a flipped forecast has no other choice
    assert ["joy"] not in choices  # the gold label is no fault; two of these samples would draw it
    assert [value["sgrg code"][kind] for kind in BY_CODE] == [1, 1, 1, 1, 0.5]  # the last turn has a single word


@pytest.mark.slow
def test_a_calibrated_auditor_is_used_with_the_same_model_and_prompts_on_another_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "data", dialogues=12)
    file = tmp_path / "auditor.json"
    options = ("--forms", "likelihood", "--faults", "foreign", "roles", "--calibrate")
    with scripted_ollama(answer=answer_with(find_all), logprob=score_fit) as server:
        path = run(tmp_path, server.url)
        assert main([str(path), *options, str(file)]) == 0
        auditor = read_auditor(file)
        assert auditor.checked == ["sgrg"]
        why = "has an AUC of 0.50 on held-out faults of kind wrong"  # all foreign ones are detected
        assert why in auditor.checks["caef"].why
        assert auditor.checks["psp"].why == "no real faults of this stage are known"
        assert (auditor.dialogues, auditor.digest) == (12, server.digest)
        assert "sgrg: likelihood from" in capsys.readouterr().out
        with pytest.raises(ConfigError, match="fitted on the labels of the evaluated split"):
            run(tmp_path, server.url, f"auditor={file}")
        corpus(tmp_path / "data", dialogues=4)  # another corpus
        used = run(tmp_path, server.url, f"auditor={file}")
        assert used != path
        audited = [event for event in read_all_events(used) if isinstance(event, Called) and event.stage == "gra"]
        assert len(audited) == 4 * 2
        assert {result.ended for result in read_results(used).values()} == {"passed"}
        with pytest.raises(ConfigError, match="measured with other prompts: stage caef"):
            run(tmp_path, server.url, f"auditor={file}", "system.without=[mpa]")
        nothing = {name: check.model_copy(update={"form": None}) for name, check in auditor.checks.items()}
        file.write_text(auditor.model_copy(update={"checks": nothing}).model_dump_json(), encoding="utf-8")
        capsys.readouterr()
        bare = run(tmp_path, server.url, f"auditor={file}")
        assert {(result.ended, result.calls) for result in read_results(bare).values()} == {("no auditor", 4)}
        shown = capsys.readouterr().out
        assert shown.index("no stage has a check, so runs have no audit loop") < shown.index("4 samples")
        file.write_text(auditor.model_copy(update={"digest": "e" * 64}).model_dump_json(), encoding="utf-8")
        with pytest.raises(ConfigError, match="measured on another model"):
            run(tmp_path, server.url, f"auditor={file}")


def test_a_check_by_code_is_refused_with_other_functions(tmp_path: Path) -> None:
    file, given = tmp_path / "auditor.json", ("dataset=demo", "backend=dry")
    prompts, checks = plan_prompts(settings_of_run(*given)).compute_check_digests(), {"sgrg": Check(form="code")}
    update_auditor(file, ENGINE, prompts, checks=checks)
    used = plan_prompts(settings_of_run(*given, f"auditor={file}")).system
    assert [stage.name for stage in used.checked_stages] == ["sgrg"]
    for stage, other in (
        ("sgrg", "system.stages.sgrg.code=[mmerg.engine.code.cues_not_in_turn]"),
        ("mpa", "system.stages.mpa.cite_last=2"),
        ("caef", "system.label_order=corpus"),
        ("psp", "system.vocabulary.tone=[calm,blunt]"),
        ("psp", "system.auditor.sees=[D,E,e,P,R]"),
        ("caef", "dataset.emotion_of=speaker"),
    ):
        with pytest.raises(ConfigError, match=f"measured with other prompts: .*stage {stage}"):
            plan_prompts(settings_of_run(*given, f"auditor={file}", other))
    named = plan_run(settings_of_run(*given, "system=one_pass", f"auditor={file}"))  # as in a sweep over systems
    assert "has no effect: system=one_pass has no auditor" in named.note


def test_a_file_holds_measurements_of_one_system(tmp_path: Path) -> None:
    file = tmp_path / "auditor.json"
    prior = LabelPrior(corpus="demo", fingerprint="f", n=2, mean={"joy": -1.0}, counts={"joy": 2})
    update_auditor(file, ENGINE, {"prompt shared.j2": "a"}, checks={"mpa": Check(form="code")})
    both = update_auditor(file, ENGINE, {"prompt shared.j2": "a", "stage label": "b"}, labels=prior)
    assert both.checks
    assert both.labels == prior
    with pytest.raises(ConfigError, match=r"has checks of another system, or with other prompts: prompt shared\.j2"):
        update_auditor(file, ENGINE, {"prompt shared.j2": "c"}, labels=prior)
    assert read_auditor(file) == both
    other = ENGINE.model_copy(update={"digest": "e"})
    assert not update_auditor(file, other, {"prompt shared.j2": "c"}, labels=prior).checks


def test_an_auditor_measured_without_thinking_is_refused_with_it(tmp_path: Path) -> None:
    auditor = update_auditor(tmp_path / "auditor.json", ENGINE, {})
    auditor.check_engine(ENGINE, "")
    with pytest.raises(ConfigError, match=r"was measured with backbone\.think=false"):
        auditor.check_engine(ENGINE.model_copy(update={"load": {"think": True}}), "")


@pytest.mark.parametrize(
    ("form", "capabilities"), [("images", ("completion", "vision")), ("descriptions", ("completion",))]
)
def test_the_auditor_gets_the_frames_of_the_run(tmp_path: Path, form: str, capabilities: tuple[str, ...]) -> None:
    numbered(corpus(tmp_path / "data", clips=True) / "clip.mp4", 20, scene=lambda number: number // 10)
    with scripted_ollama(answer=answer_with(find_all), capabilities=capabilities) as server:
        path = run(tmp_path, server.url, "ids=[d0/4,d1/4]")
        before = server.calls
        assert main([str(path), *FOREIGN_ONLY]) == 0
        assert server.calls - before <= 2 * 4 + 4  # unchanged outputs come from the cache
        audited = [event for event in read_all_events(path) if isinstance(event, Called) and event.stage == "gra"]
        assert all(bool(event.messages[1].images) == (form == "images") for event in audited)
        if form == "images":
            for image in (path / "frames").iterdir():
                image.write_bytes(b"")
            assert main([str(path), *FOREIGN_ONLY]) == 2


def test_a_system_other_than_merg_can_be_audited(tmp_path: Path, server: ScriptedOllama) -> None:
    corpus(tmp_path / "data", dialogues=3)
    path = run(tmp_path, server.url, "system=direct_audit")
    assert main([str(path), *FOREIGN_ONLY]) == 0
    assert read_faults(path).aucs["answer finding"][FOREIGN].value == 1


def test_the_worth_of_a_loop_is_measured_on_its_passes(tmp_path: Path) -> None:
    corpus(tmp_path / "data")
    with scripted_ollama(answer=answer_with(None)) as server:  # random audits, and reruns that change nothing
        path = run(tmp_path, server.url)
        assert main([str(path), *FOREIGN_ONLY, "--n", "2"]) == 0
    worth, results = read_faults(path).worth, read_results(path).values()
    wrong = sum(result.emotion != "joy" for result in results)
    assert worth.shares["wrong forecasts"].value == wrong / DIALOGUES
    again = {name: worth.shares[name].value for name in ("mended", "spoiled") if name in worth.shares}
    assert again
    assert set(again.values()) == {0}
    assert (
        worth.tokens
        == sum(
            event.completion.prompt_tokens + event.completion.response_tokens
            for event in read_all_events(path)
            if isinstance(event, Called) and (event.t or event.stage == "gra")
        )
        / DIALOGUES
    )


def test_a_rerun_without_a_better_view_counts_as_a_rerun(tmp_path: Path) -> None:
    corpus(tmp_path / "data")
    with scripted_ollama(answer=answer_with(lambda planted: [True] * len(planted))) as server:
        path = run(tmp_path, server.url, "system.rerun=view")
        assert main([str(path), *FOREIGN_ONLY, "--n", "2"]) == 0
    shares, results = read_faults(path).worth.shares, read_results(path).values()
    assert {result.ended for result in results} == {"idle"}
    wrong = sum(result.emotion != "joy" for result in results)
    assert (shares["mended"].value, shares["mended"].n) == (0, wrong)
    assert (shares["spoiled"].value, shares["spoiled"].n) == (0, DIALOGUES - wrong)


def test_an_unreadable_audit_is_counted_and_never_a_pass(
    path: Path, server: ScriptedOllama, capsys: pytest.CaptureFixture[str]
) -> None:
    valid = server.answer

    def answer(body: dict[str, Any]) -> str:
        text = valid(body)
        return "{" if '"d_sgrg"' in text else text

    server.answer = answer
    try:
        assert main([str(path), *FOREIGN_ONLY, "--seed", "7"]) == 0  # other faults than in other tests
    finally:
        server.answer = valid
    found = read_faults(path)
    unread = [case for case in found.cases if case.scores["finding"] is None]
    assert unread
    assert not [case for case in found.cases if case.fault and case.scores["finding"] == 1]
    assert f"{len(unread)} of them have a check that cannot be read" in " ".join(capsys.readouterr().out.split())


def test_a_failed_call_fails_one_sample(path: Path) -> None:
    prompts = plan_prompts(restore_settings(path, read_manifest(path)))
    passes = FirstPasses(path, prompts.system, {f"d{number}/4": f"d{number}" for number in range(DIALOGUES)})
    passed = as_text(audit(dict.fromkeys(STAGES, True)))
    backend = Scripted([passed, CallError(Failure.SERVER_ERROR, "no more"), passed, passed])
    forms: dict[str, list[Form]] = {"mpa": ["finding"]}
    stages = prompts.system.stages[:1]
    auditing = Auditing(passes, read_results(path), stages, forms, [FOREIGN], 0, prompts, Sampling())
    failed, done = (auditing.audit_sample(sample, backend, lambda _: None) for sample in ("d0/4", "d1/4"))
    assert (failed.status, failed.cases, failed.failure_text) == ("failed", (), "no more")
    assert (done.status, [case.fault for case in done.cases]) == ("ok", ["", FOREIGN])
    with pytest.raises(CallError, match="stopped"):
        auditing.audit_sample("d2/4", Scripted([CallError(Failure.INTERRUPTED, "stopped")]), lambda _: None)
