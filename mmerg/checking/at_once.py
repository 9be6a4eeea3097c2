"""The doctor's check that simultaneous calls give the same completions as each call alone."""

import math
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Literal

import numpy as np

from mmerg.backends.protocol import Backend, Completion, Request
from mmerg.checking.probes import Finding, build_request, encode_image, get_written

GROUPS = 3
MAX_DIFFERENCE = 0.25  # of a token's log-probability; a cached prefix alone causes 0.05 on a 4-bit model
MAX_DISTINCT = 8  # distinct calls in a group; a larger group repeats them
MAX_TOKENS = 24  # of a completion
TIED = 1.1  # if the probabilities of two tokens sum to more, they were not equally likely in both calls

Agreement = Literal["alike", "tied", "other"]


def check_parallel(backend: Backend, concurrency: int, vision: bool) -> Finding:
    """Checks that simultaneous calls of different lengths give the completions of single ones. vision: with images."""
    rng = random.Random(7)
    number = max(concurrency, 2)
    groups: list[set[Agreement]] = []
    for _ in range(GROUPS):
        group = [_build_call(rng, vision) for _ in range(min(number, MAX_DISTINCT))]
        alone = [backend.complete(request) for request in group]
        with ThreadPoolExecutor(number) as threads:
            together = list(threads.map(backend.complete, islice(cycle(group), number)))
        groups.append({compare_completions(*pair) for pair in zip(cycle(alone), together, strict=False)})
    other = sum("other" in group for group in groups)
    tied = sum("tied" in group for group in groups)
    of_groups = f"of {GROUPS} groups of {number} calls at once"
    if other:
        what = f"{other} {of_groups} gave other completions than alone"
        if concurrency > 1:
            return "failed", f"{what}: set backbone.concurrency=1"
        return "ok", f"{what}; backbone.concurrency=1 makes one at a time"
    if tied:
        what = f"{tied} {of_groups} differed from each call alone where two tokens were equally likely"
        return "open", f"{what}: caused by the order of sums in a batch; uncached completions may differ"
    return "ok", f"{of_groups.removeprefix('of ')} gave the same as each call alone (or the server queued them)"


def compare_completions(first: Completion, second: Completion) -> Agreement:
    """Compares two completions. alike: equal, except for what the order of sums on a GPU may change. tied: they first
    differ in a token for which both choices were equally likely. other: they differ otherwise."""
    for a, b in zip(first.logprobs, second.logprobs, strict=False):
        if abs(a.logprob - b.logprob) > MAX_DIFFERENCE:
            return "other"
        if a.token != b.token:
            return "tied" if math.exp(a.logprob) + math.exp(b.logprob) < TIED else "other"
    return "alike" if get_written(first) == get_written(second) else "other"


def _build_call(rng: random.Random, vision: bool) -> Request:
    if vision:
        side = rng.choice((96, 160, 224, 288, 352))
        blocks = np.random.default_rng(rng.randrange(2**31)).integers(0, 256, (8, 8, 3), np.uint8)
        image = encode_image(np.kron(blocks, np.ones((side // 8, side // 8, 1), np.uint8)))
        return build_request("Describe the image in one sentence.", (image,), num_predict=MAX_TOKENS)
    number = rng.randrange(10**6)
    story = f"{number}. {'I walked home in the rain. ' * (number % 9)}Tell a story about it."
    return build_request(story, num_predict=MAX_TOKENS)
