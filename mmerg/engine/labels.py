"""Emotion labels: their order in prompts, and their log-probabilities.

Small models prefer certain positions in a list, so one order for all samples would bias every metric: each sample has
its own. A stage with `reads: labels` does not write its emotion. The model names it alone, with the labels in several
orders, and the mean of the log-probabilities decides.
"""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from math import log

import numpy as np

from mmerg.backends.protocol import Reply, TokenLogprob
from mmerg.corpora.dialogue import Scene
from mmerg.errors import ConfigError, Failure, ReplyError
from mmerg.systems.system import System

ALTERNATIVES = 20  # the most top log-probabilities that servers return per token
TOKENS = 6  # a quotation mark, and enough of the label
_AROUND = " \"'\n"


def shuffle_labels(labels: tuple[str, ...], *seed: str | int) -> tuple[str, ...]:
    """The labels in an order that depends on the seed only, not on their order here."""
    start = "\0".join(map(str, seed))
    return tuple(sorted(labels, key=lambda label: sha256(f"{start}\0{label}".encode()).digest()))


def order_labels(system: System, scene: Scene) -> tuple[str, ...]:
    """The labels in the order of a sample's prompts and schemas."""
    return shuffle_labels(scene.labels, scene.id) if system.label_order == "shuffled" else scene.labels


def list_orders(labels: tuple[str, ...], count: int) -> Iterator[tuple[str, ...]]:
    """`count` orders of the labels: the given one, its reverse, then random ones, each followed by its reverse."""
    for number in range(count):
        order = labels if number < 2 else shuffle_labels(labels, number // 2)
        yield order[::-1] if number % 2 else order


def build_schema(labels: Sequence[str]) -> str:
    """The JSON schema of a reply that is one label."""
    return json.dumps({"type": "string", "enum": list(labels)}, ensure_ascii=False)


def read_top_logprobs(place: TokenLogprob) -> tuple[dict[str, float], float]:
    """The natural log-probabilities of the top tokens at a place, and an upper bound for all other tokens: that of the
    last one, or half of it if the schema forced a token that is not among them."""
    found = {one.token: one.logprob for one in place.top_logprobs}
    forced = place.token not in found
    found |= {place.token: place.logprob}
    return found, min(found.values()) - forced * log(2)


def require_logprobs(reply: Reply, needed_by: str) -> None:
    """Raises ConfigError if a reply has no log-probabilities, or thoughts alone."""
    if reply.logprobs:
        return
    if reply.thinking or reply.taken:
        what = f"the model thinks before it answers, and {needed_by} needs the first token of its answer"
        raise ConfigError(what, where=reply.host, hint="backbone.think=false, or the model's instruct tag")
    what = f"the server gives no log-probabilities, which {needed_by} needs"
    raise ConfigError(what, where=reply.host, hint="update it (see mmerg doctor), or use another system")


def read_labels(reply: Reply, labels: Sequence[str]) -> dict[str, float]:
    """The natural log-probability of each label, from the first token of the reply that begins one. A token that begins
    several labels counts for each equally; a label that no top token begins gets the bound of `read_top_logprobs`.
    Raises ConfigError if the reply has no log-probabilities, ReplyError if no token begins a label."""
    require_logprobs(reply, "reads: labels")
    found = dict.fromkeys(labels, -np.inf)
    place = next((one for one in reply.logprobs if one.token.strip(_AROUND)), reply.logprobs[0])
    tokens, least = read_top_logprobs(place)
    for token, logprob in tokens.items():
        start = token.strip(_AROUND).casefold()
        fitting = [label for label in labels if start and label.casefold().startswith(start)]
        for label in fitting:
            found[label] = np.logaddexp(found[label], logprob - log(len(fitting)))
    if not np.isfinite([*found.values()]).any():
        what = f"it is none of {', '.join(labels)}: {reply.text[:40]!r}"
        raise ReplyError(Failure.SCHEMA_INVALID, what, where=reply.host)
    values = [value if np.isfinite(value) else least for value in found.values()]
    total = np.logaddexp.reduce(values)
    return {label: round(float(value - total), 6) for label, value in zip(labels, values, strict=True)}
