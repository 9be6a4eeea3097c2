"""What a doctor asks of a backend: small calls whose right answer is known. Each gives one finding.

A probe says `ok`, `failed`, or `open` where nothing could be shown either way; it never takes silence for success.
Knows backends by their protocol only.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

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
    wanted = {
        "type": "object",
        "properties": {
            "steps": {
                "type": "array",
                "items": {"type": "integer", "minimum": 3, "maximum": 5},
                "minItems": 2,
                "maxItems": 2,
            },
            "mood": {"type": "string", "enum": ["calm", "tense"]},
        },
        "required": ["steps", "mood"],
        "additionalProperties": False,
    }
    text = 'Answer with a JSON object: "steps" (two whole numbers from 3 to 5) and "mood" ("calm" or "tense").'
    reply = backend.complete(_request(text, schema=json.dumps(wanted)))
    try:
        got = json.loads(reply.text)
        good = list(got) == ["steps", "mood"] and got["mood"] in ("calm", "tense")
        good = good and len(got["steps"]) == 2 and all(type(n) is int and 3 <= n <= 5 for n in got["steps"])
    except (ValueError, TypeError, KeyError):
        good = False
    if reply.finish is Finish.STOP and good:
        return Found("schema", "ok", "a reply holds to its JSON schema")
    return Found(
        "schema", "failed", f"asked for a schema, got {reply.text[:120]!r} ({reply.finish}); update the server"
    )


def logprobs(backend: Backend) -> Found:
    """Log-probabilities come with free text: perplexity needs them."""
    reply = backend.complete(_request("Say hello in one short sentence.", num_predict=64))
    if not reply.logprobs:
        return Found(
            "logprobs", "failed", "no log-probabilities came back: self_ppl cannot be computed; update the server"
        )
    return Found("logprobs", "ok", f"{len(reply.logprobs)} for {reply.response_tokens} tokens")


def two_images(backend: Backend) -> Found:
    """Two plain colours are told apart, in both orders."""
    right = 0
    orders: list[tuple[str, str]] = [("red", "blue"), ("blue", "red"), ("green", "yellow")]
    wanted = {
        "type": "object",
        "properties": {name: {"type": "string", "enum": list(COLOURS)} for name in ("first", "second")},
        "required": ["first", "second"],
        "additionalProperties": False,
    }
    text = f'Which colour is each image? JSON with "first" and "second", each one of {", ".join(COLOURS)}.'
    for order in orders:
        images = tuple(_plain(COLOURS[name], 128) for name in order)
        reply = backend.complete(_request(text, images, json.dumps(wanted)))
        try:
            got = json.loads(reply.text)
            right += (got["first"], got["second"]) == order
        except (ValueError, TypeError, KeyError):
            continue
    if right == len(orders):
        return Found("two images", "ok", f"colours told apart in {right} of {len(orders)} pairs")
    told = f"colours told apart in {right} of {len(orders)} pairs only: it could not be shown that both images are seen"
    return Found("two images", "open", f"{told}; consider backbone.max_images=1, which sends one grid")


def parallel(backend: Backend, concurrency: int) -> Found:
    """Calls with images of unequal size, sent at once, give what each gives alone."""
    chance = random.Random(7)
    differ = 0
    for _ in range(PAIRS):
        sides = chance.sample((96, 160, 224, 288, 352), 2)
        pair = [
            _request("Describe the image in one sentence.", (_noise(side, chance.randrange(2**31)),), num_predict=24)
            for side in sides
        ]
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


def safely(probe: str, run: Callable[[], Found]) -> Found:
    """The finding of a probe, or its failed call as a finding."""
    try:
        return run()
    except CallError as error:
        return failed_call(probe, error)


def failed_call(probe: str, error: CallError) -> Found:
    """A failed call as a finding."""
    return Found(probe, "failed", f"{error.failure}: {error.what}{f'; {error.hint}' if error.hint else ''}")


def _request(text: str, images: Sequence[Image] = (), schema: str = "", num_predict: int = 128) -> Request:
    message = Message("user", text, tuple(images))
    return Request((message,), Sampling(num_predict=num_predict, seed=1), schema, logprobs=not schema)


def _plain(colour: tuple[int, int, int], side: int) -> Image:
    return _image(np.full((side, side, 3), colour, np.uint8))


def _noise(side: int, seed: int) -> Image:
    blocks = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8)
    return _image(np.kron(blocks, np.ones((side // 8, side // 8, 1), np.uint8)))


def _image(picture: NDArray[np.uint8]) -> Image:
    data = to_jpeg(picture, 90)
    return Image(sha256(data).hexdigest(), data)
