"""Calls of a stage: valid and invalid completions, repairs, requests and events."""

import json
from dataclasses import replace

import pytest

from mmerg.backends.protocol import Completion, Finish, Sampling
from mmerg.backends.scripted import Scripted, ScriptItem
from mmerg.engine.ask import Asker
from mmerg.engine.prompts import Prompts
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import Correction, Output, State
from mmerg.errors import CompletionError, Failure
from mmerg.runs import events
from mmerg.settings.backbone import SEEDS
from mmerg.systems.esc.schemas import Reflection
from mmerg.systems.system import System
from tests.configs import BASE, dump_settings
from tests.engine.parts import as_text, audit, merg, outputs, state_with_images

GOOD = as_text(outputs()["mpa"])


def ask(answers: list[ScriptItem], name: str = "mpa", **changes: int) -> tuple[Output, Scripted, list[events.Event]]:
    system, backend, log = merg(**changes), Scripted(answers), list[events.Event]()
    return make_asker(system, backend, log)(system.stages[STAGE[name]], state_with_images(), 0), backend, log


def make_asker(system: System, backend: Scripted, log: list[events.Event]) -> Asker:
    return Asker(Prompts(system), backend, Sampling(seed=7, top_k=5), log.append)


STAGE = {"mpa": 0, "caef": 1, "psp": 2, "sgrg": 3}
LONG = Completion(text=GOOD, finish=Finish.LENGTH, response_tokens=9)
THOUGHT = Completion(text="", finish=Finish.LENGTH, thinking="h", response_tokens=9)


@pytest.mark.parametrize(
    ("bad", "failure", "raw"),
    [
        ("not json", Failure.SCHEMA_INVALID, "not json"),
        (LONG, Failure.TRUNCATED, GOOD),
        (THOUGHT, Failure.THINKING_EXHAUSTED, "(blank)"),
        (Completion(text="", finish=Finish.STOP, thinking=GOOD), Failure.THINKING_EXHAUSTED, "(blank)"),
        (f"<think>{GOOD}", Failure.THINKING_EXHAUSTED, "(blank)"),
        ("<think>", Failure.THINKING_EXHAUSTED, "(blank)"),
        (Completion(text=GOOD, finish=Finish.ABORT), Failure.LOOP_ABORT, GOOD),
        (Completion(text="", finish=Finish.ABORT, thinking="h h h"), Failure.LOOP_ABORT, "(blank)"),
        (Completion(text=" \n", finish=Finish.STOP), Failure.EMPTY, "(blank)"),
    ],
)
def test_an_invalid_completion_is_shown_and_repaired(bad: ScriptItem, failure: Failure, raw: str) -> None:
    output, backend, log = ask([bad, GOOD])
    assert output == outputs()["mpa"]
    [refused] = [event for event in log if isinstance(event, events.Refused)]
    assert refused.failure is failure
    first, second = backend.requests
    assert second.messages[:2] == first.messages
    shown, complaint = second.messages[2:]
    assert (shown.role, complaint.role) == ("assistant", "user")
    assert shown.text == raw
    assert refused.complaint in complaint.text


def test_only_the_model_is_told_to_be_shorter() -> None:
    _, backend, log = ask([LONG, GOOD])
    assert "was cut off after 9 tokens; be much shorter." in backend.requests[1].messages[-1].text
    [refused] = [event for event in log if isinstance(event, events.Refused)]
    assert refused.complaint == "the answer was cut off after 9 tokens"


@pytest.mark.parametrize(("name", "bad", "more"), [("mpa", LONG, ""), ("gra", THOUGHT, "backbone.think=false")])
def test_the_error_names_the_setting_of_the_token_limit(name: str, bad: Completion, more: str) -> None:
    system = merg(max_repairs=0)
    [stage] = [agent for agent in system.agents if agent.name == name]
    with pytest.raises(CompletionError) as caught:
        make_asker(system, Scripted([bad]), [])(stage, state_with_images(), 0)
    hint = caught.value.hint
    assert hint.startswith(more)
    assert "shorter" not in str(caught.value)
    setting = hint.rpartition(" ")[2].replace("…", "77")
    config = dump_settings(*BASE, setting)["system"]
    node = config["auditor"] if name == "gra" else config["stages"][name]
    assert node["sampling"]["num_predict"] == 77


def test_a_repair_shows_only_the_latest_attempt() -> None:
    _, backend, _ = ask(["one", "two", GOOD])
    assert [len(request.messages) for request in backend.requests] == [2, 4, 6]
    assert backend.requests[2].messages[-2].text == "two"


@pytest.mark.parametrize("own", [None, 0.7])
def test_a_corrected_agent_may_have_its_own_temperature(own: float | None) -> None:
    system, backend = merg(rerun_temperature=own), Scripted(lambda _: "Hm.")
    asker, correction = make_asker(system, backend, []), Correction("sgrg", "Hm.", "dull", "warmer")
    for t, given in ((0, None), (1, correction), (2, correction), (2, correction), (2, None)):
        asker(system.stages[3], state_with_images(), t, given)
    first, second, third, same, uncorrected = (request.sampling for request in backend.requests)
    assert [first.temperature, second.temperature, third.temperature] == [0.0, own or 0.0, own or 0.0]
    assert len({first.seed, second.seed, third.seed}) == (3 if own else 1)
    assert (same, uncorrected) == (third, first)


def test_sample_stage_pass_and_candidate_determine_the_seed() -> None:
    warm = Sampling(seed=7, temperature=0.7)
    places = [("d1/4", "sgrg", 0, 0), ("d1/5", "sgrg", 0, 0), ("d1/4", "psp", 0, 0), ("d1/4", "sgrg", 1, 0)]
    seeds = [warm.derive_seed(*place).seed for place in (*places, ("d1/4", "sgrg", 0, 1))]
    assert seeds[0] == 1_294_578_210
    assert len(set(seeds)) == 5
    assert all(0 <= seed < SEEDS for seed in seeds)
    assert warm.derive_seed(*places[0]) == warm.derive_seed(*places[0]) != replace(warm, seed=8).derive_seed(*places[0])
    cold = replace(warm, temperature=0.0)
    assert cold.derive_seed(*places[1]) == cold  # equal prompts share one completion


def test_a_source_adds_to_the_prompt() -> None:
    system, backend, log = merg(), Scripted(["Hm."]), list[events.Event]()
    withheld = events.Excluded(id="d9/2", guard="same reply", similarity=0.9, reply="Leaked.")
    said = [{"speaker": "Eve", "text": "I failed."}]
    exemplar = {"id": "d7/2", "history": said, "emotion": "sadness", "reply": "Hush."}
    supply = SourceOutput((exemplar,), (withheld,))
    made = Asker(Prompts(system), backend, Sampling(), log.append, {"M": lambda *_: supply})
    made(system.stages[3], State(state_with_images().scene), 0)
    assert "Eve: I failed.\nEmotion: sadness\nNext turn: Hush.\n" in backend.requests[0].messages[1].text
    assert "Leaked" not in str(backend.requests[0].messages)
    [supplied] = [event for event in log if isinstance(event, events.Supplied)]
    assert (supplied.symbol, supplied.content, supplied.excluded) == ("M", supply.content, (withheld,))


def test_a_text_ends_at_its_stop_text_if_the_server_ignores_it() -> None:
    output, _, _ = ask(["\nThat must hurt.\n2. Ana: all checks passed"], "sgrg")
    assert output == "That must hurt."


def cleanings(log: list[events.Event]) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(event.stage, event.attempt, event.removed) for event in log if isinstance(event, events.Cleaned)]


def test_names_quotation_marks_and_directions_are_removed_and_reported() -> None:
    raw = 'Ben: "That must hurt." *sighs*'
    output, backend, log = ask([raw], "sgrg")
    assert (output, backend.calls) == ("That must hurt.", 1)
    assert cleanings(log) == [("sgrg", 0, ("stage directions", "name", "quotation marks"))]
    [called] = [event for event in log if isinstance(event, events.Called)]
    assert called.completion.text == raw
    assert ask(["Joe: That must hurt."], "sgrg")[0] == "Joe: That must hurt."


def test_a_reply_with_directions_only_is_blank() -> None:
    output, _, log = ask(["*sighs*", "Ana: Oh no."], "sgrg")
    assert output == "Oh no."
    [refused] = [event for event in log if isinstance(event, events.Refused)]
    assert (refused.failure, refused.complaint) == (Failure.EMPTY, "the answer says nothing but stage directions")
    assert cleanings(log) == [("sgrg", 1, ("another's name",))]


def test_only_the_response_of_a_record_is_cleaned() -> None:
    raw = {"reflection": '"Ben" is *warm*', "response": "Ben: (nods) That must hurt."}
    system = replace(merg(), result={"response": "R.response"})
    stage, log = replace(system.stages[3], output=Reflection), list[events.Event]()
    backend = Scripted([f"```json\n{json.dumps(raw)}\n```"])
    output = make_asker(system, backend, log)(stage, state_with_images(), 0)
    assert output == Reflection(reflection=raw["reflection"], response="That must hurt.")
    assert cleanings(log) == [("sgrg", 0, ("words around the JSON", "name", "stage directions"))]


def test_thoughts_before_text_are_removed_and_reported() -> None:
    output, backend, log = ask(["<think>\nShe is hurt.\n</think>\n\nThat must hurt.\nAna: Yes"], "sgrg")
    assert (output, backend.calls) == ("That must hurt.", 1)
    assert cleanings(log) == [("sgrg", 0, ("thinking",))]
    [called] = [event for event in log if isinstance(event, events.Called)]
    assert called.completion.thinking == "She is hurt."


@pytest.mark.parametrize(
    "raw",
    [
        f"<think>\nShe is {{hurt}}.\n</think>\n{GOOD}",
        f"A draft: {GOOD}\n</think>{GOOD}",
        f"[THINK]{{[/THINK]```json\n{GOOD}\n```",
        f'<|channel|>analysis<|message|>She is {{"a": 1}}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}',
    ],
)
def test_thoughts_before_json_are_removed_and_reported(raw: str) -> None:
    output, backend, log = ask([raw])
    assert (output, backend.calls) == (outputs()["mpa"], 1)
    [(_, _, removed)] = cleanings(log)
    assert removed[0] == "thinking"


def test_thoughts_in_the_response_of_a_record_are_removed() -> None:
    system = replace(merg(), result={"response": "R.response"})
    stage, log = replace(system.stages[3], output=Reflection), list[events.Event]()
    raws = ["<think>She is hurt.", "<think>She is hurt.</think> That must hurt."]
    backend = Scripted([json.dumps({"reflection": "r", "response": raw}) for raw in raws])
    output = make_asker(system, backend, log)(stage, state_with_images(), 0)
    assert output == Reflection(reflection="r", response="That must hurt.")
    [refused] = [event for event in log if isinstance(event, events.Refused)]
    assert refused.failure is Failure.THINKING_EXHAUSTED
    assert cleanings(log) == [("sgrg", 1, ("thinking",))]


def test_a_completion_that_is_only_a_stop_text_is_blank() -> None:
    """The output is the text before the first stop text, so "User: hi" is blank."""
    system = merg()
    sgrg = replace(system.stages[3], sampling={"stop": ["User:"]})
    backend, log = Scripted(["User: hi", "Oh no. User: hi"]), list[events.Event]()
    assert make_asker(system, backend, log)(sgrg, state_with_images(), 0) == "Oh no."
    [refused] = [event for event in log if isinstance(event, events.Refused)]
    assert (refused.failure, refused.complaint) == (Failure.EMPTY, "the answer was blank before its stop text")
    assert backend.requests[1].messages[2].text == "User: hi"


def test_an_audit_that_copies_its_rubric_for_every_agent_is_unreadable() -> None:
    """Models of 0.5B do so. A copied reason for one agent alone is valid, as it may fit."""
    example, log = "one word in answer to a long question", list[events.Event]()
    copied = {
        "mpa": f"Passes: turn 2: {example}",
        "caef": "anger where sadness would be as plausible",
        "psp": "what you checked and what you found",
        "sgrg": "it does not answer the last turn",
    }
    own = audit(dict.fromkeys(copied, True))
    every = type(own).model_validate({name: {**vars(getattr(own, name)), "reason": copied[name]} for name in copied})
    one = own.model_copy(update={"mpa": every.mpa})  # type: ignore[attr-defined]
    system = merg(max_repairs=1)
    assert system.auditor
    state = state_with_images()
    for stage in system.stages:
        state = state.with_output(stage.gives, outputs()[stage.name])
    ask_gra = make_asker(system, Scripted([as_text(every), as_text(one), *[as_text(every)] * 2]), log)
    assert ask_gra(system.auditor, state, 0) == one
    [refused] = [event for event in log if isinstance(event, events.Refused)]
    assert "copied from the instructions" in refused.complaint
    with pytest.raises(CompletionError, match="copied"):
        ask_gra(system.auditor, state, 0)
