"""The checks of `mmerg doctor`: small calls whose correct result is known.

A check returns `ok`, `failed`, or `open` if it can show neither, with a text. A missing result is never `ok`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mmerg.backends.protocol import (
    Backend,
    Completion,
    Engine,
    Finish,
    Image,
    Message,
    Request,
    Sampling,
    build_likelihood_request,
)
from mmerg.errors import CompletionError, Failure, SampleError
from mmerg.frames.picture import to_jpeg
from mmerg.storage.record import Record
from mmerg.systems.parsing import parse_output
from mmerg.systems.schema import Bounds, build_json_schema

if TYPE_CHECKING:
    from ollama import ProcessResponse

OTHER_SEEDS = (8, 9, 10, 11)  # several, as a small model may give the same refusal for some of them
UNBOUND = Bounds(frozenset(), {}, {})
LEAST_QWEN = 1024  # tokens an image that llama.cpp requires in its log (tools/mtmd/clip.cpp, b10864)
HELLO = "Say hello in one short sentence."
UNFITTING = "Nineteen green ladders fell off the parliament."
TINY = 1e-4  # a log-likelihood per character nearer to 0 means that a schema left no choice of tokens
SLOW = 2.0  # tokens a second
ENOUGH = 512  # tokens, for thoughts and a short text

Finding: TypeAlias = tuple[Literal["ok", "failed", "open"], str]


class Steps(Record):
    steps: Annotated[list[Annotated[int, Field(ge=3, le=5)]], Field(min_length=2, max_length=2)]
    mood: Literal["calm", "tense"]


def check_completion(backend: Backend) -> Finding:
    completion = backend.complete(build_request(HELLO, num_predict=ENOUGH))
    text = f"{completion.prompt_tokens} + {completion.response_tokens} tokens in {completion.seconds:.1f} s"
    if fault := _describe_thoughts_fault(completion):
        return "failed", fault
    if not completion.text.strip():
        return "failed", f"the completion is blank ({text}); a thinking-only tag? use the instruct tag"
    return "ok", text


def _describe_thoughts_fault(completion: Completion) -> str:
    """Describes what is wrong with the thoughts in a completion, and the remedy; "" if nothing is wrong."""
    if "thinking" in completion.removed:
        what = "the server does not separate thoughts, so mmerg has to find them in the text"
        return f"{what}; use the model's instruct tag, or start the server with its reasoning parser: docs/servers.md"
    if completion.thinking and not completion.text.strip():
        what = f"all {completion.response_tokens} tokens went into thoughts, and there was no text"
        remedy = "use the model's instruct tag, set backbone.think=false, or give stages more tokens (num_predict)"
        return f"{what}; {remedy}"
    return ""


def check_speed(backend: Backend, calls: int) -> Finding:
    """Measures how fast the loaded model writes, and estimates the time of `calls` short calls."""
    completion = backend.complete(build_request("Count from 1 to 20 in words.", num_predict=24))
    pace, left = completion.response_tokens / max(completion.seconds, 1e-6), calls * completion.seconds
    text = f"{pace:.1f} tokens a second; the next {calls} calls take about {max(1, round(left / 60))} min"
    if 0 < pace < SLOW:
        return "open", f"{text}; on a CPU with few free cores fewer threads are faster: +backbone.load.num_thread=2"
    return "ok", text


def check_schema(backend: Backend) -> Finding:
    """Checks that a completion follows a schema, with its fields in the order of the class, though the prompt asks for
    plain words. Only if the order is kept does a model reason before it decides."""
    text = "Say hello in one short sentence of plain words, without any JSON."
    completion = backend.complete(build_request(text, output=Steps, num_predict=ENOUGH))
    if fault := _describe_thoughts_fault(completion):
        return "failed", fault
    if _follows_schema(completion, Steps) and completion.finish is Finish.STOP:
        return "ok", "the completion follows the JSON schema, fields in order, though the prompt asks for plain words"
    ends_in_blanks = len(completion.text) > 3 and completion.text[-4:].isspace()
    hint = "disallow whitespace in JSON" if ends_in_blanks else "use a server that enforces JSON schemas"
    return "failed", f"asked for a schema, got {completion.text[:120]!r} ({completion.finish}); {hint}: docs/servers.md"


def check_logprobs(backend: Backend) -> Finding:
    """Checks that free text has log-probabilities, which perplexity needs."""
    completion = backend.complete(build_request(HELLO, num_predict=ENOUGH))
    if "log-probabilities" in completion.removed:
        what = "it is not clear which tokens are thoughts: self_ppl cannot be computed"
        return "failed", f"{what}; {_describe_thoughts_fault(completion)}"
    if not completion.logprobs:
        return "failed", "the server gives no log-probabilities: self_ppl cannot be computed; update the server"
    return "ok", f"{len(completion.logprobs)} for {completion.response_tokens} tokens"


def check_likelihood(backend: Backend) -> Finding:
    """Checks the log-likelihood of a given text, which is a completion of the prompt: it is below 0, above that of a
    misfit, and nearer to that of the completion than to the misfit's. Only form=likelihood needs this. The tokens of a
    given text may differ from those of a completion, so the sums are compared, per character of the text."""
    request = build_request(HELLO, num_predict=24)
    completion = backend.complete(request)
    text = completion.text.strip()
    if not text or not completion.logprobs:
        return "open", "nothing to compare with: the completion has no log-probabilities"
    try:
        scored = (backend.complete(build_likelihood_request(request.messages, it)) for it in (text, UNFITTING))
        own, given, other = (_sum_logprobs(each) / len(each.text.strip()) for each in (completion, *scored))
    except SampleError as error:
        if error.failure is Failure.MODEL_NOT_LOADED:
            raise
        return "open", f"form=likelihood cannot be used: {error.what}"
    what = f"{given:.2f} nats per character of a given text, {own:.2f} of it as a completion, {other:.2f} of a misfit"
    if not other < given < -TINY or abs(own - given) > given - other:
        return "open", f"form=likelihood cannot be used: {what}; a completion and the given text should be alike"
    return "ok", what


def _sum_logprobs(completion: Completion) -> float:
    return sum(token.logprob for token in completion.logprobs)


def check_seeds(backend: Backend, sampling: Sampling) -> Finding:
    """Checks that the same seed repeats a completion, and another changes it. Fails only if the backbone samples."""
    sampled = replace(sampling, temperature=1.0, num_predict=32)
    text = "Tell a story about a storm."
    texts = (
        get_written(backend.complete(build_request(text, sampling=replace(sampled, seed=seed))))
        for seed in (7, 7, *OTHER_SEEDS)
    )
    first, again = next(texts), next(texts)
    if first == again and any(other != first for other in texts):
        return "ok", "the same seed repeats its completion, another seed changes it"
    same = f"{1 + len(OTHER_SEEDS)} seeds gave the same completion: the server ignores them"
    why = "the same seed gave two completions" if first != again else same
    if sampling.temperature:
        return "failed", f"{why}; the backbone's temperature is {sampling.temperature:g}"
    return "open", f"{why}; the backbone's temperature is 0, so this matters only if you raise it"


def check_two_images(backend: Backend) -> Finding:
    """Checks that both of two images reach the model: replacing either changes the completion."""
    red, blue = (encode_image(np.full((128, 128, 3), values, np.uint8)) for values in ((40, 40, 220), (220, 60, 40)))
    both, *changed = (
        backend.complete(build_request("Describe the images in one sentence.", pair, num_predict=16))
        for pair in ((red, red), (blue, red), (red, blue))
    )
    same = [(get_written(other), other.logprobs) == (get_written(both), both.logprobs) for other in changed]
    if not any(same):
        return "ok", "each changes the completion"
    which = " and ".join(name for name, equal in zip(("first", "second"), same, strict=True) if equal)
    why = f"replacing the {which} of two images changes nothing"
    if not both.logprobs:
        return "open", f"{why} in the words, and there are no log-probabilities to compare"
    return "failed", f"{why}: the model does not see it; set backbone.max_images=1, which sends one grid"


def count_frame_tokens(backend: Backend, width: int, height: int) -> int:
    ramp = np.linspace(0, 255, width * height * 3).astype(np.uint8).reshape(height, width, 3)
    text = "Describe what you see."
    with_image = backend.complete(build_request(text, [encode_image(ramp)], num_predict=8))
    without = backend.complete(build_request(text, num_predict=8))
    return with_image.prompt_tokens - without.prompt_tokens


def check_frame_tokens(tokens: int, width: int, height: int, engine: Engine) -> Finding:
    """Checks that a frame has as many tokens as the model needs."""
    size = f"a frame of {width}x{height} px takes {tokens} tokens"
    if tokens <= 1:
        return "open", f"{size} by the server's count, which ignores pictures"
    remedy = "--image-min-tokens 1024 on its command line" if engine.load.get("dialect") == "llama-server" else ""
    if engine.backend == "ollama" and not is_before_llama_server(engine):
        remedy = "LLAMA_ARG_IMAGE_MIN_TOKENS=1024 in its environment"
    if not remedy or "qwen" not in engine.model.lower() or tokens >= LEAST_QWEN:
        return "ok", size
    side = math.ceil(max(width, height) * math.sqrt(LEAST_QWEN / tokens) / 32) * 32
    larger = f"use larger frames: image_side {side}, if the clips have the pixels"
    few = f"too few: llama.cpp requires {LEAST_QWEN} an image with Qwen-VL models"
    return "open", f"{size}, {few}; start the server with {remedy}, or {larger}"


def is_before_llama_server(engine: Engine) -> bool:
    """Returns True for an Ollama before 0.30, which runs models itself and not in a llama-server."""
    numbers = re.match(r"(\d+)\.(\d+)", engine.version)
    return engine.backend == "ollama" and numbers is not None and tuple(map(int, numbers.groups())) < (0, 30)


def check_context(engine: Engine) -> Finding:
    """Checks that the model supports the context length in the settings."""
    wanted = engine.load.get("num_ctx", 0)
    if engine.context_length and int(wanted) > engine.context_length:
        text = f"num_ctx {wanted} is over the model's own {engine.context_length}: the server would clamp it silently"
        return "failed", f"{text}; set backbone.load.num_ctx={engine.context_length}"
    return "ok", f"num_ctx {wanted} of {engine.context_length or 'an unknown number of'} tokens"


def check_loaded_model(loaded: ProcessResponse.Model | None, engine: Engine) -> Finding:
    """Checks where Ollama loaded the model, and with which context. loaded: its entry in `ollama ps` after a call."""
    if loaded is None:
        return "failed", "the model is not loaded after a call; the server unloads it at once"
    wanted, size = int(engine.load.get("num_ctx", 0)), loaded.size or 0
    what = f"{size / 2**30:.1f} GiB, context {loaded.context_length} as loaded"
    if loaded.context_length and loaded.context_length < wanted:
        return "failed", f"{what}, {wanted} was asked for"
    if on_cpu := size - (loaded.size_vram or 0):
        share = f"{100 * on_cpu / size:.0f} % of it on the CPU"
        return "open", f"{what}, {share}, which is slow; a smaller num_ctx may fit the GPU"
    return "ok", f"{what}, all of it on the GPU"


def build_request(
    text: str,
    images: Sequence[Image] = (),
    output: type[Record] | None = None,
    num_predict: int = 128,
    sampling: Sampling | None = None,
) -> Request:
    """Builds a request with one message. It asks for log-probabilities if there is no `output` class."""
    schema = build_json_schema(output, UNBOUND).text if output else ""
    sampling = sampling or Sampling(num_predict=num_predict, seed=1)
    return Request((Message("user", text, tuple(images)),), sampling, schema, logprobs=not schema)


def get_written(completion: Completion) -> tuple[str, str]:
    """Returns the thoughts and the text of a completion. Both are compared, as a short one may be all thoughts."""
    return completion.thinking, completion.text


def _follows_schema(completion: Completion, kind: type[Record]) -> bool:
    try:
        _, removed = parse_output(kind, UNBOUND, completion.text)
    except CompletionError:
        return False
    properties = json.loads(build_json_schema(kind, UNBOUND).text)["properties"]
    return not removed and list(json.loads(completion.text)) == list(properties)


def encode_image(pixels: NDArray[np.uint8]) -> Image:
    data = to_jpeg(pixels, 90)
    return Image(sha256(data).hexdigest(), data)
