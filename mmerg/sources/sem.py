"""Probable emotions and cause words from a small empathetic model (SEM): the source W of HEF (2024).

sources: {W: {_target_: mmerg.sources.sem.Sem, file: sem.json, k2: 20}}
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from mmerg.corpora.dialogue import Sample
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import State
from mmerg.errors import ConfigError
from mmerg.sem.artefact import HINT, read_sem
from mmerg.settings.problems import read_settings
from mmerg.settings.sources import SemSettings
from mmerg.storage.files import compute_sha256

DECIMALS = 4  # of a probability


class Sem:
    """The model in `file` as a source. conf/system/hef.yaml explains each setting. Raises ConfigError if the file
    cannot be read, or if the model does not fit the settings."""

    def __init__(self, **settings: Any) -> None:
        self.settings = read_settings(SemSettings, settings, "the small empathetic model")
        if not self.settings.file:
            what = "no small empathetic model is set"
            raise ConfigError(what, where="sem", hint=f"sem=FILE; {HINT}")
        path = Path(self.settings.file).expanduser()
        self._model, self.digest = read_sem(path), compute_sha256(path)
        self._with_causes = self.settings.cause_words and self._model.causes.high is not None
        self._refuse_other_causes()

    @property
    def facts(self) -> dict[str, object]:
        """What identifies, together with the settings, the row of the paper that a run reproduces."""
        causes = self._model.causes
        return {"k1": causes.k1, "lexicon": causes.high is not None}

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput:  # noqa: ARG002 - for other sources
        """Returns one item: the k2 most probable emotions with probabilities, and the high and low cause words."""
        history = [turn.text for turn in sample.scene.history]
        likely = islice(self._model.predict(history).items(), self.settings.k2)
        emotions = [{"label": label, "p": round(p, DECIMALS)} for label, p in likely]
        high, low = self._model.find_cause_words(history) if self._with_causes else ([], [])
        return SourceOutput(({"emotions": emotions, "high": high, "low": low},))

    def describe_missing(self, samples: Sequence[Sample]) -> str:
        """Returns a note on the model's cause words, or "". Raises ConfigError if its labels are not those of the
        samples, or if it was trained on their dialogues."""
        model = self._model
        for sample in samples:
            if set(sample.scene.labels) != set(model.labels):
                trained, labels = ", ".join(model.labels), ", ".join(sample.scene.labels)
                what = f"the small empathetic model has the labels {trained}, but the samples have {labels}"
                hint = f"set dataset.label_set=… as in its training, or use a model with these labels: {HINT}"
                raise ConfigError(what, where="sem", hint=hint)
            texts = [turn.text for turn in (*sample.scene.history, *filter(None, [sample.target]))]
            if model.was_fitted_to(texts):
                data, dialogue = model.trained_on, sample.dialogue_id
                what = f"the small empathetic model was trained or validated on {dialogue}, which is evaluated"
                where = f"sem, made from {data.corpus} {data.split} and {model.validated_on.split}"
                hint = "evaluate another split, for example dataset.split=test, or train without these dialogues"
                raise ConfigError(what, where=where, hint=hint)
        if self.settings.cause_words and not self._with_causes:
            return "cause words are off: the model was trained without a lexicon (lexicon=…)"
        if self._with_causes and self._model.transductive:
            over = model.causes.over
            return f"cause words are transductive: S, its means and IDF are over {over.corpus} {over.split}"
        return ""

    def _refuse_other_causes(self) -> None:
        """Raises ConfigError if `transductive` contradicts the split over which the model computed S."""
        over, transductive = self._model.causes.over, self._model.transductive
        if self._with_causes and self.settings.transductive != transductive:
            what = f"the small empathetic model has its S from {over.corpus} {over.split}, "
            what += "not from its training data" if transductive else "which is its training data"
            hint = f"set sources.W.transductive={str(transductive).lower()}"
            hint += ", or use a model trained with another causes_split=…"
            raise ConfigError(what, where="sources.W.transductive", hint=hint)
