"""The checks of `mmerg doctor`: small calls whose right answer is known.

A probe returns `ok`, `failed`, or `open` if it could show neither, and a text. It never takes silence for success.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mmerg.backends.protocol import (
    Backend,
    Engine,
    Finish,
    Image,
    Message,
    Reply,
    Request,
    Sampling,
    build_likelihood_request,
)
from mmerg.errors import Failure, ReplyError, SampleError
from mmerg.frames.picture import to_jpeg
from mmerg.storage.record import Record
from mmerg.systems.schema import Bounds, build_json_schema, parse_output

if TYPE_CHECKING:
    from ollama import ProcessResponse

OTHER_SEEDS = (8, 9, 10, 11)  # several, as a small model may refuse with the same words a few times
UNBOUND = Bounds(frozenset(), {}, {})
LEAST_QWEN = 1024  # tokens an image: what llama.cpp's log asks for (tools/mtmd/clip.cpp, b10864)
HELLO = "Say hello in one short sentence."
UNFITTING = "Nineteen green ladders fell off the parliament."
TINY = 1e-3  # a mean log-probability so near 0 is that of tokens that a schema left no choice
SLOW = 2.0  # tokens a second
ENOUGH = 512  # tokens for thoughts and a short reply

Finding: TypeAlias = tuple[Literal["ok", "failed", "open"], str]


class Steps(Record):
    steps: Annotated[list[Annotated[int, Field(ge=3, le=5)]], Field(min_length=2, max_length=2)]
    mood: Literal["calm", "tense"]


def answers(backend: Backend) -> Finding:
    reply = backend.complete(request(HELLO, num_predict=ENOUGH))
    text = f"{reply.prompt_tokens} + {reply.response_tokens} tokens in {reply.seconds:.1f} s"
    if fault := _thoughts_fault(reply):
        return "failed", fault
    if not reply.text.strip():
        return "failed", f"the reply is blank ({text}); a thinking-only tag? use the instruct tag"
    return "ok", text


def _thoughts_fault(reply: Reply) -> str:
    """What is wrong with the thoughts in a reply, and what to do; "" if nothing is."""
    if "thinking" in reply.taken:
        what = "the server does not separate thoughts, so mmerg has to find them in the text"
        return f"{what}; use the model's instruct tag, or start the server with its reasoning parser: docs/servers.md"
    if reply.thinking and not reply.text.strip():
        what = f"all {reply.response_tokens} tokens went into thoughts, and there was no reply"
        return (
            f"{what}; use the model's instruct tag, set backbone.think=false, or give stages more tokens (num_predict)"
        )
    return ""


def speed(backend: Backend, calls: int) -> Finding:
    """How fast the loaded model writes, and about how long `calls` short calls take."""
    reply = backend.complete(request("Count from 1 to 20 in words.", num_predict=24))
    pace, left = reply.response_tokens / max(reply.seconds, 1e-6), calls * reply.seconds
    text = f"{pace:.1f} tokens a second; the next {calls} calls take about {max(1, round(left / 60))} min"
    if 0 < pace < SLOW:
        return "open", f"{text}; on a CPU with few free cores fewer threads are faster: +backbone.load.num_thread=2"
    return "ok", text


def schema(backend: Backend) -> Finding:
    """Whether a reply follows a schema, fields in the order of the class, though the prompt asks for something else. A
    model reasons before it decides only if that order is kept."""
    text = "Say hello in one short sentence of plain words, without any JSON."
    reply = backend.complete(request(text, answer=Steps, num_predict=ENOUGH))
    if fault := _thoughts_fault(reply):
        return "failed", fault
    if _holds(reply, Steps) and reply.finish is Finish.STOP:
        return "ok", "the reply follows the JSON schema, fields in order, though the prompt asks for plain words"
    blanks = len(reply.text) > 3 and reply.text[-4:].isspace()
    hint = "disallow whitespace in JSON" if blanks else "use a server that enforces JSON schemas"
    return "failed", f"asked for a schema, got {reply.text[:120]!r} ({reply.finish}); {hint}: docs/servers.md"


def logprobs(backend: Backend) -> Finding:
    """Whether log-probabilities come with free text: perplexity needs them."""
    reply = backend.complete(request(HELLO, num_predict=ENOUGH))
    if "log-probabilities" in reply.taken:
        return (
            "failed",
            f"it is not clear which tokens are thoughts: self_ppl cannot be computed; {_thoughts_fault(reply)}",
        )
    if not reply.logprobs:
        return "failed", "the server gives no log-probabilities: self_ppl cannot be computed; update the server"
    return "ok", f"{len(reply.logprobs)} for {reply.response_tokens} tokens"


def likelihood(backend: Backend) -> Finding:
    """Whether a given text has about the same log-probabilities as when the model replies with it, and an unfitting
    text has lower ones. Only checks with form=likelihood need this."""
    asked = request(HELLO, num_predict=24)
    said = backend.complete(asked)
    if not said.text.strip() or not said.logprobs:
        return "open", "nothing to compare with: the reply has no log-probabilities"
    try:
        texts = (said.text.strip(), UNFITTING)
        given, other = (_mean(backend.complete(build_likelihood_request(asked.messages, text))) for text in texts)
    except SampleError as error:
        if error.failure is Failure.MODEL_NOT_LOADED:
            raise
        return "open", f"form=likelihood cannot be used: {error.what}"
    what = f"log-probability per token: {_mean(said):.2f} as a reply, {given:.2f} as a text, {other:.2f} of a misfit"
    if not other < given < -TINY:
        return "open", f"form=likelihood cannot be used: {what}; the server changes them for the schema"
    return "ok", what


def _mean(reply: Reply) -> float:
    return fmean(token.logprob for token in reply.logprobs)


def seeds(backend: Backend, sampling: Sampling) -> Finding:
    """Whether a seed repeats its reply and another seed changes it. Fails only if the backbone samples."""
    hot = replace(sampling, temperature=1.0, num_predict=32)
    text = "Tell a story about a storm."
    texts = (
        written(backend.complete(request(text, sampling=replace(hot, seed=seed)))) for seed in (7, 7, *OTHER_SEEDS)
    )
    one, again = next(texts), next(texts)
    if one == again and any(other != one for other in texts):
        return "ok", "the same seed repeats its reply, another seed changes it"
    same = f"{1 + len(OTHER_SEEDS)} seeds gave the same reply: the server ignores them"
    why = "the same seed gave two replies" if one != again else same
    if sampling.temperature:
        return "failed", f"{why}; the backbone's temperature is {sampling.temperature:g}"
    return "open", f"{why}; the backbone's temperature is 0, so this matters only if you raise it"


def two_images(backend: Backend) -> Finding:
    """Whether both of two images reach the model: replacing either changes the reply."""
    red, blue = (picture(np.full((128, 128, 3), values, np.uint8)) for values in ((40, 40, 220), (220, 60, 40)))
    both, *changed = (
        backend.complete(request("Describe the images in one sentence.", pair, num_predict=16))
        for pair in ((red, red), (blue, red), (red, blue))
    )
    same = [(written(reply), reply.logprobs) == (written(both), both.logprobs) for reply in changed]
    if not any(same):
        return "ok", "each changes the reply"
    which = " and ".join(name for name, equal in zip(("first", "second"), same, strict=True) if equal)
    why = f"replacing the {which} of two images changes nothing"
    if not both.logprobs:
        return "open", f"{why} in the words, and there are no log-probabilities to compare"
    return "failed", f"{why}: the model does not see it; set backbone.max_images=1, which sends one grid"


def frame_tokens(backend: Backend, width: int, height: int) -> int:
    """The prompt tokens that a picture of this size takes."""
    ramp = np.linspace(0, 255, width * height * 3).astype(np.uint8).reshape(height, width, 3)
    text = "Describe what you see."
    seen, unseen = (
        backend.complete(request(text, images, num_predict=8)).prompt_tokens for images in ([picture(ramp)], [])
    )
    return seen - unseen


def frame_detail(tokens: int, width: int, height: int, family: str, engine: Engine) -> Finding:
    """Whether a frame has as many tokens as its model needs. family: the model's architecture, else its name."""
    size = f"a frame of {width}x{height} px takes {tokens} tokens"
    if tokens <= 1:
        return "open", f"{size} by the server's count, which ignores pictures"
    remedy = "--image-min-tokens 1024 on its command line" if engine.load.get("dialect") == "llama-server" else ""
    if engine.backend == "ollama" and not before_llama_server(engine):
        remedy = "LLAMA_ARG_IMAGE_MIN_TOKENS=1024 in its environment"
    if not remedy or "qwen" not in family or tokens >= LEAST_QWEN:
        return "ok", size
    side = math.ceil(max(width, height) * math.sqrt(LEAST_QWEN / tokens) / 32) * 32
    larger = f"use larger frames: image_side {side}, if the clips have the pixels"
    few = f"too few: llama.cpp requires {LEAST_QWEN} an image with Qwen-VL models"
    return "open", f"{size}, {few}; start the server with {remedy}, or {larger}"


def before_llama_server(engine: Engine) -> bool:
    """Whether this is an Ollama before 0.30, which runs models itself and not in a llama-server."""
    numbers = re.match(r"(\d+)\.(\d+)", engine.version)
    return engine.backend == "ollama" and numbers is not None and tuple(map(int, numbers.groups())) < (0, 30)


def context(engine: Engine) -> Finding:
    """Whether the model can have the context that the settings ask for."""
    wanted = engine.load.get("num_ctx", 0)
    if engine.context_length and int(wanted) > engine.context_length:
        text = f"num_ctx {wanted} is over the model's own {engine.context_length}: the server would clamp it silently"
        return "failed", f"{text}; set backbone.load.num_ctx={engine.context_length}"
    return "ok", f"num_ctx {wanted} of {engine.context_length or 'an unknown number of'} tokens"


def memory(now: ProcessResponse.Model | None, engine: Engine) -> Finding:
    """Where Ollama loaded the model, and with which context. now: what it says after a call."""
    if now is None:
        return "failed", "the model is not loaded after a call; the server unloads it at once"
    wanted, size = int(engine.load.get("num_ctx", 0)), now.size or 0
    loaded = f"{size / 2**30:.1f} GiB, context {now.context_length} as loaded"
    if now.context_length and now.context_length < wanted:
        return "failed", f"{loaded}, {wanted} was asked for"
    if on_cpu := size - (now.size_vram or 0):
        share = f"{100 * on_cpu / size:.0f} % of it on the CPU"
        return "open", f"{loaded}, {share}, which is slow; a smaller num_ctx may fit the GPU"
    return "ok", f"{loaded}, all of it on the GPU"


def request(
    text: str,
    images: Sequence[Image] = (),
    answer: type[Record] | None = None,
    num_predict: int = 128,
    sampling: Sampling | None = None,
) -> Request:
    """A prompt in plain words; free text brings log-probabilities."""
    schema = build_json_schema(answer, UNBOUND).text if answer else ""
    sampling = sampling or Sampling(num_predict=num_predict, seed=1)
    return Request((Message("user", text, tuple(images)),), sampling, schema, logprobs=not schema)


def written(reply: Reply) -> tuple[str, str]:
    """All that the model wrote. A short reply may be all thoughts, which tell replies apart as well as words do."""
    return reply.thinking, reply.text


def _holds(reply: Reply, kind: type[Record]) -> bool:
    try:
        _, removed = parse_output(kind, UNBOUND, reply.text)
    except ReplyError:
        return False
    return not removed and list(json.loads(reply.text)) == list(
        json.loads(build_json_schema(kind, UNBOUND).text)["properties"]
    )


def picture(pixels: NDArray[np.uint8]) -> Image:
    data = to_jpeg(pixels, 90)
    return Image(sha256(data).hexdigest(), data)
