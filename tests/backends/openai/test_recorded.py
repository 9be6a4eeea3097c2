"""Responses of servers that tests cannot start. `recorded.json` says where each comes from."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Finish, Message, Request, Sampling, build_likelihood_request
from mmerg.errors import CallError, CompletionError, Failure
from tests.backends.conftest import Faulty, chat_body, json_response

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))
DESCRIPTIONS: dict[str, dict[str, Any]] = {dialect: recorded["descriptions"] for dialect, recorded in RECORDED.items()}
CHAT = "/v1/chat/completions"
HELLO = Request((Message("user", "Hello"),), Sampling(num_predict=8), logprobs=True)


def build_backend(server: Faulty, dialect: str, model: str = "m") -> OpenAI:
    for path, answer in DESCRIPTIONS[dialect].items():
        server.respond(json_response(answer), path=path)
    server.respond(json_response(chat_body("Hi")), path=CHAT)
    return OpenAI(host=server.host, model=model, dialect=dialect, load={"num_ctx": 2048})


@pytest.mark.parametrize(
    ("dialect", "version", "vision"),
    [("vllm", "0.32.0", False), ("sglang", "0.5.9", True)],
)
def test_descriptions_are_read(faulty: Faulty, dialect: str, version: str, vision: bool) -> None:
    engine = build_backend(faulty, dialect).describe()
    assert (engine.version, engine.context_length, engine.vision) == (version, 2048, vision)
    assert engine.load["dialect"] == dialect


@pytest.mark.parametrize(("seven_more", "vision"), [(True, True), (False, False)])
def test_vision_is_tried_once_if_it_is_not_described(faulty: Faulty, seven_more: bool, vision: bool) -> None:
    backend = build_backend(faulty, "vllm")
    faulty.respond_once(json_response(chat_body("a")), path=CHAT)
    faulty.respond_once(json_response(chat_body("a") | {"usage": {"prompt_tokens": 7 + 7 * seven_more}}), path=CHAT)
    assert [backend.describe().vision, backend.describe().vision] == [vision] * 2
    assert len(faulty.bodies(CHAT)) == 2


def change_description(server: Faulty, dialect: str, was: str, now: str) -> None:
    """Replaces `was` by `now` in the server's descriptions."""
    for path, answer in DESCRIPTIONS[dialect].items():
        server.respond(json_response(json.loads(json.dumps(answer).replace(was, now))), path=path)


@pytest.mark.parametrize(
    ("dialect", "was", "now"),
    [
        ("vllm", '"created": 1', '"created": 2'),
        ("vllm", "modelperm-1", "modelperm-2"),
        ("sglang", "/models/m", "/scratch/m"),
    ],
)
def test_changes_that_affect_no_completion_keep_the_engine(faulty: Faulty, dialect: str, was: str, now: str) -> None:
    backend = build_backend(faulty, dialect)
    before = backend.describe()
    change_description(faulty, dialect, was, now)
    assert backend.describe() == before
    assert backend.complete(HELLO).text == "Hi"


@pytest.mark.parametrize(
    ("dialect", "was", "now"),
    [
        ("vllm", '"0.32.0"', '"0.33.0"'),
        ("vllm", "/models/m", "/models/n"),
        ("sglang", '"default"', '"step-200"'),
    ],
)
def test_a_host_that_has_changed_gives_no_completion(faulty: Faulty, dialect: str, was: str, now: str) -> None:
    backend = build_backend(faulty, dialect)
    backend.describe()
    change_description(faulty, dialect, was, now)
    with pytest.raises(CallError, match="another engine") as caught:
        backend.complete(HELLO)
    assert caught.value.failure is Failure.MODEL_NOT_FOUND


def test_a_recorded_completion_is_read(faulty: Faulty) -> None:
    backend = build_backend(faulty, "vllm")
    faulty.respond(json_response(RECORDED["vllm"]["completion"]), path=CHAT)
    completion, several = backend.complete(HELLO), backend.complete(replace(HELLO, alternatives=2))
    assert (completion.text, completion.finish, completion.thinking) == ("Hello!", Finish.LENGTH, "")
    assert (completion.prompt_tokens, completion.reused_tokens, completion.response_tokens) == (311, 256, 2)
    assert [(token.token, token.logprob) for token in completion.logprobs] == [
        ("Hello", -2.065242052078247),
        ("!", -1.1724669933319092),
    ]
    assert [len(token.top_logprobs) for token in (*completion.logprobs, *several.logprobs)] == [0, 0, 2, 2]


# Responses for prompts by vLLM and SGLang, from vllm/entrypoints/openai/chat_completion and docs/basic_usage.
PROMPT = [("Hello", None), ("<|im_start|>", -9.0), ("Hi", -2.5), (" there", -0.5)]
OF_PROMPT: dict[str, dict[str, dict[str, Any]]] = {
    "vllm": {
        CHAT: chat_body("!")
        | {
            "prompt_logprobs": [
                lp
                and {
                    "7": {"logprob": lp, "rank": 3, "decoded_token": token},
                    "8": {"logprob": -0.1, "decoded_token": "x"},
                }
                for token, lp in PROMPT
            ]
        }
    },
    "sglang": {
        "/tokenize": {"tokens": [1, 2, 3, 4], "count": 4, "max_model_len": 2048},
        "/generate": {
            "text": "!",
            "meta_info": {"input_token_logprobs": [[lp, 7, token] for token, lp in PROMPT], "prompt_tokens": 7},
        },
    },
}


@pytest.mark.parametrize("dialect", OF_PROMPT)
def test_a_given_text_has_the_log_probabilities_of_the_end_of_the_prompt(faulty: Faulty, dialect: str) -> None:
    backend = build_backend(faulty, dialect)
    for path, answer in OF_PROMPT[dialect].items():
        faulty.respond(json_response(answer), path=path)
    completion = backend.complete(build_likelihood_request(HELLO.messages, "Hi there"))
    assert (completion.text, [(token.token, token.logprob) for token in completion.logprobs]) == (
        "Hi there",
        [("Hi", -2.5), (" there", -0.5)],
    )
    assert completion.prompt_tokens == 7
    bodies = [body for path in OF_PROMPT[dialect] for body in faulty.bodies(path)]
    assert bodies[0]["messages"][-1] == {"role": "assistant", "content": "Hi there"}
    assert bodies[0]["continue_final_message"] is True
    with pytest.raises(CompletionError, match="no log-probabilities of the end of the prompt"):
        backend.complete(build_likelihood_request(HELLO.messages, "Hello there"))


# Responses as documented. vLLM calls thoughts `reasoning`, SGLang `reasoning_content`. Cached tokens need
# --enable-prompt-tokens-details in vLLM and --enable-cache-report in SGLang.


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thinking_is_read(faulty: Faulty, name: str) -> None:
    backend = build_backend(faulty, "vllm")
    faulty.respond(json_response(chat_body("Hi", **{name: "hm"})), path=CHAT)
    completion = backend.complete(HELLO)
    assert (completion.text, completion.thinking) == ("Hi", "hm")


@pytest.mark.parametrize(
    ("details", "reused"), [(None, None), ({}, None), ({"cached_tokens": 0}, 0), ({"cached_tokens": 5}, 5)]
)
def test_cached_tokens_are_read(faulty: Faulty, details: object, reused: int | None) -> None:
    backend = build_backend(faulty, "vllm")
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": details}
    faulty.respond(json_response(chat_body("Hi") | {"usage": usage}), path=CHAT)
    assert backend.complete(HELLO).reused_tokens == reused


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("stop", Finish.STOP), ("length", Finish.LENGTH), ("abort", Finish.ABORT), (None, Finish.ABORT)],
)
def test_reasons_to_finish_are_read(faulty: Faulty, reason: str | None, finish: Finish) -> None:
    backend = build_backend(faulty, "sglang")
    faulty.respond(json_response(chat_body(None, reason)), path=CHAT)  # type: ignore[arg-type]
    completion = backend.complete(HELLO)
    assert (completion.text, completion.finish) == ("", finish)
