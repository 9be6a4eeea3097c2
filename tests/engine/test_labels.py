"""Emotions that are read from label probabilities: tokens, orders of the labels, and calibration."""

import json
from collections.abc import Mapping
from dataclasses import replace
from math import exp, log
from pathlib import Path

import pytest

from mmerg.audit import main
from mmerg.backends.protocol import Completion, Finish, Request, TokenLogprob
from mmerg.backends.scripted import ScriptItem
from mmerg.engine.labels import list_orders, order_words, read_choice
from mmerg.errors import CompletionError, ConfigError
from mmerg.experiment.launch import launch
from mmerg.runs import events
from mmerg.runs.auditor import read_auditor
from mmerg.runs.folder import read_results
from mmerg.systems.audit import LabelPrior
from tests.configs import parse_settings
from tests.engine.parts import SCENE, merg
from tests.systems.played import Played, smallest_completion

LABELS = ("neutral", "joy", "sadness", "surprise")


def completion(likeliest: Mapping[str, float]) -> Completion:
    """A completion whose second token has these alternatives, by probability."""
    entries = tuple(TokenLogprob(token=token, logprob=log(p)) for token, p in likeliest.items())
    first = entries[0].model_copy(update={"top_logprobs": entries})
    text = f'"{first.token}'
    return Completion(text=text, finish=Finish.LENGTH, logprobs=(TokenLogprob(token='"', logprob=0.0), first))


def test_labels_are_read_from_the_tokens_that_begin_them() -> None:
    read = read_choice(
        completion({"joy": 0.4, "s": 0.2, " Sad": 0.1, "The": 0.1, "neu": 0.05}), LABELS, "reads: labels"
    )
    expected = dict(zip(LABELS, (0.05, 0.4, 0.2, 0.1), strict=True))
    assert {label: exp(value) * 0.75 for label, value in read.items()} == pytest.approx(expected, abs=1e-5)
    unnamed = read_choice(completion({"joy": 0.5, "The": 0.1}), LABELS, "it")
    assert exp(unnamed["sadness"]) == pytest.approx(0.1 / 0.8, abs=1e-5)  # the bound for tokens not listed
    with pytest.raises(ConfigError, match="gives no log-probabilities"):
        read_choice(Completion(text='"joy"', finish=Finish.STOP), LABELS, "it")


def test_a_label_needs_a_token_that_begins_it() -> None:
    first = completion({"The": 0.6, "I": 0.2}).logprobs[1].model_copy(update={"token": "sur", "logprob": -9.0})
    forced = read_choice(
        Completion(text='"sur', finish=Finish.LENGTH, logprobs=(first,)), LABELS, "reads: labels"
    )  # by the schema
    assert max(forced, key=lambda label: forced[label]) == "surprise"
    with pytest.raises(CompletionError, match="none of neutral, joy, sadness, surprise: '\"The'"):
        read_choice(completion({"The": 0.6, "I": 0.2}), LABELS, "it")
    with pytest.raises(ConfigError, match="thinks before it answers"):
        read_choice(
            Completion(text="", thinking="Let me see", finish=Finish.LENGTH, logprobs=(first,)), LABELS, "reads: labels"
        )


def test_each_sample_has_its_own_order_of_plan_words() -> None:
    system, words = merg(), merg().vocabulary
    orders = [order_words(system, replace(SCENE, id=id)) for id in ("a", "b", "a")]
    assert orders[0] == orders[2]
    for name in words:
        assert orders[0][name] != orders[1][name]
        assert sorted(orders[0][name]) == sorted(orders[1][name]) == sorted(words[name])
    assert order_words(replace(system, label_order="corpus"), SCENE) == words


def test_every_second_order_reverses_the_one_before() -> None:
    made = list(list_orders(LABELS, 4))
    assert (made[0], made[1], made[3]) == (LABELS, LABELS[::-1], made[2][::-1])
    assert set(made[2]) == set(LABELS)


def test_a_prior_calibrates_log_probabilities() -> None:
    means, counts = {"neutral": -3.0, "joy": -0.1, "sadness": -1.0}, {"sadness": 6}
    prior = LabelPrior(corpus="c dev", fingerprint="f", n=9, mean=means, counts=counts)
    scores = prior.calibrate({"neutral": -2.0, "joy": -0.5, "sadness": -1.5})
    expected = {"neutral": 1.0 + log(1 / 9), "joy": -0.4 + log(1 / 9), "sadness": -0.5 + log(7 / 9)}
    assert scores == pytest.approx(expected)


def name_first_label(request: Request) -> ScriptItem:
    """A completion with the label that the schema lists first."""
    first, *others = json.loads(request.schema)["enum"]
    return completion({first: 0.6, **{label: 0.4 / len(others) for label in others}})


def play(*replies: str) -> Played:
    left = list(replies)
    return Played(
        "one_pass_calibrated", script=lambda stage, asked: name_first_label(asked) if stage == "label" else left.pop(0)
    )


def test_one_pass_calibrated_reads_its_label_in_two_orders_and_writes_one_reply() -> None:
    played = play("Oh no, I'm so sorry.")
    one, other, writing = played.calls
    assert [call.stage for call in played.calls] == ["label", "label", "reply"]
    assert json.loads(one.answer_schema)["enum"] == json.loads(other.answer_schema)["enum"][::-1]
    shared = one.messages[1].text.partition("one of these")[0]
    assert other.messages[1].text.startswith(shared)
    [read] = [event for event in played.events if isinstance(event, events.LabelsRead)]
    assert read.logprobs["neutral"] == pytest.approx(read.logprobs["sadness"])  # each was listed first once
    assert "Emotion of the next turn: neutral" in writing.messages[1].text
    assert played.outcome.ended == "passed"


@pytest.mark.parametrize(
    ("replies", "said", "ended"),
    [
        (("As an AI, I cannot.", "Oh no."), "Oh no.", "passed"),
        (("As an AI, I cannot.", "As an AI, no."), "As an AI, I cannot.", "idle"),
        (("I did not get the job.", "That hurts."), "That hurts.", "passed"),  # the other speaker's line
    ],
)
def test_a_reply_with_a_fault_is_sampled_again(replies: tuple[str, ...], said: str, ended: str) -> None:
    played = play(*replies)
    assert (played.outcome.selected.state.get("R"), played.outcome.ended) == (said, ended)
    *_, first, second = played.calls
    assert first.messages == second.messages  # no draft is shown
    assert (first.sampling["temperature"], second.sampling["temperature"]) == (0.0, 0.7)


def test_a_stage_with_more_fields_explains_the_label_that_was_read() -> None:
    def answer(stage: str, request: Request) -> ScriptItem:
        choosing = request.schema and "enum" in json.loads(request.schema)
        return name_first_label(request) if choosing else smallest_completion(stage, request)

    played = Played("merg", "system.stages.caef.reads=labels", "system.without=[gra]", script=answer)
    *_, explained = (call for call in played.calls if call.stage == "caef")
    assert '"neutral"' in explained.answer_schema
    assert '"sadness"' not in explained.answer_schema
    assert played.outcome.selected.state.get_path("e.emotion") == "neutral"
    with pytest.raises(ConfigError, match="needs an output with an emotion"):
        Played("merg", "system.stages.psp.reads=labels")


def test_labels_are_calibrated_on_another_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("dataset=demo", "backend=dry", "system=one_pass_calibrated", "frames=none", f"runs={tmp_path}")
    ended = launch(parse_settings(*given))
    assert "label probabilities are not calibrated" in capsys.readouterr().out
    file = tmp_path / "auditor.json"
    assert main([ended.run, "--labels", str(file)]) == 0
    prior, results = read_auditor(file).labels, read_results(Path(ended.run)).values()
    assert prior
    assert prior.n == len(results) == sum(prior.counts.values())
    assert all(set(result.label_logprobs) == set(prior.mean) for result in results)
    with pytest.raises(ConfigError, match="the label frequencies of the evaluated split"):
        launch(parse_settings(*given, f"auditor={file}"))
    edited = file.read_text(encoding="utf-8").replace(prior.fingerprint, "0" * 64)
    file.write_text(edited, encoding="utf-8")
    capsys.readouterr()
    again = launch(parse_settings(*given, f"auditor={file}"))
    assert again.run != ended.run
    shown = capsys.readouterr().out
    assert f"label: labels calibrated on {prior.n} scenes of" in shown
    assert "no audit loop" not in shown
    with pytest.raises(ConfigError, match="measured with other prompts: stage label"):
        launch(parse_settings(*given[:3], *given[4:], f"auditor={file}"))
    file.write_text(edited.replace(read_auditor(file).digest, "1" * 64), encoding="utf-8")
    with pytest.raises(ConfigError, match="another model"):
        launch(parse_settings(*given, f"auditor={file}", "name=other"))
    assert main([ended.run, "--labels", str(file)]) == 2  # the measurements of that model remain
