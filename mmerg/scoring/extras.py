"""Shared code of metrics by another model: packages, loading, and fingerprints.

require_packages("torch", "bert_score")    # ConfigError that says: pip install 'mmerg[metrics]'
"""

import hashlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mmerg.errors import ConfigError


def require_packages(*packages: str) -> None:
    """Raises ConfigError if one of `packages` is not installed. Imports none of them."""
    if missing := [package for package in packages if importlib.util.find_spec(package) is None]:
        hint = "pip install 'mmerg[metrics]'"
        raise ConfigError(f"this metric needs packages that are not installed: {', '.join(missing)}", hint=hint)


def choose_device() -> str:
    """cuda if torch finds one, else cpu."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


@contextmanager
def loading_errors(reference: str, option: str) -> Iterator[None]:
    """Silences transformers' progress bars and advice from here on. Turns loading errors of transformers and bert-score
    into ConfigError."""
    from safetensors import SafetensorError
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging  # partly untyped
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError, KeyError, AssertionError, RuntimeError, SafetensorError) as error:
        raise ConfigError(
            f"the model cannot be loaded: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            where=f"{option} {reference}",
            hint="give a folder with config, weights and tokenizer, or a name that the model hub knows",
        ) from error


def hash_model(model: Any, tokenizer: Any) -> str:
    """12 hex digits of SHA-256 over all loaded weights and the vocabulary: equal for a folder and a hub name."""
    import torch

    digest = hashlib.sha256(json.dumps(tokenizer.get_vocab(), sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:12]
