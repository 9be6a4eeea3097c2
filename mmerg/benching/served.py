"""Which of the backbones can be run now: Ollama hosts are asked what they hold; the embedded backend needs no asking.

ready = look(Asked(...), hosts)    # an Engine, or a Skipped that says what to do
"""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.backends.ollama_host import OllamaHost
from mmerg.backends.protocol import Engine
from mmerg.benching.rows import Skipped
from mmerg.errors import CallError, Failure


def look(name: str, model: str, hosts: Sequence[str]) -> Engine | Skipped:
    """The engine of the first host that holds `model`, or why there is none."""
    wrong: list[CallError] = []
    for host in hosts:
        try:
            with OllamaHost(host) as server:
                return server.describe(model, {})
        except CallError as error:
            wrong.append(error)
    if any(error.failure is Failure.MODEL_NOT_FOUND for error in wrong):
        return Skipped(name=name, why=f"{model} is not pulled", next=f"ollama pull {model}")
    why = wrong[0].what if wrong else "no host is named"
    return Skipped(name=name, why=why, next=f"ollama serve, then ollama pull {model}")
