"""Requests in each dialect, and settings that are refused before a request."""

import base64
import json
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from mmerg.backends.dialects import DIALECTS
from mmerg.backends.openai import OpenAI, read_token
from mmerg.backends.protocol import Image, Message, Request, Sampling
from mmerg.errors import CallError, ConfigError, Failure
from tests.backends.conftest import Faulty, chat_body, json_response

CHAT = "/v1/chat/completions"
SAMPLING = Sampling(
    num_predict=64,
    temperature=0.7,
    top_p=0.9,
    top_k=40,
    min_p=0.05,
    repeat_penalty=1.1,
    repeat_last_n=-1,
    presence_penalty=0.2,
    frequency_penalty=0.3,
    seed=11,
)
ALIKE = {
    "max_tokens": 64,
    "temperature": 0.7,
    "top_p": 0.9,
    "presence_penalty": 0.2,
    "frequency_penalty": 0.3,
    "seed": 11,
}
REPETITION = {"top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1}
OWN = {"top_k": 40, "min_p": 0.05, "repeat_penalty": 1.1}
SCHEMA = '{"type":"object","properties":{"why":{"type":"string"},"a":{"type":"integer"}}}'
PNG = cv2.imencode(".png", np.zeros((48, 64, 3), dtype=np.uint8))[1].tobytes()
HELLO = Request((Message("user", "Hello"),), Sampling(num_predict=8))
NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}


def asking(server: Faulty, dialect: str = "vllm", **more: Any) -> OpenAI:
    server.respond(json_response(chat_body("Hi")), path=CHAT)
    return OpenAI(**{"host": server.host, "model": "m", "dialect": dialect, "load": {"num_ctx": 512}} | more)


@pytest.mark.parametrize(
    ("dialect", "sampling", "sent"),
    [
        ("vllm", SAMPLING, ALIKE | REPETITION | NO_THINKING),
        ("sglang", SAMPLING, ALIKE | REPETITION | NO_THINKING),
        ("other", replace(SAMPLING, top_k=0, min_p=0.0, repeat_penalty=1.0), ALIKE),
        (
            "llama-server",
            SAMPLING,
            ALIKE
            | OWN
            | NO_THINKING
            | {
                "repeat_last_n": -1,
                "samplers": ["penalties", "top_k", "top_p", "min_p", "temperature"],
                "mirostat": 0,
                "dynatemp_range": 0.0,
                "typical_p": 1.0,
                "xtc_probability": 0.0,
                "dry_multiplier": 0.0,
                "cache_prompt": True,
            },
        ),
    ],
)
def test_the_body_of_a_call(faulty: Faulty, dialect: str, sampling: Sampling, sent: dict[str, object]) -> None:
    asking(faulty, dialect).complete(Request((Message("system", "Be kind."), Message("user", "Hello")), sampling))
    (body,) = faulty.bodies(CHAT)
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]
    assert body == {"model": "m", "messages": messages, "stream": False} | sent


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_schema_and_log_probabilities(faulty: Faulty, dialect: str) -> None:
    asking(faulty, dialect).complete(replace(HELLO, schema=SCHEMA, logprobs=True))
    (body,) = faulty.bodies(CHAT)
    assert body["response_format"]["json_schema"]["schema"] == json.loads(SCHEMA)
    assert list(body["response_format"]["json_schema"]["schema"]["properties"]) == ["why", "a"]
    assert body["logprobs"] is True


def test_images_are_urls_of_data_before_the_text(faulty: Faulty) -> None:
    backend = asking(faulty)
    faulty.respond_once(json_response(chat_body("")), path=CHAT)
    faulty.respond_once(json_response(chat_body("") | {"usage": {"prompt_tokens": 90}}), path=CHAT)  # it has vision
    backend.complete(Request((Message("user", "look", (Image("0" * 64, PNG),)),), Sampling(num_predict=8)))
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert faulty.bodies(CHAT)[-1]["messages"] == [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "look"}],
        }
    ]


@pytest.mark.parametrize("think", [False, True])
def test_think_is_sent(faulty: Faulty, think: bool) -> None:
    asking(faulty, "sglang", think=think).complete(HELLO)
    assert faulty.bodies(CHAT)[0]["chat_template_kwargs"] == {"enable_thinking": think}


def test_think_is_refused_if_the_server_has_no_such_option() -> None:
    with pytest.raises(ConfigError, match="has no option to think"):
        OpenAI(model="m", dialect="other", load={"num_ctx": 512}, think=True)


@pytest.mark.parametrize(
    ("dialect", "sampler", "value", "says"),
    [
        ("vllm", "repeat_last_n", 64, "it always uses -1"),
        ("sglang", "repeat_last_n", 0, "it always uses -1"),
        ("other", "top_k", 40, "it always uses 0"),
        ("other", "min_p", 0.1, "it always uses 0"),
        ("other", "repeat_penalty", 1.2, "it always uses 1"),
    ],
)
def test_a_sampler_that_the_server_lacks_is_refused(
    faulty: Faulty, dialect: str, sampler: str, value: float, says: str
) -> None:
    sampling = replace(Sampling(repeat_penalty=1.0 if dialect == "other" else 1.1), **{sampler: value})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=says) as caught:
        asking(faulty, dialect).complete(replace(HELLO, sampling=sampling))
    assert f"backbone.sampling.{sampler}=" in caught.value.hint
    assert faulty.requests == []


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(ConfigError, match="no dialect 'vlm'") as caught:
        OpenAI(model="m", dialect="vlm", load={"num_ctx": 512})
    assert "did you mean vllm?" in caught.value.hint
    assert "llama-server" in caught.value.hint


# The token


def test_the_token_is_sent_and_never_shown(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "hush-hush-1")
    backend = asking(faulty, token_env="MY_TOKEN")
    backend.describe()
    assert all("authorization: bearer hush-hush-1\r\n" in head.lower() for head in faulty.heads)
    texts = [repr(vars(backend)), repr(backend.describe())]
    for answer in (
        json_response({"error": "the key hush-hush-1 is wrong"}, "401 Unauthorized"),
        json_response({"error": "the key hush-hush-1 is wrong"}),
        json_response("hush-hush-1"),
        json_response({"choices": [], "key": "hush-hush-1"}),
    ):
        faulty.respond(answer, path=CHAT)
        with pytest.raises(CallError) as caught:
            backend.complete(HELLO)
        texts += [str(caught.value), str(caught.value.__cause__)]
    assert "***" in texts[2]
    assert "hush" not in " ".join(texts)


def test_a_missing_token_is_explained(faulty: Faulty) -> None:
    faulty.respond(json_response({"error": "Unauthorized"}, "401 Unauthorized"), path="/v1/models")
    with pytest.raises(CallError) as caught:
        asking(faulty).describe()
    assert (caught.value.failure, "token_env" in caught.value.hint) == (Failure.BAD_REQUEST, True)


@pytest.mark.parametrize("value", [None, " ", "hush\nX: 1", "hüsh"])
def test_an_invalid_token_is_refused_and_not_shown(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_TOKEN", value)
    lack = "nothing that could be a token" if value and value.strip() else "no token"
    with pytest.raises(ConfigError, match=f"variable MY_TOKEN holds {lack}") as caught:
        read_token("MY_TOKEN")
    assert "sh" not in str(caught.value).replace("export", "")
