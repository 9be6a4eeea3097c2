"""The doctor's check of simultaneous calls: whether they give the same replies as each call alone."""

import math
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Literal

import numpy as np

from mmerg.backends.protocol import Backend, Reply, Request
from mmerg.checking.probes import Finding, picture, request, written

GROUPS = 3
AGREE = 0.25  # allowed difference of a token's log-probability: a cached prefix alone makes 0.05 on a 4-bit model
ALONE = 8  # distinct calls in a group, at most; a larger group repeats them
TOKENS = 24  # of a reply, at most
TIED = 1.1  # if the probabilities of two tokens sum to more, they were not equally likely in both calls

Agreement = Literal["alike", "tied", "other"]


def parallel(backend: Backend, concurrency: int, vision: bool) -> Finding:
    """Whether calls of different lengths give the same replies at once as alone. With vision they have images."""
    chance = random.Random(7)
    number = max(concurrency, 2)
    groups: list[set[Agreement]] = []
    for _ in range(GROUPS):
        group = [_request(chance, vision) for _ in range(min(number, ALONE))]
        alone = [backend.complete(one) for one in group]
        with ThreadPoolExecutor(number) as threads:
            together = list(threads.map(backend.complete, islice(cycle(group), number)))
        groups.append({agreement(one, two) for one, two in zip(cycle(alone), together, strict=False)})
    other = sum("other" in group for group in groups)
    tied = sum("tied" in group for group in groups)
    of_groups = f"of {GROUPS} groups of {number} calls at once"
    if other and concurrency > 1:
        return "failed", f"{other} {of_groups} gave other replies than alone: set backbone.concurrency=1"
    if other:
        return "ok", f"{other} {of_groups} gave other replies than alone; backbone.concurrency=1 makes one at a time"
    if tied:
        parted = f"{tied} {of_groups} differed from each call alone where two tokens were equally likely"
        return "open", f"{parted}: caused by the order of sums in a batch; uncached replies may differ"
    return "ok", f"{of_groups.removeprefix('of ')} gave the same as each call alone (or the server queued them)"


def agreement(one: Reply, two: Reply) -> Agreement:
    """Whether two replies are alike, except for what the order of sums on a GPU may change. tied: they differ from a
    token on where both choices were equally likely."""
    for a, b in zip(one.logprobs, two.logprobs, strict=False):
        if abs(a.logprob - b.logprob) > AGREE:
            return "other"
        if a.token != b.token:
            return "tied" if math.exp(a.logprob) + math.exp(b.logprob) < TIED else "other"
    return "alike" if written(one) == written(two) else "other"


def _request(chance: random.Random, pictured: bool) -> Request:
    if pictured:
        side = chance.choice((96, 160, 224, 288, 352))
        blocks = np.random.default_rng(chance.randrange(2**31)).integers(0, 256, (8, 8, 3), np.uint8)
        image = picture(np.kron(blocks, np.ones((side // 8, side // 8, 1), np.uint8)))
        return request("Describe the image in one sentence.", (image,), num_predict=TOKENS)
    number = chance.randrange(10**6)
    story = f"{number}. {'I walked home in the rain. ' * (number % 9)}Tell a story about it."
    return request(story, num_predict=TOKENS)
