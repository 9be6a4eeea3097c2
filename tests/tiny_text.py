"""A tiny text model with random weights for llama.cpp and Ollama: what tools/tiny_vision.py writes, less its vision.

Where a test is of how a model is asked and not of what it says, this one answers thirty times as fast as SmolLM2.
"""

from pathlib import Path

import numpy as np

from tools import tiny_vision
from tools.tiny_vision import TURN_END, WIDTH, Floats, Value, gguf, language, tensors

ARCHITECTURE = "qwen2"  # the language model below the vision
CONTEXT = tiny_vision.CONTEXT  # a token a byte: prompts are four times as long as with words for tokens


def write(path: Path, embeds: bool = False, own_template: bool = False) -> Path:
    """Write the model to `path` (200 kB). Its replies are some forty letters, or what a schema wants. One that `embeds`
    says so in its file; newer servers embed with no other. One with its `own_template` has a chat template that Ollama
    does not know; newer servers then leave the whole chat to llama-server."""
    pairs, named = parts()
    if own_template:
        pairs["tokenizer.chat_template"] = f"{tiny_vision.CHAT_TEMPLATE}{{# {'unlike any other ' * 20}#}}"
    if embeds:
        pairs[f"{ARCHITECTURE}.pooling_type"] = 1  # the mean
    named["output.bias"][TURN_END] = 3.0
    path.write_bytes(gguf(pairs, named))
    return path


def parts() -> tuple[dict[str, Value], dict[str, Floats]]:
    """What stands in its file: key-value pairs, and tensors by name."""
    return language(ARCHITECTURE) | {"general.name": "tiny-text"}, tensors(0)[0]


IMAGE_TOKENS = 16


def write_projector(path: Path) -> Path:
    """Write a projector for it to `path`, in the layout that llama.cpp reads for LLaVA: CLIP with one block on images
    of 56 pixels in patches of 14, then a perceptron."""
    dice, width, heads = np.random.default_rng(0), 32, ("q", "k", "v", "out")
    sizes = {"image_size": 56, "patch_size": 14, "embedding_length": width, "feed_forward_length": 2 * width}
    sizes |= {"projection_dim": WIDTH, "block_count": 1, "attention.head_count": 2}
    pairs: dict[str, Value] = {"general.architecture": "clip", "clip.has_vision_encoder": True, "clip.use_gelu": True}
    pairs |= {"clip.projector_type": "mlp", "clip.vision.attention.layer_norm_epsilon": 1e-5}
    pairs |= {f"clip.vision.{name}": size for name, size in sizes.items()}
    pairs |= {"clip.vision.image_mean": [0.5] * 3, "clip.vision.image_std": [0.5] * 3}
    shapes: dict[str, tuple[int, ...]] = {"v.class_embd": (width,), "v.position_embd.weight": (1 + IMAGE_TOKENS, width)}
    shapes["v.patch_embd.weight"] = (width, 3, 14, 14)
    layers = {f"v.blk.0.attn_{part}": (width, width) for part in heads}
    layers |= {"v.blk.0.ffn_up": (2 * width, width), "v.blk.0.ffn_down": (width, 2 * width)}
    layers |= {"mm.0": (WIDTH, width), "mm.2": (WIDTH, WIDTH)}
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for norm in ("v.pre_ln", "v.blk.0.ln1", "v.blk.0.ln2"):
        shapes |= {f"{norm}.weight": (width,), f"{norm}.bias": (width,)}
    path.write_bytes(gguf(pairs, {name: 0.5 * dice.standard_normal(shape) for name, shape in shapes.items()}))
    return path
