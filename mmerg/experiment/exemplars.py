"""What supplies M: the memory as the engine asks for it, a source a sample.

The sample's dialogue and hidden reply go to the guards alone. What is supplied are the exemplars with where they come
from, for the trace; a prompt shows of it what its template names (`exemplar.reply`).

    experiment = replace(experiment, sources={"M": Exemplars(memory, source, evaluated, Wanted(top_k=1))})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.engine.ask import Source, Supply
from mmerg.engine.state import State
from mmerg.errors import ConfigError, CorpusError
from mmerg.memory.entries import history_text, origin_of, spoken
from mmerg.memory.guards import Guards, Query
from mmerg.memory.memory import Emotion, Hit, Memory
from mmerg.runs.events import Excluded
from mmerg.systems.system import System

SYMBOL = "M"


@dataclass(frozen=True)
class Wanted:
    """What is asked of a memory: see `Memory.nearest`. forecast: where the state holds the forecast emotion, as in a
    system's results ("e.emotion"); None where no stage gives one."""

    top_k: int = 1
    emotion: Emotion = "any"
    min_similarity: float | None = None
    guards: Guards = field(default_factory=Guards)
    forecast: str | None = None


class Exemplars:
    """Makes a sample's source. source: the memory's corpus, left_out: what of it is no entry. evaluated: the corpus of
    the samples."""

    def __init__(
        self,
        memory: Memory,
        source: Corpus,
        evaluated: Corpus,
        wanted: Wanted,
        left_out: Mapping[str, int] | None = None,
    ) -> None:
        self.memory, self.wanted = memory, wanted
        self._corpus = {"name": source.name, "split": source.split}
        self._left_out = dict(left_out or {})
        self._dialogues = {dialogue.id: dialogue for dialogue in evaluated.dialogues}
        self._origins = {dialogue.id: origin_of(dialogue) for dialogue in evaluated.dialogues}

    def __call__(self, sample: Sample) -> Source:
        """The source of a sample of the evaluated corpus."""

        def source(state: State) -> Supply:
            wanted = self.wanted
            query = self.query(sample, _forecast(state, wanted.forecast))
            found = self.memory.nearest(query, wanted.top_k, wanted.emotion, wanted.min_similarity, wanted.guards)
            return Supply(tuple(map(self._told, found.hits)), tuple(map(_excluded, found.excluded)), found.problem)

        return source

    def query(self, sample: Sample, emotion: str | None = None) -> Query:
        """The sample as the memory is asked for it: by the history that is shown, of which `protocol.history` may have
        left little. Guards are told of the dialogue's own last turns."""
        key = self.memory.key
        dialogue = self._dialogues[sample.dialogue_id]
        target = int(sample.id.removeprefix(f"{dialogue.id}/")) - 1  # as `cut` names samples
        return Query(
            sample=sample.id,
            origin=self._origins[sample.dialogue_id],
            text=key.of(spoken(sample.scene.history), dialogue.situation, emotion),
            history=history_text(spoken(dialogue.turns[max(0, target - key.turns) : target])),
            emotion=emotion,
            reply=sample.target.text if sample.target else None,
        )

    def refuse_wordless(self, samples: Sequence[Sample]) -> None:
        """Raises CorpusError where not one of the samples has a text to search the memory by; a single one without goes
        without exemplars."""
        if samples and not any(self.query(sample).text for sample in samples):
            text = self.memory.key.text
            raise CorpusError(
                f"none of the {len(samples)} samples has a {text} to search the memory by",
                where=f"memory.key.text={text}",
                hint="memory=none, or memory.key.text=history for missing situations",
            )

    def section(self) -> dict[str, Any]:
        """What a manifest says of the memory."""
        return {
            "corpus": self._corpus,
            "entries": len(self.memory.entries),
            "left_out": self._left_out,
            "top_k": self.wanted.top_k,
            "embedder": self.memory.embedder.identity(),
            "digest": self.memory.digest,
        }

    def _told(self, hit: Hit) -> Mapping[str, Any]:
        entry = hit.entry
        told = {
            "id": entry.id,
            "from": " ".join(self._corpus.values()),
            "similarity": hit.similarity,
            "history": [{"speaker": speaker, "text": text} for speaker, text in entry.history],
            "reply": entry.reply,
            "emotion": entry.emotion,
        }
        return told | ({"situation": entry.situation} if entry.situation else {})


def forecast_of(system: System) -> str | None:
    """Where the state holds the forecast emotion once M is asked for; None where no stage has given one by then, or the
    one that asks may not see it: exemplars picked by it would tell it."""
    path = system.result.get("emotion")
    symbol = path.split(".")[0] if path else None
    asks = next(number for number, stage in enumerate(system.stages) if SYMBOL in stage.sees)
    given = symbol in [stage.gives for stage in system.stages[:asks]]
    return path if given and symbol in system.stages[asks].sees else None


def refuse_without_forecast(system: System, settings: Mapping[str, Any]) -> None:
    """Raises ConfigError where the memory's settings need a forecast emotion that there is not."""
    needing = {
        f"memory.emotion={settings['emotion']}": settings["emotion"] != "any",
        "memory.key.emotion=true": settings["key"]["emotion"],
    }
    needed = [setting for setting, on in needing.items() if on]
    if needed and forecast_of(system) is None:
        asks = next(stage.name for stage in system.stages if SYMBOL in stage.sees)
        raise ConfigError(
            f"{needed[0]} needs the forecast emotion, and {asks} sees none",
            where=f"system={system.name}",
            hint="memory.emotion=any memory.key.emotion=false",
        )


def wants_exemplars(system: System) -> bool:
    """Whether any stage sees M."""
    return any(SYMBOL in stage.sees for stage in system.stages)


def _forecast(state: State, path: str | None) -> str | None:
    """The emotion that stands in the state at a path such as "e.emotion", None where it is not there."""
    symbol, _, name = (path or "").partition(".")
    output = state.get(symbol)
    found = getattr(output, name, None) if name else output
    return found if isinstance(found, str) else None


def _excluded(hit: Hit) -> Excluded:
    return Excluded(id=hit.entry.id, guard=hit.guard, similarity=hit.similarity, reply=hit.entry.reply)
