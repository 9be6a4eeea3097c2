"""What a small empathetic model says of a dialogue: probable emotions and cause words, the source W of HEF (2024).

sources: {W: {_target_: mmerg.sources.sem.Sem, folder: sem, k2: 20}}
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from mmerg.corpora.dialogue import Sample
from mmerg.engine.sources import Supply
from mmerg.engine.state import State
from mmerg.errors import ConfigError
from mmerg.sem import artefact
from mmerg.settings.model import SemSettings
from mmerg.settings.wrong import read_part

PLACES = 4  # of a probability


class Sem:
    """The model in `folder`; conf/system/hef.yaml explains each setting. Raises ConfigError where it cannot be read."""

    def __init__(self, **settings: Any) -> None:
        self.settings = read_part(SemSettings, settings, "the small empathetic model")
        if not self.settings.folder:
            what = "no small empathetic model is named"
            raise ConfigError(what, where="sem", hint=f"sem=DIR; {artefact.HINT}")
        self._artefact = artefact.read(Path(self.settings.folder).expanduser())
        self.digest = self._artefact.card.digest

    def supply(self, sample: Sample, state: State, forecast: str | None) -> Supply:  # noqa: ARG002 - for other sources
        """emotions: the k2 most probable, with probabilities; high, low: cause words."""
        history = [turn.text for turn in sample.scene.history]
        likely = islice(self._artefact.model.predict(history).items(), self.settings.k2)
        emotions = [{"label": label, "p": round(p, PLACES)} for label, p in likely]
        high, low = self._artefact.cause_words(history) if self._with_causes else ([], [])
        return Supply(({"emotions": emotions, "high": high, "low": low},))

    def missing(self, samples: Sequence[Sample]) -> str:
        """Raises ConfigError where the model has other labels than the samples, or was made from their dialogues."""
        card = self._artefact.card
        for sample in samples:
            if set(sample.scene.labels) != set(card.labels):
                what = f"the small empathetic model knows {', '.join(card.labels)}"
                hint = f"train one with these labels: {artefact.HINT}"
                raise ConfigError(
                    f"{what}, and the samples have {', '.join(sample.scene.labels)}", where="sem", hint=hint
                )
            if self._artefact.knows(sample.dialogue_id):
                what = (
                    f"the small empathetic model was trained or validated on {sample.dialogue_id}, which is evaluated"
                )
                where = f"sem, made from {card.trained_on.corpus} {card.trained_on.split} and {card.validated_on.split}"
                raise ConfigError(what, where=where, hint="evaluate another split, as dataset.split=test")
        without = self.settings.cause_words and card.causes.high is None
        return "cause words are off: the model was trained without an intensity lexicon (lexicon=…)" if without else ""

    @property
    def _with_causes(self) -> bool:
        return self.settings.cause_words and self._artefact.card.causes.high is not None
