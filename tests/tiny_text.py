"""A tiny text model with random weights for llama.cpp and Ollama: that of tools/tiny_vision.py without vision.

It writes thirty times as fast as SmolLM2, for tests in which the text of completions does not matter.
"""

from pathlib import Path

import numpy as np

from tools import tiny_vision
from tools.tiny_vision import TURN_END, WIDTH, Floats, Value, build_tensors, encode_gguf, language_metadata

ARCHITECTURE = "qwen2"  # the language model of Qwen2-VL
CONTEXT = tiny_vision.CONTEXT  # in tokens, which are bytes: prompts have four times as many as usual


def write(path: Path, embeds: bool = False, own_template: bool = False) -> Path:
    """Writes the model to `path` (200 kB) and returns it. Replies have about forty letters, or follow the schema.
    embeds: marks the model as an embedding model, which newer servers require for embeddings. own_template: adds a chat
    template that Ollama does not know, so that newer servers leave the chat to llama-server."""
    pairs, tensors = build_model()
    if own_template:
        pairs["tokenizer.chat_template"] = f"{tiny_vision.CHAT_TEMPLATE}{{# {'unlike any other ' * 20}#}}"
    if embeds:
        pairs[f"{ARCHITECTURE}.pooling_type"] = 1  # the mean
    tensors["output.bias"][TURN_END] = 3.0
    path.write_bytes(encode_gguf(pairs, tensors))
    return path


def build_model() -> tuple[dict[str, Value], dict[str, Floats]]:
    """Returns the key-value pairs of the model's file, and its tensors by name."""
    return language_metadata(ARCHITECTURE) | {"general.name": "tiny-text"}, build_tensors(0)[0]


IMAGE_TOKENS = 16


def write_projector(path: Path) -> Path:
    """Writes a projector for the model to `path` and returns it. Its layout is that of LLaVA in llama.cpp: CLIP with
    one block on images of 56 pixels in patches of 14, then a perceptron."""
    rng, width = np.random.default_rng(0), 32
    sizes = {"image_size": 56, "patch_size": 14, "embedding_length": width, "feed_forward_length": 2 * width}
    sizes |= {"projection_dim": WIDTH, "block_count": 1, "attention.head_count": 2}
    pairs: dict[str, Value] = {"general.architecture": "clip", "clip.has_vision_encoder": True, "clip.use_gelu": True}
    pairs |= {"clip.projector_type": "mlp", "clip.vision.attention.layer_norm_epsilon": 1e-5}
    pairs |= {f"clip.vision.{name}": size for name, size in sizes.items()}
    pairs |= {"clip.vision.image_mean": [0.5] * 3, "clip.vision.image_std": [0.5] * 3}
    shapes: dict[str, tuple[int, ...]] = {"v.class_embd": (width,), "v.position_embd.weight": (1 + IMAGE_TOKENS, width)}
    shapes["v.patch_embd.weight"] = (width, 3, 14, 14)
    layers = {f"v.blk.0.attn_{part}": (width, width) for part in ("q", "k", "v", "out")}
    layers |= {"v.blk.0.ffn_up": (2 * width, width), "v.blk.0.ffn_down": (width, 2 * width)}
    layers |= {"mm.0": (WIDTH, width), "mm.2": (WIDTH, WIDTH)}
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for norm in ("v.pre_ln", "v.blk.0.ln1", "v.blk.0.ln2"):
        shapes |= {f"{norm}.weight": (width,), f"{norm}.bias": (width,)}
    path.write_bytes(encode_gguf(pairs, {name: 0.5 * rng.standard_normal(shape) for name, shape in shapes.items()}))
    return path
