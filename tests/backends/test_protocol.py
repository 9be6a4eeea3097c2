"""The digests of requests and the keys of engines."""

from dataclasses import fields, replace
from typing import Any

import pytest

from mmerg.backends.protocol import Engine, Image, Message, Request, Sampling

IMAGE = Image("ab" * 32, b"jpeg")
REQUEST = Request((Message("system", "be kind"), Message("user", "hello", (IMAGE,))), Sampling())
ENGINE = Engine(
    backend="ollama",
    version="0.24.0",
    model="m",
    digest="d",
    capabilities=("completion",),
    context_length=8,
    load={"num_ctx": 8},
)


def test_the_digest_of_a_request_is_the_same_in_every_run() -> None:
    assert REQUEST.digest == "026296886093c08797e632ef76673964b733d49a8cce46bcf17683daedf0198a"


def test_images_are_compared_by_their_hash() -> None:
    assert Image("ab", b"one") == Image("ab", b"two")
    assert "jpeg" not in repr(REQUEST)
    other = replace(
        REQUEST, messages=(Message("system", "be kind"), Message("user", "hello", (Image("ab" * 32, b""),)))
    )
    assert other.digest == REQUEST.digest


@pytest.mark.parametrize("name", [field.name for field in fields(Sampling)])
def test_every_sampler_is_in_the_digest(name: str) -> None:
    value = getattr(REQUEST.sampling, name)
    other: Any = (*value, "x") if isinstance(value, tuple) else value + 1
    sampling = replace(REQUEST.sampling, **{name: other})
    assert replace(REQUEST, sampling=sampling).digest != REQUEST.digest


def test_every_other_part_of_a_request_is_in_the_digest() -> None:
    system, user = REQUEST.messages
    changed = [
        replace(REQUEST, schema="{}"),
        replace(REQUEST, logprobs=True),
        replace(REQUEST, alternatives=2),
        replace(REQUEST, likelihood_of="hello"),
        replace(REQUEST, messages=(user,)),
        replace(REQUEST, messages=(user, system)),
        replace(REQUEST, messages=(system, replace(user, role="assistant"))),
        replace(REQUEST, messages=(system, replace(user, text="hello!"))),
        replace(REQUEST, messages=(system, replace(user, images=()))),
        replace(REQUEST, messages=(system, replace(user, images=(IMAGE, IMAGE)))),
        replace(REQUEST, messages=(replace(system, images=(IMAGE,)), replace(user, images=()))),
    ]
    assert len({request.digest for request in [REQUEST, *changed]}) == len(changed) + 1
    parts = {"messages", "sampling", "schema", "logprobs", "alternatives", "likelihood_of"}
    assert {field.name for field in fields(Request)} == parts


def test_every_part_of_an_engine_is_in_its_key() -> None:
    changes: list[dict[str, object]] = [
        {"backend": "x"},
        {"version": "x"},
        {"model": "x"},
        {"digest": "x"},
        {"capabilities": ()},
        {"context_length": 9},
        {"load": {"num_ctx": 9}},
    ]
    assert {name for change in changes for name in change} == set(Engine.model_fields)
    keys = {ENGINE.model_copy(update=change).key() for change in changes}
    assert len(keys | {ENGINE.key()}) == len(changes) + 1
