"""What a doctor asks of a backend: small calls whose right answer is known. Each gives one finding.

A probe says `ok`, `failed`, or `open` where nothing could be shown either way; it never takes silence for success.
Knows backends by their protocol only.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from mmerg.backends.protocol import Backend, Finish, Image, Message, Reply, Request, Sampling
from mmerg.errors import CallError
from mmerg.frames.picture import to_jpeg

COLOURS = {"red": (40, 40, 220), "green": (60, 180, 60), "blue": (220, 60, 40), "yellow": (40, 220, 230)}  # B, G, R
PAIRS = 3
AGREE = 0.05  # log-probabilities of the same tokens may differ by so much between runs on a GPU

Status = Literal["ok", "failed", "open"]


@dataclass(frozen=True)
class Found:
    """A probe's finding, a line in the doctor's report."""

    probe: str
    status: Status
    text: str


def answers(backend: Backend) -> Found:
    """A plain call gives words."""
    reply = backend.complete(_request("Say hello in one short sentence.", num_predict=64))
    told = f"{reply.prompt_tokens} + {reply.response_tokens} tokens in {reply.seconds:.1f} s"
    if not reply.text.strip():
        return Found("reply", "failed", f"the reply is blank ({told}); a thinking-only tag? take the instruct tag")
    return Found("reply", "ok", told)


def schema(backend: Backend) -> Found:
    """A reply holds to a schema that the model would not follow by chance."""
    step = {"type": "integer", "minimum": 3, "maximum": 5}
    steps = {"type": "array", "items": step, "minItems": 2, "maxItems": 2}
    wanted = _object(steps=steps, mood={"type": "string", "enum": ["calm", "tense"]})
    text = 'Answer with a JSON object: "steps" (two whole numbers from 3 to 5) and "mood" ("calm" or "tense").'
    reply = backend.complete(_request(text, schema=wanted))
    if reply.finish is Finish.STOP and _holds(_parsed(reply)):
        return Found("schema", "ok", "a reply holds to its JSON schema")
    told = f"asked for a schema, got {reply.text[:120]!r} ({reply.finish}); update the server"
    return Found("schema", "failed", told)


def _holds(got: object) -> bool:
    if not isinstance(got, dict) or list(got) != ["steps", "mood"]:
        return False
    steps, mood = got["steps"], got["mood"]
    two = isinstance(steps, list) and len(steps) == 2 and all(type(step) is int and 3 <= step <= 5 for step in steps)
    return two and mood in ("calm", "tense")


def logprobs(backend: Backend) -> Found:
    """Log-probabilities come with free text: perplexity needs them."""
    reply = backend.complete(_request("Say hello in one short sentence.", num_predict=64))
    if not reply.logprobs:
        told = "no log-probabilities came back: self_ppl cannot be computed; update the server"
        return Found("logprobs", "failed", told)
    return Found("logprobs", "ok", f"{len(reply.logprobs)} for {reply.response_tokens} tokens")


def two_images(backend: Backend) -> Found:
    """Two plain colours are told apart, in both orders."""
    right = 0
    orders = [("red", "blue"), ("blue", "red"), ("green", "yellow")]
    colour = {"type": "string", "enum": list(COLOURS)}
    wanted = _object(first=colour, second=colour)
    text = f'Which colour is each image? JSON with "first" and "second", each one of {", ".join(COLOURS)}.'
    for first, second in orders:
        images = [_image(np.full((128, 128, 3), COLOURS[name], np.uint8)) for name in (first, second)]
        got = _parsed(backend.complete(_request(text, images, wanted)))
        right += isinstance(got, dict) and (got.get("first"), got.get("second")) == (first, second)
    told = f"colours told apart in {right} of {len(orders)} pairs"
    if right == len(orders):
        return Found("two images", "ok", told)
    doubt = "it could not be shown that both images are seen; consider backbone.max_images=1, which sends one grid"
    return Found("two images", "open", f"{told} only: {doubt}")


def parallel(backend: Backend, concurrency: int) -> Found:
    """Calls with images of unequal size, sent at once, give what each gives alone."""
    chance = random.Random(7)
    differ = 0
    for _ in range(PAIRS):
        sides = chance.sample((96, 160, 224, 288, 352), 2)
        noises = [_noise(side, chance.randrange(2**31)) for side in sides]
        pair = [_request("Describe the image in one sentence.", (noise,), num_predict=24) for noise in noises]
        alone = [backend.complete(request) for request in pair]
        with ThreadPoolExecutor(2) as threads:
            together = list(threads.map(backend.complete, pair))
        differ += any(not _same(one, two) for one, two in zip(alone, together, strict=True))
    if not differ:
        text = f"{PAIRS} pairs of calls at once gave what each gave alone (or the server took them one by one)"
        return Found("parallel", "ok", text)
    told = f"{differ} of {PAIRS} pairs of calls at once gave other answers than alone"
    if concurrency > 1:
        return Found("parallel", "failed", f"{told}: set backbone.concurrency=1")
    return Found("parallel", "ok", f"{told}; one call at a time is what backbone.concurrency=1 asks for")


def _same(one: Reply, two: Reply) -> bool:
    """Equal tokens; their log-probabilities within what a GPU's order of sums may change."""
    if [t.token for t in one.logprobs] != [t.token for t in two.logprobs] or one.text != two.text:
        return False
    return all(abs(a.logprob - b.logprob) <= AGREE for a, b in zip(one.logprobs, two.logprobs, strict=True))


def failed_call(probe: str, error: CallError) -> Found:
    """A failed call as a finding."""
    return Found(probe, "failed", f"{error.failure}: {error.what}{f'; {error.hint}' if error.hint else ''}")


def _request(text: str, images: Sequence[Image] = (), schema: str = "", num_predict: int = 128) -> Request:
    message = Message("user", text, tuple(images))
    return Request((message,), Sampling(num_predict=num_predict, seed=1), schema, logprobs=not schema)


def _object(**properties: object) -> str:
    """The JSON schema of an object with these properties and no other."""
    kind = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return json.dumps(kind)


def _parsed(reply: Reply) -> object:
    try:
        return cast(object, json.loads(reply.text))
    except ValueError:
        return None


def _noise(side: int, seed: int) -> Image:
    blocks = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8)
    return _image(np.kron(blocks, np.ones((side // 8, side // 8, 1), np.uint8)))


def _image(picture: NDArray[np.uint8]) -> Image:
    data = to_jpeg(picture, 90)
    return Image(sha256(data).hexdigest(), data)
