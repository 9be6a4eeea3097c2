"""A tiny text model with random weights for llama.cpp and Ollama: what tools/tiny_vision.py writes, less its eyes.

Where a test is of how a model is asked and not of what it says, this one answers thirty times as fast as SmolLM2.
"""

from pathlib import Path

from tools.tiny_vision import TURN_END, VOCABULARY, Floats, Value, gguf, metadata, tensors

ARCHITECTURE = "qwen2"  # the language model below the eyes
CONTEXT = 32768  # a token a byte: prompts are four times as long as with words for tokens


def write(path: Path) -> Path:
    """Write the model to `path` (200 kB). Its replies are some forty letters, or what a schema wants."""
    pairs, named = parts()
    named["output.bias"][TURN_END] = 3.0
    path.write_bytes(gguf(pairs, named))
    return path


def parts() -> tuple[dict[str, Value], dict[str, Floats]]:
    """What stands in its file: key-value pairs, and tensors by name."""
    pairs = {
        key.replace("qwen25vl", ARCHITECTURE): value
        for key, value in metadata().items()
        if not key.startswith(("qwen25vl.vision", "qwen25vl.rope.mrope"))
    }
    pairs |= {"general.architecture": ARCHITECTURE, "general.name": "tiny-text", "tokenizer.ggml.pre": "qwen2"}
    named = {name: rows for name, rows in tensors(0).items() if not name.startswith("v.")}
    named["token_embd.weight"] = named["token_embd.weight"][:VOCABULARY]
    return pairs, named
