"""Write a tiny vision model with random weights as two GGUF files, model and projector: the same bytes every time.

    python tools/tiny_vision.py MODEL.gguf PROJECTOR.gguf

Qwen2-VL as llama.cpp lays it out, with few layers and one token per byte, so that real servers can be tested with
images and schemas where no model can be downloaded. Its answers mean nothing. Images change them, and schemas hold.
Needs numpy alone. The format is that of ggml's docs/gguf.md, version 3; the names of keys and tensors are those of
llama.cpp's src/models/qwen2vl.cpp and tools/mtmd/clip.cpp.
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
END_OF_TEXT, TURN_START, TURN_END, VOCABULARY = 256, 257, 258, 259
CONSTANT = 64.0  # the first number of each vector in the vision model, for `without_bias`
ALIGNMENT = 32
F32, F16, Q8_0 = 0, 1, 8
U32, I32, FLOAT, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
CHAT_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


class Weights:
    """Near-normal numbers from a bit stream that numpy keeps stable, by exact arithmetic: alike on every machine."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def normal(self, *shape: int) -> Floats:
        """Mean 0, variance 1: the sum of twelve uniform numbers, less six."""
        count = math.prod(shape)
        words = np.asarray(self._bits.random_raw(3 * count)).astype("<u8")
        sums: Floats = words.view("<u2").reshape((*shape, 12)).sum(axis=-1).astype(np.float64)
        return sums / 65536 - 6.0

    def matrix(self, *shape: int) -> Floats:
        """Rows that keep the scale of what they are multiplied with."""
        return self.normal(*shape) / math.sqrt(math.prod(shape[1:]))


def byte_alphabet() -> list[str]:
    """GPT-2's printable stand-in for each of the 256 bytes."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


def preferences() -> Floats:
    """The output bias: printable ASCII likely, white space rare, the quotation mark likelier, so that strings close."""
    bias = np.full(VOCABULARY, -30.0)
    bias[33:127] = 0.0
    bias[[9, 10, 13, 32]] = -6.0
    bias[ord('"')] = 3.0
    bias[TURN_END] = -6.0
    return bias


def tensors(seed: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The tensors by name, of the language model (Qwen2's) and of the projector (Qwen2-VL's)."""
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
    # Against the embedding: a token makes itself less likely, else the server breaks off a reply of equal tokens.
    text["output.weight"] = 0.25 * w.normal(VOCABULARY, WIDTH) - 0.25 * embedded
    text["output.bias"] = preferences()
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
    vision["mm.2.weight"] *= 2.0  # else a thousand tokens an image, all much the same, leave the reply as it is
    return text, vision


def without_bias(text: dict[str, Floats], vision: dict[str, Floats]) -> None:
    """Put the output bias into a weight, as llama.cpp computes Qwen2-VL without it: the first number of each vector is
    CONSTANT from the embedding to the output, and nothing else reads or writes it."""
    scale = math.sqrt((CONSTANT**2 + WIDTH - 1) / WIDTH)  # what a norm divides by, nearly
    text["token_embd.weight"][:, 0] = CONSTANT
    vision["mm.2.weight"][0], vision["mm.2.bias"][0] = 0.0, CONSTANT
    for name, values in text.items():
        if name.endswith(("attn_output.weight", "ffn_down.weight")):
            values[0] = 0.0
        elif "norm" in name:
            values[:] = [0.0, *[scale] * (WIDTH - 1)]
    text["output_norm.weight"][0] = scale / CONSTANT
    text["output.weight"][:, 0] = text.pop("output.bias")


def language(architecture: str) -> dict[str, Value]:
    """The key-value pairs of a language model: its sizes, and a tokenizer of one token per byte."""
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


def projector() -> dict[str, Value]:
    """The key-value pairs of the projector."""
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
    """Blocks of 32 numbers: their scale as a half-float, then 32 signed bytes (ggml's Q8_0)."""
    blocks = rows.reshape(-1, 32).astype(np.float32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    steps = np.rint(np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale > 0)).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.int8), steps], axis=1).tobytes()


def stored(name: str, values: Floats) -> tuple[int, tuple[int, ...], bytes]:
    """A tensor's type, its shape from the innermost dimension outwards, and its bytes."""
    if name == "token_embd.weight":
        return Q8_0, values.shape[::-1], q8_0(values)
    if values.ndim > 1:
        return F16, values.shape[::-1], values.astype("<f2").tobytes()
    return F32, values.shape, values.astype("<f4").tobytes()


def text_bytes(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def value_bytes(value: Value) -> bytes:
    """A metadata value with its type in front."""
    if isinstance(value, str):
        return struct.pack("<I", STRING) + text_bytes(value)
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value)
    if isinstance(value, float):
        return struct.pack("<If", FLOAT, value)
    kind, form = (FLOAT, "<f") if isinstance(value[0], float) else (I32, "<i")
    if isinstance(value[0], str):
        kind = STRING
    items = (text_bytes(item) if isinstance(item, str) else struct.pack(form, item) for item in value)
    return struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(items)


def padding(length: int) -> bytes:
    return bytes(-length % ALIGNMENT)


def gguf(pairs: Mapping[str, Value], named: Mapping[str, Floats]) -> bytes:
    """The whole file: head, metadata, the list of tensors, then their bytes, each aligned."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(named), len(pairs))
    head += b"".join(text_bytes(key) + value_bytes(value) for key, value in pairs.items())
    body: list[bytes] = []
    offset = 0
    for name, values in named.items():
        kind, shape, raw = stored(name, values)
        head += text_bytes(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        body += [raw, padding(len(raw))]
        offset += len(raw) + len(padding(len(raw)))
    return b"".join([head, padding(len(head)), *body])


def write(model: Path, vision: Path, seed: int = 0) -> None:
    """Write the language model and its projector."""
    text, projection = tensors(seed)
    without_bias(text, projection)
    pairs = language("qwen2vl") | {"general.name": "tiny-vision", "qwen2vl.rope.dimension_sections": [4, 6, 6, 0]}
    model.write_bytes(gguf(pairs, text))
    vision.write_bytes(gguf(projector(), projection))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python tools/tiny_vision.py MODEL.gguf PROJECTOR.gguf")
    write(Path(sys.argv[1]), Path(sys.argv[2]))
