"""The body of a chat call, and settings that are refused before a request."""

import base64
import json
from typing import Any

import cv2
import numpy as np
import pytest

from mmerg.backends.ollama import Ollama
from mmerg.backends.ollama_host import normalize_model_name
from mmerg.backends.protocol import Image, Message, Request, Sampling
from mmerg.errors import ConfigError
from tests.backends.conftest import LAST, Faulty, line, stream

SAMPLING = Sampling(
    num_predict=64,
    temperature=0.7,
    top_p=0.9,
    top_k=40,
    min_p=0.05,
    repeat_penalty=1.1,
    repeat_last_n=32,
    presence_penalty=0.2,
    frequency_penalty=0.3,
    seed=11,
)
SCHEMA = '{"type":"object","properties":{"why":{"type":"string"},"emotion":{"enum":["joy"]},"a":{"type":"integer"}}}'
PNG = cv2.imencode(".png", np.zeros((48, 64, 3), dtype=np.uint8))[1].tobytes()


def backend(host: str) -> Ollama:
    return Ollama(host=host, model="m", load={"num_ctx": 512, "use_mmap": False})


def test_the_body_of_a_call(faulty: Faulty) -> None:
    faulty.respond(stream(line("{}"), LAST))
    messages = (Message("system", "Be kind."), Message("user", "Schön \ud83d", (Image("0" * 64, PNG),)))
    backend(faulty.host).complete(Request(messages, SAMPLING, schema=SCHEMA, logprobs=True))
    (body,) = faulty.bodies("/api/chat")
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Schön \ud83d", "images": [base64.b64encode(PNG).decode()]},
        ],
        "stream": True,
        "think": False,
        "truncate": False,
        "shift": False,
        "keep_alive": "30m",
        "format": json.loads(SCHEMA),
        "logprobs": True,
        "options": {
            "num_ctx": 512,
            "use_mmap": False,
            "num_predict": 64,
            "temperature": 0.7,
            "top_p": 0.9,
            "top_k": 40,
            "min_p": 0.05,
            "repeat_penalty": 1.1,
            "repeat_last_n": 32,
            "presence_penalty": 0.2,
            "frequency_penalty": 0.3,
            "seed": 11,
        },
    }
    assert list(body["format"]["properties"]) == ["why", "emotion", "a"]  # the order in which fields are written


def test_free_text_sends_neither_format_nor_logprobs(faulty: Faulty) -> None:
    faulty.respond(stream(line("Hi"), LAST))
    think = Ollama(host=faulty.host, model="m", load={"num_ctx": 512}, think=True, keep_alive="2h")
    think.complete(Request((Message("user", "Hello"),), SAMPLING))
    (body,) = faulty.bodies("/api/chat")
    assert not {"format", "logprobs"} & body.keys()
    assert (body["think"], body["keep_alive"]) == (True, "2h")
    assert faulty.bodies("/api/show") == []  # text needs no capabilities


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        ("Look [img-7] at [img] my dog.", "Look [ img-7] at [ img] my dog."),
        ("[img-", "[ img-"),
        ("[image] [imgs] [IMG-7] img-7", "[image] [imgs] [IMG-7] img-7"),
    ],
)
def test_text_that_looks_like_an_image_mark_is_changed(faulty: Faulty, words: str, sent: str) -> None:
    faulty.respond(stream(line("Hi"), LAST))
    backend(faulty.host).complete(Request((Message("user", words),), SAMPLING))
    (body,) = faulty.bodies("/api/chat")
    assert body["messages"][0]["content"] == sent


def test_describe(faulty: Faulty) -> None:
    engine = backend(faulty.host).describe()
    assert (engine.version, engine.digest, engine.capabilities) == ("0.24.0", "d1", ("completion", "vision"))
    assert (engine.context_length, engine.load) == (
        512,
        {"num_ctx": 512, "use_mmap": False, "think": False, "adapter": 4},
    )
    assert [path for path, _ in faulty.requests] == ["/api/version", "/api/tags", "/api/show"]


def test_think_is_refused_for_a_model_that_cannot_think(faulty: Faulty) -> None:
    with pytest.raises(ConfigError, match="cannot think") as caught:
        Ollama(host=faulty.host, model="m", load={"num_ctx": 512}, think=True).describe()
    assert (caught.value.where, "backbone.think=false" in caught.value.hint) == (faulty.host, True)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({}, "num_ctx is not set"),
        ({"num_ctx": 512, "temperature": 1.0}, "unknown load option: temperature"),
    ],
)
def test_wrong_load_options_are_refused(load: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Ollama(model="m", load=load).describe()
    assert caught.value.where == "model m"
    assert caught.value.hint


@pytest.mark.parametrize(
    "host",
    ["localhost:11434", "http://", "ftp://h", "http://h:port", "http://h/?a=1", "http://h\x7f", ""],
)
def test_an_invalid_address_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="host's address"):
        backend(host).complete(Request((Message("user", "Hello"),), SAMPLING))


@pytest.mark.parametrize(
    ("given", "listed"),
    [
        ("m", "m:latest"),
        ("Qwen2.5VL:7B", "qwen2.5vl:7b"),
        ("library/m", "m:latest"),
        ("hf.co/a/B:Q4_K_M", "hf.co/a/b:q4_k_m"),
        ("localhost:5000/a/m", "localhost:5000/a/m:latest"),
    ],
)
def test_a_model_name_is_normalized_as_servers_list_it(given: str, listed: str) -> None:
    assert normalize_model_name(given) == listed
