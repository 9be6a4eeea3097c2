"""The checks of the doctor on scripted models, each with one fault."""

import json
import threading
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from mmerg.backends.dry import build_smallest
from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.protocol import Backend, Completion, Engine, Finish, Request, Sampling, TokenLogprob
from mmerg.backends.scripted import ENGINE, Scripted
from mmerg.checking import probes
from mmerg.checking.at_once import GROUPS, MAX_DISTINCT, check_parallel, compare_completions
from tests.backends.conftest import faulty_server, json_response

Answer = Callable[[Request], str]
CHECKS: dict[str, Callable[[Backend], probes.Finding]] = {
    "completion": probes.check_completion,
    "schema": probes.check_schema,
    "logprobs": probes.check_logprobs,
    "seeds": partial(probes.check_seeds, sampling=Sampling()),
    "two images": probes.check_two_images,
}


def good(request: Request) -> str:
    """Looks at the images and follows the schema."""
    if request.schema:
        return '{"a_steps": [3, 5], "b_mood": "calm"}'
    if request.images:
        return f"It shows {[image.sha256[:8] for image in request.images]}."
    return "Hello there." + f" {request.sampling.seed}" * bool(request.sampling.temperature)


def bad_schema(request: Request) -> str:
    return '{"a_steps": [1, 2, 3], "b_mood": "fine"}' if request.schema else good(request)


def sorts_fields(request: Request) -> str:
    """The server's grammar sorts fields by name, as in Ollama 0.34."""
    return (
        json.dumps(build_smallest(json.loads(request.schema), 0), sort_keys=True) if request.schema else good(request)
    )


def reverses_fields(request: Request) -> str:
    """The server's grammar has another order: a verdict would come before its reason."""
    return '{"b_mood": "calm", "a_steps": [3, 5]}' if request.schema else good(request)


def prose(request: Request) -> str:
    return "Here is what I think of it." if request.schema else good(request)


def whitespace(request: Request) -> str:
    """The server allows whitespace in JSON, which a small model writes without end."""
    return '{"a_steps":[' + "\n" * 100 if request.schema else good(request)


def blank(request: Request) -> str:
    return good(request) if request.schema else " "


def thoughts_in_text(request: Request) -> str:
    """The server does not separate thoughts, and ignores schemas until they end."""
    return f"<think>A greeting {{or}} two.</think>\n\n{good(request)}"


def only_thoughts(request: Request) -> str:
    return "<think>A greeting," if "Say hello" in request.messages[0].text else good(request)


def thoughts_of_stories(request: Request) -> str:
    """The model has only thought when a short completion ends."""
    return f"<think>{good(request)}" if "Tell a" in request.messages[0].text else good(request)


def sees_first(request: Request) -> str:
    return request.images[0].sha256 if request.images else good(request)


def sees_second(request: Request) -> str:
    return request.images[-1].sha256 if request.images else good(request)


def unseeded(request: Request) -> str:
    return "Hello." if request.sampling.temperature else good(request)


FAULTS: list[tuple[Answer, dict[str, str], str]] = [
    (good, {}, "fields in order"),
    (bad_schema, {"schema": "failed"}, "use a server that enforces JSON schemas"),
    (sorts_fields, {}, "fields in order"),
    (reverses_fields, {"schema": "failed"}, "use a server that enforces JSON schemas"),
    (prose, {"schema": "failed"}, "Here is what I think"),
    (whitespace, {"schema": "failed"}, "disallow whitespace in JSON"),
    (blank, {"completion": "failed", "logprobs": "failed", "seeds": "open", "two images": "open"}, "is blank"),
    (thoughts_in_text, {"completion": "failed", "schema": "failed"}, "does not separate thoughts"),
    (only_thoughts, dict.fromkeys(("completion", "schema", "logprobs"), "failed"), "use the model's instruct tag"),
    (thoughts_of_stories, {}, "the same seed repeats its completion, another seed changes it"),
    (sees_first, {"two images": "failed"}, "replacing the second of two images changes nothing"),
    (sees_second, {"two images": "failed"}, "replacing the first of two images changes nothing"),
    (unseeded, {"seeds": "open"}, "5 seeds gave the same completion"),
]


@pytest.mark.parametrize(("answer", "differs", "message"), FAULTS, ids=[case[0].__name__ for case in FAULTS])
def test_each_fault_is_found(answer: Answer, differs: dict[str, str], message: str) -> None:
    findings = {name: check(Scripted(answer)) for name, check in CHECKS.items()}
    assert {name: status for name, (status, _) in findings.items()} == dict.fromkeys(CHECKS, "ok") | differs
    assert message in " ".join(text for _, text in findings.values())


def test_seeds_must_act_if_the_backbone_samples() -> None:
    status, text = probes.check_seeds(Scripted(unseeded), Sampling(temperature=0.5))
    assert (status, "the backbone's temperature is 0.5" in text) == ("failed", True)


def check_frame(tokens: int, model: str, version: str) -> probes.Finding:
    engine = ENGINE.model_copy(update={"backend": "ollama", "version": version, "model": model})
    return probes.check_frame_tokens(tokens, 672, 504, engine)


def test_a_frame_with_too_few_tokens_for_its_model_is_reported() -> None:
    status, text = check_frame(336, "qwen3.5:9b", "0.34.1")
    assert (status, "672x504 px takes 336 tokens, too few: llama.cpp requires 1024" in text) == ("open", True)
    assert text.endswith(
        "start the server with LLAMA_ARG_IMAGE_MIN_TOKENS=1024 in its environment, or use larger frames: image_side "
        "1184, if the clips have the pixels"
    )
    for case in ((1036, "qwen3.5:9b", "0.34.1"), (256, "gemma3:4b", "0.34.1"), (336, "qwen3.5:9b", "0.24.0")):
        assert check_frame(*case) == ("ok", f"a frame of 672x504 px takes {case[0]} tokens")
    assert check_frame(1, "llama3.2-vision", "0.24.0")[0] == "open"


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"size": 2**31, "size_vram": 2**31, "context_length": 512}, "ok", "2.0 GiB, context 512 as loaded, all of it"),
        ({"size": 2**31, "size_vram": 2**30, "context_length": 512}, "open", "50 % of it on the CPU"),
        ({"size": 2**31, "size_vram": 2**31, "context_length": 256}, "failed", "context 256 as loaded, 512 was asked"),
        (None, "failed", "the model is not loaded after a call"),
    ],
)
def test_the_place_and_context_of_the_loaded_model_are_checked(
    fields: dict[str, int] | None, status: str, message: str
) -> None:
    models = [] if fields is None else [{"model": "m:latest", "name": "m:latest", **fields}]
    engine = Engine(backend="ollama", version="1", model="m", digest="d", load={"num_ctx": 512})
    with faulty_server() as server:
        server.respond(json_response({"models": models}), path="/api/ps")
        found = probes.check_loaded_model(OllamaHost(server.host).find_loaded("m"), engine)
    assert (found[0], message in found[1]) == (status, True)


# Simultaneous calls


def completion(*logprobs: tuple[str, float]) -> Completion:
    tokens = tuple(TokenLogprob(token=token, logprob=logprob) for token, logprob in logprobs)
    return Completion(text="".join(token for token, _ in logprobs), finish=Finish.STOP, logprobs=tokens)


@pytest.mark.parametrize(
    ("other", "agreement"),
    [
        ((("a", -0.12), ("b", -0.7)), "alike"),
        ((("a", -0.1), ("c", -0.71), ("d", -5.0)), "tied"),
        ((("c", -0.01), ("b", -0.7)), "other"),
        ((("a", -0.1), ("c", -2.0)), "other"),
        ((("a", -0.4), ("b", -0.7)), "other"),
        ((("a", -0.1),), "other"),
    ],
)
def test_completions_are_alike_tied_or_other(other: tuple[tuple[str, float], ...], agreement: str) -> None:
    assert compare_completions(completion(("a", -0.1), ("b", -0.7)), completion(*other)) == agreement


@pytest.mark.parametrize(("concurrency", "status"), [(1, "ok"), (2, "failed")])
def test_simultaneous_calls_that_change_each_other_fail(concurrency: int, status: str) -> None:
    numbers, guard = count(), threading.Lock()

    def unsteady(_: Request) -> str:
        with guard:
            return "Hello." + " more" * next(numbers)

    found = check_parallel(Scripted(unsteady), concurrency, vision=False)
    assert (found[0], "backbone.concurrency=1" in found[1]) == (status, True)


@pytest.mark.parametrize(("concurrency", "together", "alone"), [(1, 2, 2), (5, 5, 5), (24, 24, MAX_DISTINCT)])
def test_the_check_makes_as_many_simultaneous_calls_as_a_run(concurrency: int, together: int, alone: int) -> None:
    backend = Scripted(lambda request: request.digest)
    status, text = check_parallel(backend, concurrency, vision=False)
    assert (status, f"{GROUPS} groups of {together} calls" in text) == ("ok", True)
    assert len(backend.requests) == GROUPS * (alone + together)
    assert len({request.digest for request in backend.requests}) == GROUPS * alone
