"""loaded and embed against servers that answer well and badly."""

import pytest

from mmerg.backends.ollama_host import OllamaHost, names
from mmerg.errors import CallError
from tests.backends.conftest import Faulty, json_answer


def test_loaded_reads_the_line_of_its_model(faulty: Faulty) -> None:
    rows = [
        {"model": "other:latest", "size": 1, "size_vram": 1, "context_length": 1},
        {"model": "m:latest", "size": 100, "size_vram": 60, "context_length": 4096},
    ]
    faulty.answer(json_answer({"models": rows}), path="/api/ps")
    listed = OllamaHost(faulty.host).loaded("m")
    assert listed
    assert (listed.size, listed.size_vram, listed.context_length) == (100, 60, 4096)
    assert OllamaHost(faulty.host).loaded("absent") is None


def test_embed_cuts_nothing_and_counts(faulty: Faulty) -> None:
    faulty.answer(json_answer({"embeddings": [[0.6, 0.8]]}), path="/api/embed")
    assert OllamaHost(faulty.host).embed("m", ["a"]) == [[0.6, 0.8]]
    (sent,) = faulty.asked("/api/embed")
    assert (sent["input"], sent["truncate"], sent["keep_alive"]) == (["a"], False, "30m")
    with pytest.raises(CallError, match="1 vectors for 2 texts"):
        OllamaHost(faulty.host).embed("m", ["a", "b"])


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
