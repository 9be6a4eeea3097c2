"""Emotion labels: their order in prompts, and their log-probabilities.

Small models prefer certain positions in a list. One order for all samples would therefore bias every metric, so each
sample has its own order of labels and of the words of a plan. A stage with `reads: labels` does not write its emotion
among other fields: the model is asked for the emotion alone, several times with the labels in different orders, and the
mean log-probabilities decide.
"""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from math import log

import numpy as np

from mmerg.backends.protocol import Completion, TokenLogprob
from mmerg.corpora.dialogue import Scene
from mmerg.errors import CompletionError, ConfigError, Failure
from mmerg.systems.system import System

ALTERNATIVES = 20  # the most top log-probabilities that servers return per token
TOKENS = 6  # a quotation mark, and enough of the label
_AROUND = " \"'\n"


def shuffle_labels(labels: tuple[str, ...], *seed: str | int) -> tuple[str, ...]:
    """Returns the labels in an order that depends only on the seed, not on the order in which they are given."""
    start = "\0".join(map(str, seed))
    return tuple(sorted(labels, key=lambda label: sha256(f"{start}\0{label}".encode()).digest()))


def order_labels(system: System, scene: Scene) -> tuple[str, ...]:
    """Returns the labels in the order of a sample's prompts and schemas."""
    return shuffle_labels(scene.labels, scene.id) if system.label_order == "shuffled" else scene.labels


def order_words(system: System, scene: Scene) -> dict[str, tuple[str, ...]]:
    """Returns the words of each vocabulary in the order of a sample's prompts and schemas."""
    if system.label_order == "corpus":
        return dict(system.vocabulary)
    return {name: shuffle_labels(words, scene.id, name) for name, words in system.vocabulary.items()}


def list_orders(labels: tuple[str, ...], count: int) -> Iterator[tuple[str, ...]]:
    """Yields `count` orders of the labels: the given, its reverse, then random ones, each followed by its reverse."""
    for number in range(count):
        order = labels if number < 2 else shuffle_labels(labels, number // 2)
        yield order[::-1] if number % 2 else order


def build_schema(labels: Sequence[str]) -> str:
    return json.dumps({"type": "string", "enum": list(labels)}, ensure_ascii=False)


def read_top_logprobs(place: TokenLogprob) -> tuple[dict[str, float], float]:
    """Returns the natural log-probabilities of the top tokens at a place, and an upper bound for all other tokens: the
    lowest of them or, if the schema forced a token that is not among them, that of half the probability."""
    logprobs = {top.token: top.logprob for top in place.top_logprobs}
    forced = place.token not in logprobs
    logprobs[place.token] = place.logprob
    return logprobs, min(logprobs.values()) - forced * log(2)


def require_logprobs(completion: Completion, needed_by: str) -> None:
    """Raises ConfigError if a completion has no log-probabilities, or consists of thoughts alone."""
    if completion.logprobs:
        return
    if completion.thinking or completion.removed:
        what = f"the model thinks before it answers, and {needed_by} needs the first token of its answer"
        raise ConfigError(what, where=completion.host, hint="set backbone.think=false, or use the model's instruct tag")
    what = f"the server gives no log-probabilities, which {needed_by} needs"
    raise ConfigError(what, where=completion.host, hint="update it (see mmerg doctor), or use another system")


def read_choice(completion: Completion, labels: Sequence[str], needed_by: str) -> dict[str, float]:
    """Returns the normalised natural log-probability of each label, or other choice, read from the first token that is
    not only white space or a quotation mark. needed_by: names what needs them, for errors.

    The labels that a token begins share its probability equally. A label that no top token begins gets the bound of
    `read_top_logprobs`. Raises ConfigError if the completion has no log-probabilities, and CompletionError if no token
    begins a label.
    """
    require_logprobs(completion, needed_by)
    logprobs = dict.fromkeys(labels, -np.inf)
    place = next((token for token in completion.logprobs if token.token.strip(_AROUND)), completion.logprobs[0])
    tokens, bound = read_top_logprobs(place)
    for token, logprob in tokens.items():
        start = token.strip(_AROUND).casefold()
        fitting = [label for label in labels if start and label.casefold().startswith(start)]
        for label in fitting:
            logprobs[label] = np.logaddexp(logprobs[label], logprob - log(len(fitting)))
    if not np.isfinite([*logprobs.values()]).any():
        what = f"it is none of {', '.join(labels)}: {completion.text[:40]!r}"
        raise CompletionError(Failure.SCHEMA_INVALID, what, where=completion.host)
    values = [value if np.isfinite(value) else bound for value in logprobs.values()]
    total = np.logaddexp.reduce(values)
    return {label: round(float(value - total), 6) for label, value in zip(labels, values, strict=True)}
