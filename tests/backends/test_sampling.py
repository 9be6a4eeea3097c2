"""Samplers from a config: what is taken, and how what is not is refused."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest

from mmerg.backends.protocol import Sampling
from mmerg.backends.sampling import SAMPLERS, sampling
from mmerg.errors import ConfigError

BASE = Sampling(seed=7, top_k=5)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({}, BASE),
        ({"top_k": 0, "num_predict": 9}, Sampling(seed=7, top_k=0, num_predict=9)),
        ({"temperature": 1}, Sampling(seed=7, top_k=5, temperature=1.0)),
        ({"stop": "STOP"}, Sampling(seed=7, top_k=5, stop=("STOP",))),
        ({"stop": ["\n", "END"]}, Sampling(seed=7, top_k=5, stop=("\n", "END"))),
        ({"stop": []}, Sampling(seed=7, top_k=5)),
    ],
)
def test_overrides_take_their_place(overrides: dict[str, Any], expected: Sampling) -> None:
    made = sampling(BASE, overrides, "here")
    assert made == expected
    assert type(made.temperature) is float  # 1 and 1.0 are one request, with one digest


@pytest.mark.parametrize("name", [name for name, kind in SAMPLERS.items() if kind == "int"])
@pytest.mark.parametrize("value", ["hot", 1.5, 1.0, True, None, [1]])
def test_a_whole_number_is_wanted(name: str, value: object) -> None:
    refused(name, value, "a whole number")


@pytest.mark.parametrize("name", [name for name, kind in SAMPLERS.items() if kind == "float"])
@pytest.mark.parametrize("value", ["hot", "1.0", False, None, math.nan, math.inf, 10**400, {}])
def test_a_number_is_wanted(name: str, value: object) -> None:
    refused(name, value, "a number")


@pytest.mark.parametrize("value", [7, None, True, "", ["a", 1], ["a", ""], {"a": "b"}])
def test_texts_are_wanted(value: object) -> None:
    refused("stop", value, "a text, or a list of texts")


def refused(name: str, value: object, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sampling(BASE, {name: value}, "stage mpa")
    assert (caught.value.what, caught.value.where) == (f"sampler {name} is {value!r}", "stage mpa, sampling")
    assert told in caught.value.hint


@pytest.mark.parametrize("name", ["temprature", "seed"])
def test_a_name_that_no_sampler_has(name: str) -> None:
    with pytest.raises(ConfigError, match=name) as caught:
        sampling(BASE, {name: 1}, "stage mpa")
    assert "temperature" in caught.value.hint
    assert "the seed is seed=" in caught.value.hint


def test_every_sampler_is_of_a_kind_that_is_checked() -> None:
    assert set(SAMPLERS.values()) == {"int", "float", "tuple[str, ...]"}
    assert set(SAMPLERS) | {"seed"} == {field.name for field in fields(Sampling)}
