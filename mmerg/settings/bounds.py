"""Which values of a resolved config make sense. Knows plain values only."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from mmerg.errors import ConfigError

CHOICES = {
    "cache": ("off", "read", "on"),
    "protocol.targets": ("last", "all", "labelled"),
    "system.organization": ("cascaded", "independent"),
    "system.final_selection": ("lexicographic", "last"),
    "frames.seen_by": ("paper", "all", "none"),
    "frames.method": ("representative", "uniform"),
    "memory.key.text": ("history", "situation"),
    "memory.emotion": ("any", "prefer", "require"),
}
AT_LEAST = {
    "limit": 1,
    "repeats": 1,
    "backend.attempts": 1,
    "backend.revive_after": 0,
    "backbone.max_images": 1,
    "backbone.image_side": 32,
    "backbone.concurrency": 1,
    "backbone.threads": 0,
    "frames.last_turns": 1,
    "frames.max_frames": 1,
    "frames.per_clip": 1,
    "frames.long_side": 32,
    "frames.jpeg_quality": 1,
    "protocol.max_per_dialogue": 1,
    "protocol.sample": 1,
    "protocol.history": 1,
    "memory.top_k": 0,
    "memory.key.turns": 1,
    "memory.min_similarity": -1,
    "memory.exclude_similarity": -1,
    "memory.embedder.threads": 0,
    "memory.embedder.max_length": 8,
    "system.max_iterations": 0,
    "system.max_repairs": 0,
    "judge.replies": 1,
    "judge.repeats": 1,
    "judge.sample": 1,
    "judge.temperature": 0,
}
AT_MOST = {
    "frames.jpeg_quality": 100,
    "memory.top_k": 50,
    "memory.min_similarity": 1,
    "memory.exclude_similarity": 1,
    "judge.replies": 2,
    "judge.temperature": 2,
}
OVER_ZERO = (
    "frames.max_seconds",
    "backend.adapter.total",
    *(f"backend.adapter.deadlines.{phase}" for phase in ("connect", "first_token", "stall", "total")),
)


def check(plain: dict[str, Any]) -> None:
    """Raises ConfigError for a value that its type allows and its meaning does not."""
    if not plain["dataset"]["reader"].get("root", "given"):
        raise ConfigError(
            "dataset.root has no value", where="configuration", hint="set it on the command line: dataset.root=…"
        )
    if plain["ids"] == []:
        raise ConfigError("ids is empty", where="configuration", hint="ids=[test_dia0/3], or leave it out for all")
    emotions = plain["protocol"]["emotions"]
    labels = emotions if isinstance(emotions, list) else []
    if emotions not in ("all", "nonneutral") and not (labels and all(isinstance(label, str) for label in labels)):
        raise ConfigError(
            f"protocol.emotions is {emotions!r}", where="configuration", hint="all, nonneutral, or a list: [joy,anger]"
        )
    check_bounds(plain, ("dataset", "system", "backbone"))


def check_bounds(plain: dict[str, Any], named: tuple[str, ...]) -> None:
    """The part of `check` that every command's config goes through: names of the groups `named`, which become parts of
    paths, words of a fixed set and bounds of numbers, as far as the config has such settings."""
    for group in named:
        name = plain[group]["name"]
        if not re.fullmatch(r"[\w.+-]*\w[\w.+-]*", name):
            raise ConfigError(
                f"{group}.name is {name!r}", where="configuration", hint="letters, digits, '.', '_', '+' and '-' only"
            )
    for path, allowed in CHOICES.items():
        value = at(plain, path)
        if value is not None and value not in allowed:
            words = f"one of {', '.join(allowed)}"
            if str(value) in ("True", "False") and "off" in allowed:
                words += '; in YAML on and off are true and false: write "on" or "off", in quotes'
            raise ConfigError(f"{path} is {value!r}", where="configuration", hint=words)
    for path, least in AT_LEAST.items():
        _number(plain, path, partial(operator.le, least), f"at least {least}")
    for path, most in AT_MOST.items():
        _number(plain, path, partial(operator.ge, most), f"at most {most}")
    for path in OVER_ZERO:
        _number(plain, path, lambda value: 0 < value < math.inf, "a number over 0")


def _number(plain: dict[str, Any], path: str, good: Callable[[float], bool], hint: str) -> None:
    value = at(plain, path)
    if value is not None and not (type(value) in (int, float) and good(value)):
        raise ConfigError(f"{path} is {value!r}", where="configuration", hint=hint)


def at(plain: dict[str, Any], path: str) -> Any:
    """The value at a dotted path, None where an adapter has no such setting."""
    value: Any = plain
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
