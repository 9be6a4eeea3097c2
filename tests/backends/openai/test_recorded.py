"""Answers of servers that no test can start, recorded or written down from their sources; each says where from."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Finish, Message, Request, Sampling, likelihood_request
from mmerg.errors import CallError, Failure
from tests.backends.conftest import Faulty, completion, json_answer
from tests.backends.openai.shapes import TOLD, VLLM_REPLY

CHAT = "/v1/chat/completions"
HELLO = Request((Message("user", "Hello"),), Sampling(num_predict=8), logprobs=True)


def served(server: Faulty, dialect: str, model: str = "m") -> OpenAI:
    for path, answer in TOLD[dialect].items():
        server.answer(json_answer(answer), path=path)
    server.answer(json_answer(completion("Hi")), path=CHAT)
    return OpenAI(host=server.host, model=model, dialect=dialect, load={"num_ctx": 2048}, check_wait=0.01)


@pytest.mark.parametrize(
    ("dialect", "version", "vision"),
    [("vllm", "0.32.0", False), ("sglang", "0.5.9", True)],
)
def test_what_they_tell_of_themselves(faulty: Faulty, dialect: str, version: str, vision: bool) -> None:
    engine = served(faulty, dialect).describe()
    assert (engine.version, engine.context_length, engine.vision) == (version, 2048, vision)
    assert engine.load["dialect"] == dialect


@pytest.mark.parametrize(("seven_more", "vision"), [(True, True), (False, False)])
def test_eyes_that_are_not_told_of_are_tried_once(faulty: Faulty, seven_more: bool, vision: bool) -> None:
    backend = served(faulty, "vllm")
    faulty.answer_once(json_answer(completion("a")), path=CHAT)
    faulty.answer_once(json_answer(completion("a") | {"usage": {"prompt_tokens": 7 + 7 * seven_more}}), path=CHAT)
    assert [backend.describe().vision, backend.describe().vision] == [vision] * 2
    assert len(faulty.asked(CHAT)) == 2


@pytest.mark.parametrize("dialect", TOLD)
def test_what_changes_with_each_answer_is_no_other_engine(faulty: Faulty, dialect: str) -> None:
    backend = served(faulty, dialect)
    before = backend.describe()
    later = json.loads(json.dumps(TOLD[dialect]).replace('"created": 1', '"created": 2').replace("modelperm-1", "p2"))
    for path, answer in later.items():
        faulty.answer(json_answer(answer), path=path)
    assert backend.describe() == before
    assert backend.complete(HELLO).text == "Hi"


@pytest.mark.parametrize("dialect", ["vllm", "sglang"])
def test_a_model_in_another_folder_is_the_same_engine(faulty: Faulty, dialect: str) -> None:
    backend = served(faulty, dialect)
    before = backend.describe()
    for path, answer in TOLD[dialect].items():
        faulty.answer(json_answer(json.loads(json.dumps(answer).replace("/models/m", "/scratch/m"))), path=path)
    assert backend.describe() == before


@pytest.mark.parametrize(
    ("dialect", "was", "now"),
    [
        ("vllm", '"0.32.0"', '"0.33.0"'),
        ("vllm", "/models/m", "/models/n"),
        ("sglang", '"default"', '"step-200"'),
    ],
)
def test_a_host_that_was_changed_gives_no_reply(faulty: Faulty, dialect: str, was: str, now: str) -> None:
    backend = served(faulty, dialect)
    backend.describe()
    for path, answer in TOLD[dialect].items():
        faulty.answer(json_answer(json.loads(json.dumps(answer).replace(was, now))), path=path)
    with pytest.raises(CallError, match="another engine") as caught:
        backend.complete(HELLO)
    assert caught.value.failure is Failure.MODEL_NOT_FOUND


def test_a_recorded_reply_is_read(faulty: Faulty) -> None:
    backend = served(faulty, "vllm")
    faulty.answer(json_answer(VLLM_REPLY), path=CHAT)
    reply, several = backend.complete(HELLO), backend.complete(replace(HELLO, alternatives=2))
    assert (reply.text, reply.finish, reply.thinking) == ("Hello!", Finish.LENGTH, "")
    assert (reply.prompt_tokens, reply.reused_tokens, reply.response_tokens) == (311, 256, 2)
    assert [(one.token, one.logprob) for one in reply.logprobs] == [
        ("Hello", -2.065242052078247),
        ("!", -1.1724669933319092),
    ]
    assert [len(one.top_logprobs) for one in (*reply.logprobs, *several.logprobs)] == [0, 0, 2, 2]


# What vLLM and SGLang tell of a prompt, written by vllm/entrypoints/openai/chat_completion and docs/basic_usage.
PROMPT = [("Hello", None), ("<|im_start|>", -9.0), ("Hi", -2.5), (" there", -0.5)]
OF_PROMPT: dict[str, dict[str, dict[str, Any]]] = {
    "vllm": {
        CHAT: completion("!")
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
    backend = served(faulty, dialect)
    for path, answer in OF_PROMPT[dialect].items():
        faulty.answer(json_answer(answer), path=path)
    reply = backend.complete(likelihood_request(HELLO.messages, "Hi there"))
    assert (reply.text, [(one.token, one.logprob) for one in reply.logprobs]) == (
        "Hi there",
        [("Hi", -2.5), (" there", -0.5)],
    )
    assert reply.prompt_tokens == 7
    bodies = [body for path in OF_PROMPT[dialect] for body in faulty.asked(path)]
    assert bodies[0]["messages"][-1] == {"role": "assistant", "content": "Hi there"}
    assert bodies[0]["continue_final_message"] is True
    with pytest.raises(CallError, match="no log-probabilities of the prompt"):
        backend.complete(likelihood_request(HELLO.messages, "Hello there"))


# Replies written by the documents. vLLM's thinking is `reasoning`, that of SGLang `reasoning_content`.
# Neither vLLM nor SGLang tells of cached tokens without --enable-prompt-tokens-details or --enable-cache-report.


@pytest.mark.parametrize("context", ["8192", -1])
def test_a_context_that_is_no_number_of_tokens_is_shown(faulty: Faulty, context: object) -> None:
    backend = served(faulty, "vllm")
    faulty.answer(json_answer({"data": [{"id": "m", "max_model_len": context}]}), path="/v1/models")
    with pytest.raises(CallError, match=f"context length is '{context}'"):
        backend.describe()


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thinking_is_read(faulty: Faulty, name: str) -> None:
    backend = served(faulty, "vllm")
    faulty.answer(json_answer(completion("Hi", **{name: "hm"})), path=CHAT)
    reply = backend.complete(HELLO)
    assert (reply.text, reply.thinking) == ("Hi", "hm")


@pytest.mark.parametrize(
    ("details", "reused"), [(None, None), ({}, None), ({"cached_tokens": 0}, 0), ({"cached_tokens": 5}, 5)]
)
def test_cached_tokens_are_read_where_they_are_told(faulty: Faulty, details: object, reused: int | None) -> None:
    backend = served(faulty, "vllm")
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": details}
    faulty.answer(json_answer(completion("Hi") | {"usage": usage}), path=CHAT)
    assert backend.complete(HELLO).reused_tokens == reused


@pytest.mark.parametrize("logprobs", [None, {"content": None}, {"content": []}])
def test_log_probabilities_that_do_not_come(faulty: Faulty, logprobs: object) -> None:
    answer = completion("Hi")
    answer["choices"][0]["logprobs"] = logprobs  # type: ignore[index]
    faulty.answer(json_answer(answer), path=CHAT)
    assert OpenAI(host=faulty.host, model="m", dialect="vllm", load={"num_ctx": 512}).complete(HELLO).logprobs == ()


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("stop", Finish.STOP), ("length", Finish.LENGTH), ("abort", Finish.ABORT), (None, Finish.ABORT)],
)
def test_finishes(faulty: Faulty, reason: str | None, finish: Finish) -> None:
    backend = served(faulty, "sglang")
    faulty.answer(json_answer(completion(None, reason)), path=CHAT)  # type: ignore[arg-type]
    reply = backend.complete(HELLO)
    assert (reply.text, reply.finish) == ("", finish)


# Errors


def openai_shape(message: str, kind: str, code: int) -> dict[str, object]:
    """As llama-server has it, and vLLM."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def flat(message: str, kind: str, code: int) -> dict[str, object]:
    """As SGLang has it (python/sglang/srt/entrypoints/openai/protocol.py, ErrorResponse)."""
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


RECORDED = [  # from vLLM 0.32.0, as `shapes.py` says
    (
        "vllm",
        400,
        {
            "error": {
                "message": "This model's maximum context length is 4096 tokens. However, your prompt contains at least "
                "4097 input tokens, which exceeds this limit even without any output tokens. Please reduce the length "
                "of the input prompt. (parameter=input_tokens, value=4097)",
                "type": "BadRequestError",
                "param": "input_tokens",
                "code": 400,
            }
        },
        Failure.CONTEXT_OVERFLOW,
    ),
    ("vllm", 400, openai_shape("m is not a multimodal model", "BadRequestError", 400), Failure.IMAGE_REJECTED),
    (
        "vllm",
        404,
        openai_shape("The model `gpt-4` does not exist. Valid aliases: m.", "NotFoundError", 404),
        Failure.MODEL_NOT_FOUND,
    ),
    ("vllm", 400, openai_shape("Grammar error: Invalid type: wibble", "BadRequestError", 400), Failure.BAD_REQUEST),
]
WRITTEN = [  # by the sources named
    (  # github.com/vllm-project/vllm/issues/12165
        "vllm",
        400,
        openai_shape(
            "The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that "
            "`max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
            "BadRequestError",
            400,
        ),
        Failure.CONTEXT_OVERFLOW,
    ),
    (  # vLLM, vllm/v1/engine/exceptions.py
        "vllm",
        500,
        openai_shape("EngineCore encountered an issue. See stack trace (above) for the root cause.", "Internal", 500),
        Failure.RUNNER_CRASH,
    ),
    (  # SGLang, python/sglang/srt/managers/tokenizer_manager.py
        "sglang",
        400,
        flat("The input (5000 tokens) is longer than the model's context length (2048 tokens).", "BadRequest", 400),
        Failure.CONTEXT_OVERFLOW,
    ),
    (  # the same file
        "sglang",
        400,
        flat("Requested token count exceeds the model's maximum context length of 2048 tokens.", "BadRequest", 400),
        Failure.CONTEXT_OVERFLOW,
    ),
    ("sglang", 503, flat("The request queue is full.", "ServiceUnavailable", 503), Failure.BUSY),
]


@pytest.mark.parametrize(("dialect", "status", "body", "failure"), [*RECORDED, *WRITTEN])
def test_their_errors_are_named(
    faulty: Faulty, dialect: str, status: int, body: dict[str, Any], failure: Failure
) -> None:
    backend = served(faulty, dialect)
    faulty.answer(json_answer(body, f"{status} Said"), path=CHAT)
    with pytest.raises(CallError) as caught:
        backend.complete(HELLO)
    assert caught.value.failure is failure
    assert caught.value.hint
    assert caught.value.what.startswith(f"{dialect} answered with ")
