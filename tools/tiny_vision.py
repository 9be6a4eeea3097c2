"""Write a tiny vision model with random weights as one GGUF file: 11 MB, the same bytes every time.

    python tools/tiny_vision.py OUT.gguf

Qwen2.5-VL's architecture with two layers, one token per byte, and an output bias that prefers plain text, so that a
real Ollama server can be tested with images and schemas where no model can be downloaded. Its answers mean nothing.
Images change them, schemas hold, 448x336 px cost 194 tokens. Needs numpy alone; the GGUF format is that of
ggml's docs/gguf.md, version 3.
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
END_OF_TEXT, TURN_START, TURN_END, VOCABULARY = 256, 257, 258, 259
EMBEDDED_ROWS = 151_656  # Ollama's engine hard-codes image tokens up to 151655; the rows beyond the vocabulary are zero
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
    bias[TURN_END] = 0.0
    return bias


def tensors(seed: int) -> dict[str, Floats]:
    """Every tensor by its name; the rows of `token_embd.weight` beyond the vocabulary are zero."""
    w = Weights(seed)
    embedded = w.normal(VOCABULARY, WIDTH)
    beyond = np.zeros((EMBEDDED_ROWS - VOCABULARY, WIDTH))
    out: dict[str, Floats] = {"token_embd.weight": np.concatenate([embedded, beyond])}

    def linear(name: str, rows: int, columns: int, bias: bool = True) -> None:
        out[f"{name}.weight"] = w.matrix(rows, columns)
        if bias:
            out[f"{name}.bias"] = 0.1 * w.normal(rows)

    for block in (f"blk.{i}" for i in range(BLOCKS)):
        out[f"{block}.attn_norm.weight"] = out[f"{block}.ffn_norm.weight"] = np.ones(WIDTH)
        for name, rows in (("attn_q", WIDTH), ("attn_k", KEYS), ("attn_v", KEYS)):
            linear(f"{block}.{name}", rows, WIDTH)
        linear(f"{block}.attn_output", WIDTH, WIDTH, bias=False)
        for name, rows, columns in (("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER)):
            linear(f"{block}.{name}", rows, columns, bias=False)
    out["output_norm.weight"] = np.ones(WIDTH)
    # Against the embedding: a token makes itself less likely, else the server breaks off a reply of equal tokens.
    out["output.weight"] = 0.25 * w.normal(VOCABULARY, WIDTH) - 0.25 * embedded
    out["output.bias"] = preferences()
    for half in (0, 1):
        out[f"v.patch_embd_{half}.weight"] = w.matrix(WIDTH, 3, PATCH, PATCH)
    for block in (f"v.blk.{i}" for i in range(BLOCKS)):
        out[f"{block}.ln1.weight"] = out[f"{block}.ln2.weight"] = np.ones(WIDTH)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            linear(f"{block}.{name}", WIDTH, WIDTH)
        for name, rows, columns in (("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER)):
            linear(f"{block}.{name}", rows, columns)
    out["v.merger.ln_q.weight"] = np.ones(WIDTH)
    linear("v.merger.mlp.0", MERGED, MERGED)
    linear("v.merger.mlp.2", WIDTH, MERGED)
    return out


def metadata() -> dict[str, Value]:
    """The key-value pairs: sizes of both towers, and a tokenizer of one token per byte."""
    text: dict[str, Value] = {
        "block_count": BLOCKS,
        "context_length": 32768,
        "embedding_length": WIDTH,
        "feed_forward_length": INNER,
        "attention.head_count": 2,
        "attention.head_count_kv": 1,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
        "rope.dimension_count": WIDTH // 2,
        "rope.mrope_section": [4, 6, 6],
    }
    eyes: dict[str, Value] = {
        "block_count": BLOCKS,
        "embedding_length": WIDTH,
        "attention.head_count": 2,
        "attention.layer_norm_epsilon": 1e-6,
        "num_channels": 3,
        "patch_size": PATCH,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "window_size": 112,
        "rope.freq_base": 1e4,
        "max_pixels": 602_112,  # the server reserves memory for an image of this size when it loads the model
    }
    return {
        "general.architecture": "qwen25vl",
        "general.name": "tiny-vision",
        "general.alignment": ALIGNMENT,
        **{f"qwen25vl.{key}": value for key, value in text.items()},
        **{f"qwen25vl.vision.{key}": value for key, value in eyes.items()},
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": [*byte_alphabet(), "<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        "tokenizer.ggml.token_type": [1] * 256 + [3] * 3,
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": TURN_END,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
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


def write(path: Path, seed: int = 0) -> None:
    """Write the model to `path`."""
    path.write_bytes(gguf(metadata(), tensors(seed)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/tiny_vision.py OUT.gguf")
    write(Path(sys.argv[1]))
