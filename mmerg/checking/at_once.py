"""The doctor's checks with several calls at once: do they give the same replies as alone, and how many pay off?"""

import math
import random
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Literal

import numpy as np

from mmerg.backends.protocol import Backend, Reply, Request
from mmerg.checking.probes import Finding, picture, request

GROUPS = 3
AGREE = 0.25  # by so much may a token's log-probability differ: a cached prefix alone makes 0.05 on a 4-bit model
ALONE = 8  # calls of a group that are made alone, too; a larger group has them several times
MOST = 64  # calls at once that are tried, where half as many paid
SIDE = 224  # pixels of images whose calls are timed
GAIN = 1.15  # of tokens a second, from which on twice as many calls at once are worth it
TIED = 1.1  # tokens whose probabilities sum to more were not equally likely in both calls

Agreement = Literal["alike", "tied", "other"]


def parallel(backend: Backend, concurrency: int, vision: bool) -> Finding:
    """Calls of unequal size give the same replies at once as alone. A model with eyes gets images, too."""
    chance = random.Random(7)
    number = max(concurrency, 2)
    groups: list[set[Agreement]] = []
    for _ in range(GROUPS):
        group = [_request(chance, 24, vision) for _ in range(min(number, ALONE))]
        alone = [backend.complete(one) for one in group]
        with ThreadPoolExecutor(number) as threads:
            together = list(threads.map(backend.complete, islice(cycle(group), number)))
        groups.append({agreement(one, two) for one, two in zip(cycle(alone), together, strict=False)})
    other = sum("other" in group for group in groups)
    tied = sum("tied" in group for group in groups)
    of_groups = f"of {GROUPS} groups of {number} calls at once"
    if other and concurrency > 1:
        return "failed", f"{other} {of_groups} gave other answers than alone: set backbone.concurrency=1"
    if other:
        asks = "one call at a time is what backbone.concurrency=1 asks for"
        return "ok", f"{other} {of_groups} gave other answers than alone; {asks}"
    if tied:
        parted = f"{tied} {of_groups} parted from what each gives alone, where two tokens were equally likely"
        return "open", f"{parted}: a batch's order of sums; replies that are not cached may differ"
    return "ok", f"{of_groups.removeprefix('of ')} gave what each gave alone (or the server took them one by one)"


def agreement(one: Reply, two: Reply) -> Agreement:
    """Whether two replies are alike, but for what a GPU's order of sums may change. tied: they differ from a token on
    where both choices were equally likely."""
    for a, b in zip(one.logprobs, two.logprobs, strict=False):
        if abs(a.logprob - b.logprob) > AGREE:
            return "other"
        if a.token != b.token:
            return "tied" if math.exp(a.logprob) + math.exp(b.logprob) < TIED else "other"
    return "alike" if one.text == two.text else "other"


def worth(backend: Backend, concurrency: int, vision: bool) -> Finding:
    """How many calls at once pay off: tokens a second of 1, 2, 4, … calls, as long as twice as many give more. For a
    model with eyes every other call has an image, as in a run."""
    chance = random.Random(11)
    rates: dict[int, float] = {}
    number = 1
    while number <= MOST and paying(rates) == max(rates, default=0):
        group = [_request(chance, 32, vision and call % 2 == 1, SIDE) for call in range(max(number, 2))]
        begin = time.monotonic()
        with ThreadPoolExecutor(number) as threads:
            tokens = sum(max(reply.response_tokens, 1) for reply in threads.map(backend.complete, group))
        rates[number] = tokens / max(time.monotonic() - begin, 1e-9)
        number *= 2
    best = paying(rates)
    ratios = ", ".join(f"{many} at once {rate / rates[1]:.1f}" for many, rate in rates.items() if many > 1)
    text = f"tokens a second, one call's as 1{', every other with an image' * vision}: {ratios}"
    if best == concurrency:
        return "ok", f"{text}; backbone.concurrency={concurrency} is worth it"
    return "ok", f"{text}; backbone.concurrency={best} would be worth it, where parallel is well"


def paying(rates: Mapping[int, float]) -> int:
    """The largest number of calls at once that gave GAIN times the tokens of half as many; 0 where none was tried."""
    best = min(rates, default=0)
    while rates.get(2 * best, 0) >= GAIN * rates.get(best, 1):
        best *= 2
    return best


def _request(chance: random.Random, num_predict: int, pictured: bool, side: int = 0) -> Request:
    """A call with an image of noise, or with a prompt whose beginning no other has, so that no server reuses it."""
    if pictured:
        side = side or chance.choice((96, 160, SIDE, 288, 352))
        blocks = np.random.default_rng(chance.randrange(2**31)).integers(0, 256, (8, 8, 3), np.uint8)
        image = picture(np.kron(blocks, np.ones((side // 8, side // 8, 1), np.uint8)))
        return request("Describe the image in one sentence.", (image,), num_predict=num_predict)
    number = chance.randrange(10**6)
    story = f"{number}. {'I walked home in the rain. ' * (number % 9)}Tell a story about it."
    return request(story, num_predict=num_predict)
