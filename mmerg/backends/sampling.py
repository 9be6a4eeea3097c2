"""Samplers as a config or a stage sets them, over those of a base: checked by name and type before anything runs.

Leaves alone how far a sampler may go, which is for the server to say, and the seed, which is the run's.

    sampling(Sampling(seed=3), {"temperature": 0.6, "stop": "END"}, "backbone=smollm2-135m")
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from mmerg.backends.protocol import Sampling
from mmerg.errors import ConfigError

SAMPLERS = {field.name: str(field.type) for field in fields(Sampling) if field.name != "seed"}
MEANING = {"int": "a whole number", "float": "a number", "tuple[str, ...]": "a text, or a list of texts, none empty"}


def sampling(base: Sampling, overrides: Mapping[str, object], where: str) -> Sampling:
    """`base` with `overrides`: numbers, and for `stop` a text or a list of them (OmegaConf's lists made plain).

    Raises ConfigError, naming `where`, for a name that no sampler has, or a value of the wrong type.
    """
    if unknown := sorted(set(overrides) - set(SAMPLERS)):
        raise ConfigError(
            f"no sampler is called {', '.join(unknown)}",
            where=f"{where}, sampling",
            hint=f"samplers: {', '.join(SAMPLERS)}; the seed is seed=…",
        )
    changes: dict[str, Any] = {}
    for name, value in overrides.items():
        typed = _typed(SAMPLERS[name], value)
        if typed is None:
            raise ConfigError(
                f"sampler {name} is {value!r}", where=f"{where}, sampling", hint=f"it must be {MEANING[SAMPLERS[name]]}"
            )
        changes[name] = typed
    return replace(base, **changes)


def _typed(kind: str, value: object) -> int | float | tuple[str, ...] | None:
    """`value` as `kind`, or None where it is none. A bool is no number, whatever Python says."""
    if kind == "int":
        return value if type(value) is int else None
    if kind == "float":
        if type(value) not in (int, float):
            return None
        try:
            number = float(str(value))  # a whole number of any length, without OverflowError
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    texts = (value,) if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) and text for text in texts):
        return tuple(texts)
    return None
