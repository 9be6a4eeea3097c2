"""Forms of check: their prompts and scores. A check without a score never passes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mmerg.backends.likelihood import read_written_text as as_given
from mmerg.backends.protocol import Completion, Finish, Request, Sampling, TokenLogprob
from mmerg.backends.scripted import Scripted
from mmerg.engine.ask import Asker
from mmerg.engine.code import cues_not_in_turn, reply_faults
from mmerg.engine.loops.audit import audit
from mmerg.engine.prompts import Prompts
from mmerg.engine.state import State
from mmerg.errors import CompletionError, ConfigError
from mmerg.runs import events
from mmerg.runs.trace import describe_selection
from mmerg.systems.audit import Audit, Check, to_audit
from mmerg.systems.merg.schemas import Evidence, TextualCue
from mmerg.systems.system import System
from tests.engine.parts import (
    SCENE,
    STAGES,
    as_text,
    build_from_config,
    find_stage,
    merg,
    merg_config,
    outputs,
    state_with_images,
)
from tests.engine.parts import audit as findings

SAID = {name: as_text(output) for name, output in outputs().items()}


def with_forms(**forms: str) -> System:
    """MERG with these forms of check. forms: by stage."""
    return build_from_config(merg_config(**{f"stages__{name}__form": form for name, form in forms.items()}))


def with_decoys(name: str, *decoys: object) -> System:
    """MERG with a comparison for one stage, and code that finds no fault in the others."""
    checks = {name: Check(form="comparison", decoys=decoys)}
    fine = Check(form="code")
    stages = (replace(one, verdict=checks.get(one.name, fine), code=(lambda *_: {},)) for one in merg().stages)
    return merg(stages=tuple(stages))


def one_token_completion(*likeliest: tuple[str, float]) -> Completion:
    """A completion of one token with its alternatives."""
    tokens = tuple(TokenLogprob(token=token, logprob=logprob) for token, logprob in likeliest)
    head = tokens[0].model_copy(update={"top_logprobs": tokens})
    return Completion(text=tokens[0].token, finish=Finish.LENGTH, logprobs=(head,))


def complete_state() -> State:
    state = State(SCENE)
    for name, output in outputs().items():
        gives = next(stage.gives for stage in merg().stages if stage.name == name)
        state = state.with_output(gives, SAID["sgrg"] if name == "sgrg" else output)
    return state


def run_audit(system: System, script: Any, state: State) -> tuple[Audit, Scripted, list[events.Event]]:
    backend, log = Scripted(script), list[events.Event]()
    assert system.auditor
    output = Asker(Prompts(system), backend, Sampling(seed=7), log.append)(system.auditor, state, 0)
    assert not isinstance(output, str)
    return to_audit(output), backend, log


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("I'm sorry, but I can't assist with that request.", "an assistant's refusal"),
        ("Do you have any other questions about the artifact?", "an assistant's phrase"),
        ("Ana's face turns red as she realizes it.", "a narration"),
        ("Don't worry, Ben, it will be fine.", "Ben speaks to Ben"),
        ("I did not get the job!", "Ana's line"),
        ("I'm unable to help you with that.", "an assistant's refusal"),
        ("I can't help but feel sorry for her.", ""),
        ("I can't help it, I can't answer the phone.", ""),
        ("I'm here to listen.", ""),
        ("Sorry, can't help with that.", "an assistant's refusal"),
        ("I'm Ben, and I can't believe it, Ana. How can you help?", ""),
        ("Oh no.", ""),
    ],
)
def test_code_finds_faults_in_a_reply(reply: str, found: str) -> None:
    assert ", ".join(reply_faults(reply, State(SCENE))) == found


@pytest.mark.parametrize(
    ("name", "reply", "found"),
    [
        ("Will", "I promise I will.", ""),
        ("Joy", "That must fill you with joy!", ""),
        ("A", "You got an A!", ""),
        ("Dr. K.", "Don't worry, Dr. K., it is fine.", "Dr. K. speaks to Dr. K."),
    ],
)
def test_a_name_that_is_a_word_is_no_fault(name: str, reply: str, found: str) -> None:
    assert ", ".join(reply_faults(reply, State(replace(SCENE, responder=name)))) == found


def test_code_finds_cues_of_another_turn() -> None:
    right, wrong = (TextualCue(turn=turn, cue="It's fine, really") for turn in (3, 1))
    found = cues_not_in_turn(Evidence(textual_cues=(right, wrong)), State(SCENE))
    assert found == {"turn 1 does not say: It's fine, really": 1.0}
    of_a_longer_scene = TextualCue(turn=9, cue="It's fine, really")  # as in an output for another scene
    assert len(cues_not_in_turn(Evidence(textual_cues=(of_a_longer_scene,)), State(SCENE))) == 1


def test_an_audit_checks_each_stage_by_its_form() -> None:
    """Evidence by code, the forecast by likelihood, the plan by odds, and the reply by a finding."""

    def script(request: Request) -> Completion | str:
        prompt = request.messages[-1].text
        if request.likelihood_of:
            value = -1.0 if "It's fine. Really." in prompt else -2.5
            tokens = tuple(TokenLogprob(token=word, logprob=value) for word in ["a", "b", "c"])
            return Completion(text=request.likelihood_of, finish=Finish.STOP, logprobs=tokens)
        if request.alternatives:
            assert "check the output of psp, the plan." in prompt
            assert SAID["sgrg"] not in prompt
            # A word may be several tokens.
            return one_token_completion((" f", -0.5), ("true", -2.0), ("Tr", -2.0), (" ", -0.1))
        assert find_stage(request) == "gra"
        assert list(json.loads(request.schema)["properties"]) == ["sgrg"]
        return as_text(findings({"sgrg": True}))

    system = with_forms(mpa="code", caef="likelihood", psp="odds")
    verdict, backend, log = run_audit(system, script, complete_state())
    assert list(verdict.findings) == list(STAGES)
    scores = {name: (one.form, one.score, one.passed) for name, one in verdict.findings.items()}
    assert scores == {
        "mpa": ("code", -0.666667, False),
        "caef": ("likelihood", 1.5, True),
        "psp": ("odds", pytest.approx(-1.5 + 0.693147, abs=1e-5), False),
        "sgrg": ("finding", None, True),
    }
    assert verdict.findings["mpa"].reason.startswith("code -0.67, passes from 0.00: turn 3 does not say")
    assert [request.likelihood_of for request in backend.requests[:2]] == [SAID["caef"]] * 2
    assert all(request.messages[-1].text.startswith("Conversation so far") for request in backend.requests[:2])
    assert [event.stage for event in log if isinstance(event, events.Called)] == ["gra"] * 4
    kept = events.Audited(sample="s", t=0, audit=verdict, checks=verdict.checks, fault=verdict.fault)
    assert events.EVENT.validate_json(kept.model_dump_json()) == kept
    assert "form" not in kept.model_dump(mode="json")["audit"]["findings"]["sgrg"]


def test_a_comparison_asks_in_both_orders() -> None:
    def prefers_the_first(request: Request) -> Completion:
        own = f"1: {SAID['sgrg']}" in request.messages[-1].text
        return one_token_completion(("1", -0.1 if own else -0.3), ("2", -2.0))

    verdict, backend, _ = run_audit(
        with_decoys("sgrg", "Off we go.", SAID["sgrg"]), prefers_the_first, complete_state()
    )
    assert len(backend.requests) == 2  # a decoy equal to the output is skipped
    assert verdict.findings["sgrg"].score == pytest.approx((1.9 - 1.7) / 2)


@pytest.mark.parametrize(
    ("completion", "error", "message"),
    [
        (one_token_completion(("Well", -0.1), ("So", -2.0)), CompletionError, "it is none of true, false: 'Well'"),
        (Completion(text="true", finish=Finish.LENGTH), ConfigError, "no log-probabilities"),
    ],
)
def test_a_check_without_a_score_is_an_error(completion: Completion, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run_audit(with_forms(**dict.fromkeys(STAGES, "odds")), lambda _: completion, complete_state())


def test_an_answer_forced_by_the_schema_can_fail() -> None:
    head = TokenLogprob(
        token="false", logprob=-12.0, top_logprobs=one_token_completion(("Well", -0.1), ("So", -2.0)).logprobs
    )
    completion = Completion(text="false", finish=Finish.STOP, logprobs=(head,))
    verdict, _, _ = run_audit(with_forms(**dict.fromkeys(STAGES, "odds")), lambda _: completion, complete_state())
    assert not any(verdict.checks)


@pytest.mark.parametrize("form", ["odds", "likelihood"])
def test_an_audit_without_a_score_never_passes(form: str) -> None:
    """The completion ignores the schema of odds, or differs from the text whose likelihood is requested."""
    system = with_forms(**dict.fromkeys(STAGES, form))
    log: list[events.Event] = []

    def script(request: Request) -> Completion | str:
        if request.likelihood_of:
            return as_given(request, Completion(text="Well, no.", finish=Finish.STOP))
        return one_token_completion(("Well", -0.1), ("So", -2.0)) if request.alternatives else SAID[find_stage(request)]

    ask = Asker(Prompts(system), Scripted(script), Sampling(), log.append)
    outcome = audit(system, state_with_images(), ask, log.append)
    assert outcome.ended == "unaudited"
    assert outcome.selected.audit is None


def test_passes_are_ranked_by_the_evidence_of_measured_checks() -> None:
    """Pass 0 has slightly wrong evidence; pass 1 has a far worse reply, but would win by the number of checks."""
    texts = {mark: {name: as_text(output) for name, output in outputs(mark).items()} for mark in ("", " again")}

    def script(request: Request) -> str:
        prompts = "".join(message.text for message in request.messages)
        return texts[" again" * ("done this step before" in prompts or "again" in prompts)][find_stage(request)]

    found = {
        "mpa": lambda output, _: {} if "again" in str(output) else {"vague": 0.5},
        "sgrg": lambda output, _: {"rude": 1.0} if "again" in output else {},
    }
    system = merg(max_iterations=1)
    stages = tuple(replace(one, code=(found[one.name],) if one.name in found else ()) for one in system.stages)
    checks = {"mpa": Check(form="code", slope=1.0), "sgrg": Check(form="code", slope=10.0), "caef": Check(form=None)}
    system, log = replace(system, stages=stages).with_checks(checks), list[events.Event]()
    ask = Asker(Prompts(system), Scripted(script), Sampling(), log.append)
    outcome = audit(system, state_with_images(), ask, log.append)
    assert next(one.audit.findings for one in outcome.passes if one.audit).keys() == {"mpa", "sgrg"}
    assert [one.rank() for one in outcome.passes] == [(-0.5, 0), (-10, -1)]
    [selected] = [event for event in log if isinstance(event, events.Selected)]
    assert (outcome.selected.t, selected.by) == (0, "calibrated")
    assert describe_selection(selected, ["mpa", "sgrg"]).startswith(
        "Pass 0 has the highest score of its checks, −0.50, pass 1 −10.00"
    )


def test_a_system_without_checks_has_no_auditor() -> None:
    assert merg().with_checks({name: Check(form=None) for name in STAGES}).auditor is None


@pytest.mark.parametrize(
    ("name", "form", "message"),
    [
        ("caef", "code", "stage caef names no function that checks it"),
        ("psp", "comparison", "there is nothing to compare the output of psp with"),
    ],
)
def test_a_form_that_does_not_fit_the_stage_is_an_error(name: str, form: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_forms(**{name: form})
