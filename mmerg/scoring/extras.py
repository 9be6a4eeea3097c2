"""Shared code of the metrics that load a model of their own (BERTScore and reference perplexity).

with loading_errors("gpt2", "--ref-ppl"):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
"""

import hashlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mmerg.errors import ConfigError

PACKAGES = ("torch", "transformers", "bert_score")  # of the extra `metrics`


@contextmanager
def loading_errors(reference: str, option: str) -> Iterator[None]:
    """Turns errors of transformers and bert-score in loading a model into ConfigError, and raises it if a package is
    not installed. Also silences the progress bars and advice of transformers, until the process ends. option: the
    command-line option that names the model."""
    if missing := [package for package in PACKAGES if importlib.util.find_spec(package) is None]:
        hint = "pip install 'mmerg[metrics]'"
        raise ConfigError(f"this metric needs packages that are not installed: {', '.join(missing)}", hint=hint)
    from safetensors import SafetensorError
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging  # its functions are partly untyped
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
    """Hashes all loaded weights and the vocabulary, to 12 hex digits: equal for a folder and its model's hub name."""
    import torch

    digest = hashlib.sha256(json.dumps(tokenizer.get_vocab(), sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:12]
