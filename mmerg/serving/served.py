"""What all routes share: the systems and the turns at work. Nothing that is said stays here."""

from collections.abc import Mapping
from dataclasses import dataclass

from mmerg.backends.protocol import Engine
from mmerg.errors import MmergError
from mmerg.serving.offered import ServedSystem
from mmerg.serving.refused import HttpError, error_sentence
from mmerg.serving.speech import Transcriber
from mmerg.serving.work import TurnRunner
from mmerg.settings.commands import ServeSettings


@dataclass(frozen=True)
class AppState:
    """offered: systems by the name of their model; missing: why others are not."""

    settings: ServeSettings
    engine: Engine
    offered: Mapping[str, ServedSystem]
    missing: Mapping[str, MmergError]
    work: TurnRunner
    speech: Transcriber | None = None

    def model(self, name: str) -> ServedSystem:
        """The system of that name; Ollama's programs put a tag behind it. Raises HttpError where there is none."""
        name = name.removesuffix(":latest")
        if offered := self.offered.get(name):
            return offered
        if lacks := self.missing.get(name):
            raise HttpError(f"{name} is not available: {error_sentence(lacks)}", where="model", status=404)
        hint = f"one of {', '.join(self.offered)}"
        raise HttpError(f"there is no model {name!r:.80}", where="model", hint=hint, status=404)
