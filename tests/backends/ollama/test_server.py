"""The adapter on real servers, with tiny models of random weights, and SmolLM2 for long completions."""

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import httpx
import jsonschema
import numpy as np
import pytest

from mmerg.backends.http import Http, read_lines
from mmerg.backends.ollama import Ollama
from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.protocol import Finish, Image, Message, Request, Sampling, build_likelihood_request
from mmerg.backends.server_errors import OLLAMA
from mmerg.backends.streaming import stream_to
from mmerg.checking.probes import count_frame_tokens, is_before_llama_server
from mmerg.errors import CallError, Failure
from tests.ollama_server import (
    EMBEDDING_MODEL,
    OWN_TEMPLATE_MODEL,
    SMOLLM2,
    TEXT_MODEL,
    VERSIONS,
    VISION_MODEL,
    Server,
    create_from_gguf,
    find_binary,
    find_smollm2,
    start_server,
)

SCHEMA = {
    "type": "object",
    "properties": {
        "why": {"type": "string", "maxLength": 40},
        "emotion": {"enum": ["joy", "sadness", "anger"]},
        "turns": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 9}, "maxItems": 3},
    },
    "required": ["why", "emotion", "turns"],
    "additionalProperties": False,
}
ROW = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 9}, "minItems": 60, "maxItems": 60}
ENDLESS = {"type": "array", "items": ROW, "minItems": 60, "maxItems": 60}
LOAD = {"num_ctx": 4096, "num_thread": 1}  # two threads that wait for each other crawl where the processors are shared


@pytest.fixture
def text(each_ollama: Server) -> Ollama:
    return Ollama(host=each_ollama.host, model=TEXT_MODEL, load=LOAD)


@pytest.fixture
def vision(each_ollama: Server) -> Ollama:
    return Ollama(host=each_ollama.host, model=VISION_MODEL, load=LOAD)


def ask(words: str, *images: Image, num_predict: int = 24, schema: str = "") -> Request:
    message = Message("user", words, images)
    return Request((message,), Sampling(num_predict=num_predict, seed=5), schema=schema, logprobs=True)


def picture(seed: int) -> Image:
    pixels = np.random.default_rng(seed).integers(0, 255, (112, 140, 3), dtype=np.uint8)
    data = cv2.imencode(".jpg", pixels)[1].tobytes()
    return Image(hashlib.sha256(data).hexdigest(), data)


def catch_failure(backend: Ollama, request: Request) -> CallError:
    with pytest.raises(CallError) as caught:
        backend.complete(request)
    return caught.value


def test_text_that_looks_like_an_image_mark_stays_text(vision: Ollama) -> None:
    """Sent unchanged, Ollama before 0.30 refuses [img-7], and later versions put the image in the place of [img]."""
    for mark in ("[img-7]", "[img]"):
        completion, words = (
            vision.complete(ask(f"Look {text} at my dog.", picture(1), num_predict=1))
            for text in (mark, mark.replace("[", "("))
        )
        assert 0 <= completion.prompt_tokens - words.prompt_tokens <= 2  # a blank, and no mark is gone


def test_frame_tokens_are_measured(vision: Ollama) -> None:
    small, large = count_frame_tokens(vision, 448, 336), count_frame_tokens(vision, 896, 672)
    if is_before_llama_server(vision.describe()):
        assert (small, large) == (222, 798)  # pixels / 784, and the 30 letters of the marks before and behind
    else:
        assert small >= 1024 <= large


def test_a_completion_has_log_probabilities_and_is_streamed(text: Ollama) -> None:
    heard: list[str] = []
    with stream_to(heard.append):
        completion = text.complete(ask("Name a colour in one word.", num_predict=200))
    assert (completion.finish, bool(completion.text.strip()), completion.thinking) == (Finish.STOP, True, "")
    assert (heard[0], "".join(heard)) == ("", completion.text)
    assert "".join(entry.token for entry in completion.logprobs) == completion.text
    assert sum(entry.logprob for entry in completion.logprobs) < 0
    assert completion.response_tokens - len(completion.logprobs) in {0, 1}  # the end token has none
    assert completion.prompt_tokens > 5
    assert completion.seconds > completion.prompt_seconds > 0


def test_the_log_probabilities_of_a_given_text(each_ollama: Server, smollm2: str) -> None:
    backend = Ollama(host=each_ollama.host, model=smollm2, load=LOAD)
    lost = (Message("user", "Ana: I did not get the job.\nWhat does Ben say to her?"),)
    for given in ('{"a":"é"}', "😀"):
        completion = backend.complete(build_likelihood_request(lost, given))
        assert completion.text == given
        assert all(token.logprob <= 0 for token in completion.logprobs)
    likely, unlikely = (
        sum(token.logprob for token in backend.complete(build_likelihood_request(lost, text)).logprobs)
        for text in ("I'm sorry to hear that.", "The train is at five.")
    )
    assert likely > unlikely / 2  # the values are the model's, from before the schema leaves it no choice
    assert unlikely < -20


def test_a_completion_follows_its_schema(text: Ollama) -> None:
    request = ask("How do they feel? Answer in JSON.", num_predict=400, schema=json.dumps(SCHEMA))
    completion = text.complete(request)
    assert completion.finish is Finish.STOP
    answer = json.loads(completion.text)
    jsonschema.validate(answer, SCHEMA)
    assert list(answer) == ["why", "emotion", "turns"]


def test_numbered_fields_stay_in_order_if_a_server_sorts_them(each_ollama: Server) -> None:
    backend = Ollama(host=each_ollama.host, model=OWN_TEMPLATE_MODEL, load=LOAD)

    def order(*names: str) -> list[str]:
        schema = {"type": "object", "properties": {name: {"enum": ["yes", "no"]} for name in names}, "required": names}
        request = ask("Answer in JSON.", num_predict=200, schema=json.dumps(schema))
        return list(json.loads(backend.complete(request).text))

    assert order("why", "answer") == (["answer", "why"] if each_ollama.runs_llama_server else ["why", "answer"])
    assert order("a_why", "b_answer") == ["a_why", "b_answer"]


def test_images_are_sent_in_order(vision: Ollama) -> None:
    first, second = picture(1), picture(2)
    pair, swapped = (vision.complete(ask("What is this?", *images)) for images in ((first, second), (second, first)))
    assert pair.logprobs[0].logprob != swapped.logprobs[0].logprob
    assert pair.prompt_tokens == swapped.prompt_tokens


def test_a_too_long_prompt_is_refused(text: Ollama) -> None:
    error = catch_failure(text, ask("word " * 5000))
    assert error.failure is Failure.CONTEXT_OVERFLOW
    assert "num_ctx" in error.hint


def test_a_missing_model_is_named(each_ollama: Server) -> None:
    absent = Ollama(host=each_ollama.host, model="absent:1b", load=LOAD)
    for call in (absent.describe, lambda: absent.complete(ask("Hello"))):
        with pytest.raises(CallError) as caught:
            call()
        assert (caught.value.failure, caught.value.hint) == (Failure.MODEL_NOT_FOUND, "ollama pull absent:1b")


def test_find_loaded_and_embed(text: Ollama) -> None:
    text.complete(ask("Hello", num_predict=1))
    host = OllamaHost(text.host)
    listed = host.find_loaded(TEXT_MODEL)
    assert listed
    assert listed.size
    assert (listed.context_length, listed.size > 100_000) == (4096, True)
    vectors = host.embed(EMBEDDING_MODEL, ["The sea is calm.", "I am angry."])
    assert [len(vector) for vector in vectors] == [64, 64]
    assert [float(np.linalg.norm(vector)) for vector in vectors] == pytest.approx([1.0, 1.0], abs=1e-3)
    assert host.find_loaded("absent") is None


def test_close_ends_a_call_and_frees_the_server(
    each_ollama: Server, smollm2: str, in_thread: Callable[[Callable[[], object]], Callable[[], object]]
) -> None:
    load = LOAD | {"num_ctx": 2047}
    busy = Ollama(host=each_ollama.host, model=smollm2, load=load)
    result = in_thread(lambda: busy.complete(ask("Numbers?", num_predict=1900, schema=json.dumps(ENDLESS))))
    while (now := OllamaHost(each_ollama.host).find_loaded(smollm2)) is None or now.context_length != 2047:
        time.sleep(0.02)  # until the call has had the model loaded for it
    busy.close()
    with pytest.raises(CallError) as caught:
        result()
    assert caught.value.failure is Failure.INTERRUPTED
    other = Ollama(host=each_ollama.host, model=smollm2, load=load)
    assert other.complete(ask("Hello", num_predict=2)).response_tokens == 2


LONG = {
    "model": SMOLLM2,
    "messages": [{"role": "user", "content": "Numbers?"}],
    "format": ENDLESS,
    "options": LOAD | {"num_predict": 1900},
}


def cut_short(server: Server) -> None:
    with Http(server.host, OLLAMA).post("/api/chat", LONG) as response:
        rest = skip_first_line(response)
        server.kill()
        list(rest)


def skip_first_line(response: httpx.Response) -> Iterator[bytes]:
    """The lines after the first of a completion that takes the server far longer than a test."""
    rest = read_lines(response)
    assert json.loads(next(rest))["done"] is False
    return rest


def test_a_runner_and_its_server_are_killed_during_a_completion(tmp_path: Path) -> None:
    """Without its runner the server lives on, says in the stream what happened, and starts another runner."""
    gguf, server = find_smollm2(), start_server(find_binary(VERSIONS[-1]), tmp_path)
    http = Http(server.host, OLLAMA)
    backend = Ollama(host=server.host, model=SMOLLM2, load=LOAD)
    try:
        create_from_gguf(server.host, SMOLLM2, gguf)
        if sys.platform.startswith("linux"):  # where the runner's process is listed in /proc
            with http.post("/api/chat", LONG) as response:
                rest = skip_first_line(response)
                for runner in children(server.process.pid):
                    os.kill(runner, signal.SIGKILL)
                last = list(rest)[-1]
            assert OLLAMA.classify(200, last.decode()).failure is Failure.RUNNER_CRASH
            assert backend.complete(ask("Hello", num_predict=2)).response_tokens == 2
        with pytest.raises(CallError) as caught:
            cut_short(server)
    finally:
        server.kill()
    assert caught.value.failure is Failure.RUNNER_CRASH
    assert catch_failure(backend, ask("Hello")).failure is Failure.UNREACHABLE


def children(pid: int) -> list[int]:
    """The processes that any thread of `pid` started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in lists for child in file.read_text().split()]
