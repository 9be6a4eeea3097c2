"""Writes a tiny vision model with random weights as two GGUF files, a model and a projector, always with equal bytes.

    python tools/tiny_vision.py MODEL.gguf PROJECTOR.gguf

The model has the layout of Qwen2-VL in llama.cpp, with few layers and one token per byte. It serves to test real
servers with images and schemas where no model can be downloaded. Its completions are meaningless, but they depend on
the images and follow schemas. Needs only numpy. The format is version 3 of ggml's docs/gguf.md; the names of keys and
tensors are those of llama.cpp's src/models/qwen2vl.cpp and tools/mtmd/clip.cpp.
"""

import math
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Value = str | int | float | bool | list[str] | list[int] | list[float]

WIDTH, INNER, KEYS, BLOCKS, PATCH, MERGED = 64, 128, 32, 2, 14, 256
CONTEXT = 32768
TURN_END, VOCABULARY = 258, 259  # after the bytes, the end of text, and the start of a turn
CONSTANT = 64.0  # the first number of each vector in the vision model, for `move_bias`
ALIGNMENT = 32
F32, F16, Q8_0 = 0, 1, 8
U32, I32, FLOAT, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
CHAT_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


class Weights:
    """A generator of nearly normal numbers, equal on every machine: numpy keeps its bit stream, and sums are exact."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def normal(self, *shape: int) -> Floats:
        """Returns numbers of mean 0 and variance 1: the sum of twelve uniform numbers, minus six."""
        count = math.prod(shape)
        words = np.asarray(self._bits.random_raw(3 * count)).astype("<u8")
        sums: Floats = words.view("<u2").reshape((*shape, 12)).sum(axis=-1).astype(np.float64)
        return sums / 65536 - 6.0

    def matrix(self, *shape: int) -> Floats:
        """Returns a matrix whose product with a vector has the scale of the vector."""
        return self.normal(*shape) / math.sqrt(math.prod(shape[1:]))


def byte_alphabet() -> list[str]:
    """Returns GPT-2's printable character for each of the 256 bytes."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


def output_bias() -> Floats:
    """Returns the output bias: printable ASCII is likely, white space rare, and quotation marks (to end) likelier."""
    bias = np.full(VOCABULARY, -30.0)
    bias[33:127] = 0.0
    bias[[9, 10, 13, 32]] = -6.0
    bias[ord('"')] = 3.0
    bias[TURN_END] = -6.0
    return bias


def build_tensors(seed: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Returns the tensors of the language model (Qwen2's) and of the projector (Qwen2-VL's), by name."""
    w = Weights(seed)
    embedded = w.normal(VOCABULARY, WIDTH)
    text: dict[str, Floats] = {"token_embd.weight": embedded}
    vision: dict[str, Floats] = {}

    def linear(into: dict[str, Floats], name: str, rows: int, columns: int, bias: bool = True) -> None:
        into[f"{name}.weight"] = w.matrix(rows, columns)
        if bias:
            into[f"{name}.bias"] = 0.1 * w.normal(rows)

    for block in (f"blk.{i}" for i in range(BLOCKS)):
        text[f"{block}.attn_norm.weight"], text[f"{block}.ffn_norm.weight"] = np.ones(WIDTH), np.ones(WIDTH)
        for name, rows in (("attn_q", WIDTH), ("attn_k", KEYS), ("attn_v", KEYS)):
            linear(text, f"{block}.{name}", rows, WIDTH)
        linear(text, f"{block}.attn_output", WIDTH, WIDTH, bias=False)
        for name, rows, columns in (("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER)):
            linear(text, f"{block}.{name}", rows, columns, bias=False)
    text["output_norm.weight"] = np.ones(WIDTH)
    # Minus the embedding: a token makes itself less likely. The server would stop a completion of equal tokens.
    text["output.weight"] = 0.25 * w.normal(VOCABULARY, WIDTH) - 0.25 * embedded
    text["output.bias"] = output_bias()
    for name in ("v.patch_embd.weight", "v.patch_embd.weight.1"):
        vision[name] = w.matrix(WIDTH, 3, PATCH, PATCH)
    for norm in ("v.blk.0.ln1", "v.blk.0.ln2", "v.post_ln"):
        vision[f"{norm}.weight"], vision[f"{norm}.bias"] = np.ones(WIDTH), np.zeros(WIDTH)
    for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
        linear(vision, f"v.blk.0.{name}", WIDTH, WIDTH)
    for name, rows, columns in (("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER)):
        linear(vision, f"v.blk.0.{name}", rows, columns)
    linear(vision, "mm.0", MERGED, MERGED)
    linear(vision, "mm.2", WIDTH, MERGED)
    vision["mm.2.weight"] *= 2.0  # otherwise an image's thousand tokens are too alike to change the completion
    return text, vision


def move_bias(text: dict[str, Floats], vision: dict[str, Floats]) -> None:
    """Moves the output bias into a weight, because llama.cpp computes Qwen2-VL without a bias. From the embedding to
    the output, the first number of each vector is CONSTANT, and no other weight reads or writes it."""
    scale = math.sqrt((CONSTANT**2 + WIDTH - 1) / WIDTH)  # about what a norm divides by
    text["token_embd.weight"][:, 0] = CONSTANT
    vision["mm.2.weight"][0], vision["mm.2.bias"][0] = 0.0, CONSTANT
    for name, values in text.items():
        if name.endswith(("attn_output.weight", "ffn_down.weight")):
            values[0] = 0.0
        elif "norm" in name:
            values[:] = [0.0, *[scale] * (WIDTH - 1)]
    text["output_norm.weight"][0] = scale / CONSTANT
    text["output.weight"][:, 0] = text.pop("output.bias")


def language_metadata(architecture: str) -> dict[str, Value]:
    """Returns the key-value pairs of a language model: its sizes, and a tokenizer with one token per byte."""
    sizes: dict[str, Value] = {
        "block_count": BLOCKS,
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "feed_forward_length": INNER,
        "attention.head_count": 2,
        "attention.head_count_kv": 1,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
        "rope.dimension_count": WIDTH // 2,
    }
    return {
        "general.architecture": architecture,
        "general.alignment": ALIGNMENT,
        **{f"{architecture}.{key}": value for key, value in sizes.items()},
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": [*byte_alphabet(), "<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        "tokenizer.ggml.token_type": [1] * 256 + [3] * 3,
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": TURN_END,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }


def projector_metadata() -> dict[str, Value]:
    sizes: dict[str, Value] = {
        "image_size": 560,
        "patch_size": PATCH,
        "embedding_length": WIDTH,
        "feed_forward_length": INNER,
        "projection_dim": WIDTH,
        "block_count": 1,
        "attention.head_count": 1,
        "attention.layer_norm_epsilon": 1e-6,
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
    }
    return {
        "general.architecture": "clip",
        "general.alignment": ALIGNMENT,
        "clip.has_vision_encoder": True,
        "clip.projector_type": "qwen2vl_merger",
        **{f"clip.vision.{key}": value for key, value in sizes.items()},
    }


def q8_0(rows: Floats) -> bytes:
    """Encodes blocks of 32 numbers in ggml's Q8_0: the scale as a half-float, then 32 signed bytes."""
    blocks = rows.reshape(-1, 32).astype(np.float32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    steps = np.rint(np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale > 0)).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.int8), steps], axis=1).tobytes()


def encode_tensor(name: str, values: Floats) -> tuple[int, tuple[int, ...], bytes]:
    """Returns a tensor's type, its shape from the innermost dimension outwards, and its bytes."""
    if name == "token_embd.weight":
        return Q8_0, values.shape[::-1], q8_0(values)
    if values.ndim > 1:
        return F16, values.shape[::-1], values.astype("<f2").tobytes()
    return F32, values.shape, values.astype("<f4").tobytes()


def encode_text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def encode_value(value: Value) -> bytes:
    """Encodes a metadata value, after its type."""
    if isinstance(value, str):
        return struct.pack("<I", STRING) + encode_text(value)
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value)
    if isinstance(value, float):
        return struct.pack("<If", FLOAT, value)
    kind, form = (FLOAT, "<f") if isinstance(value[0], float) else (I32, "<i")
    if isinstance(value[0], str):
        kind = STRING
    items = (encode_text(item) if isinstance(item, str) else struct.pack(form, item) for item in value)
    return struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(items)


def padding(length: int) -> bytes:
    return bytes(-length % ALIGNMENT)


def encode_gguf(pairs: Mapping[str, Value], tensors: Mapping[str, Floats]) -> bytes:
    """Encodes a file: the header, the metadata, the list of tensors, then the bytes of each tensor, aligned."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    head += b"".join(encode_text(key) + encode_value(value) for key, value in pairs.items())
    body: list[bytes] = []
    offset = 0
    for name, values in tensors.items():
        kind, shape, raw = encode_tensor(name, values)
        head += encode_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        body += [raw, padding(len(raw))]
        offset += len(raw) + len(padding(len(raw)))
    return b"".join([head, padding(len(head)), *body])


def write(model: Path, vision: Path, seed: int = 0) -> None:
    text, projection = build_tensors(seed)
    move_bias(text, projection)
    pairs = language_metadata("qwen2vl")
    pairs |= {"general.name": "tiny-vision", "qwen2vl.rope.dimension_sections": [4, 6, 6, 0]}
    model.write_bytes(encode_gguf(pairs, text))
    vision.write_bytes(encode_gguf(projector_metadata(), projection))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python tools/tiny_vision.py MODEL.gguf PROJECTOR.gguf")
    write(Path(sys.argv[1]), Path(sys.argv[2]))
