"""loaded and embed against servers that answer well and badly."""

import pytest

from mmerg.backends.ollama_host import OllamaHost, names
from tests.backends.conftest import Faulty, json_answer


@pytest.mark.parametrize(
    ("given", "listed"),
    [
        ("m", ("m:latest",)),
        ("m:7b", ("m:7b",)),
        ("Qwen2.5VL:7B", ("qwen2.5vl:7b",)),
        ("library/m", ("m:latest",)),
        ("user/m", ("user/m:latest",)),
        ("hf.co/a/B:Q4_K_M", ("hf.co/a/b:q4_k_m", "a/b:q4_k_m")),
        ("localhost:5000/a/m", ("localhost:5000/a/m:latest",)),
        ("models.example/library/m", ("models.example/library/m:latest", "m:latest")),
        ("models.example/user/m", ("models.example/user/m:latest", "user/m:latest")),
    ],
)
def test_names(given: str, listed: tuple[str, ...]) -> None:
    assert names(given) == listed


def test_of_two_models_the_one_that_is_named_with_its_host_is_meant(faulty: Faulty) -> None:
    rows = [
        {"model": name, "name": name, "digest": digest, "size": size}
        for name, digest, size in (("a/m:latest", "d1", 1), ("models.example/a/m:latest", "d2", 2), ("b:7b", "d3", 3))
    ]
    faulty.answer(json_answer({"models": rows}), path="/api/tags")
    asked = ("a/m", "models.example/a/m", "models.example/library/b:7b")
    assert [OllamaHost(faulty.host).describe(model, {}).digest for model in asked] == ["d1", "d2", "d3"]
    for models in (rows, rows[::-1]):
        faulty.answer(json_answer({"models": models}), path="/api/ps")
        assert [listed.size for model in asked if (listed := OllamaHost(faulty.host).loaded(model))] == [1, 2, 3]
