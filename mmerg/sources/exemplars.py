"""Exemplars from a memory of dialogues that are never evaluated: the source of M (MERG, arXiv 2604.18988, section 3).

Only guards see the sample's dialogue and hidden reply. A prompt shows the parts of an exemplar that the template
`common/exemplars.j2` names; the trace shows all parts.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmerg.corpora.dialogue import Corpus, Dialogue, Sample
from mmerg.engine.sources import SourceOutput
from mmerg.engine.state import State
from mmerg.errors import ConfigError
from mmerg.memory.entries import as_pairs, build_key, build_origin, join_history
from mmerg.memory.guards import Query
from mmerg.memory.memory import Hit, Memory
from mmerg.memory.store import open_memory
from mmerg.memory.vectors import Embedder
from mmerg.runs.events import Excluded
from mmerg.settings.problems import read_settings
from mmerg.settings.sources import MemorySettings
from mmerg.systems.system import System

FOREIGN = 0.5  # share of unknown tokens above which a text is in another language than the embedder; 0.1 for English


class Exemplars:
    """A memory as a source. Call `open` before `supply`. source: the corpus of the memory. evaluated: that of the
    samples. cache: the folder of mmerg's caches."""

    memory: Memory

    def __init__(
        self, settings: MemorySettings, embedder: Embedder, source: Corpus, evaluated: Corpus, cache: Path
    ) -> None:
        self.settings, self.embedder, self.source, self._cache = settings, embedder, source, cache
        self._dialogues = {dialogue.id: dialogue for dialogue in evaluated.dialogues}
        self._origins = {dialogue.id: build_origin(dialogue) for dialogue in evaluated.dialogues}

    @property
    def digest(self) -> str:
        """The digest of the corpus; the open memory has its own."""
        return self.source.fingerprint

    def open(self, progress: Callable[[int, int], None]) -> None:
        """Opens the memory, and builds it first if it does not exist. progress: see `embed_all`."""
        folder = self._cache / "memory"
        self.memory, self._skipped = open_memory(folder, self.source, self.settings.key, self.embedder, progress)

    def describe_missing(self, samples: Sequence[Sample]) -> str:
        """Returns a note on missing situations; "" if none is missing, or if the key is the history."""
        key, dialogues = self.settings.key, self.source.dialogues
        samples_without = sum(not sample.situation for sample in samples)
        dialogues_without = sum(not dialogue.situation for dialogue in dialogues)
        if key.text == "history" or not (samples_without or dialogues_without):
            return ""
        in_memory = f"{dialogues_without} of {len(dialogues)} dialogues of {self.source.name} {self.source.split}"
        without = f"{samples_without} of {len(samples)} samples and {in_memory} have no situation"
        return f"{without}: they are compared by their last {key.turns} turns"

    def find_foreign_text(self) -> list[str]:
        """Returns a problem if the embedder does not know most tokens, so that similarities mean nothing; else []."""
        measure_unknown = getattr(self.embedder, "measure_unknown", None)
        dialogues = (*self.source.dialogues, *self._dialogues.values())
        texts = [turn.text for dialogue in dialogues for turn in dialogue.turns]
        share = measure_unknown(texts) if measure_unknown else 0.0
        if share <= FOREIGN:
            return []
        hint = "use memory=ollama with a multilingual model, or set memory.embedder.folder=…"
        what = f"{100 * share:.0f} % of the tokens are unknown to the embedder or single letters"
        return [f"memory: {what}: it was trained on another language; {hint}"]

    def supply(self, sample: Sample, state: State, forecast: str | None) -> SourceOutput:  # noqa: ARG002 - for other sources
        nearest = self.memory.nearest(self.query(sample, forecast), self.settings)
        excluded = (
            Excluded(id=hit.entry.id, guard=hit.guard, similarity=hit.similarity, reply=hit.entry.reply)
            for hit in nearest.excluded
        )
        return SourceOutput(tuple(map(self._content, nearest.hits)), tuple(excluded), nearest.problem)

    def query(self, sample: Sample, emotion: str | None = None) -> Query:
        """Returns the query for a sample. Its text is made from the history that prompts show, which `protocol.history`
        may shorten. Guards always get the dialogue's last turns."""
        key = self.settings.key
        live = Dialogue(sample.dialogue_id, sample.scene.history)  # a conversation that is in no corpus
        dialogue = self._dialogues.get(sample.dialogue_id, live)
        target = int(sample.id.removeprefix(f"{dialogue.id}/")) - 1  # as `cut_sample` names samples
        return Query(
            origin=self._origins.get(sample.dialogue_id) or build_origin(dialogue),
            text=build_key(key, as_pairs(sample.scene.history), sample.situation),
            history=join_history(as_pairs(dialogue.turns[max(0, target - key.turns) : target])),
            emotion=emotion,
            reply=sample.target.text if sample.target else None,
        )

    def close(self) -> None:
        """Cancels the embedder's running requests, if it has a `close`."""
        getattr(self.embedder, "close", lambda: None)()

    def section(self) -> dict[str, object]:
        return {
            "corpus": {"name": self.source.name, "split": self.source.split},
            "entries": len(self.memory.entries),
            "skipped": dict(self._skipped),
            "top_k": self.settings.top_k,
            "embedder": self.embedder.identity(),
            "digest": self.memory.digest,
        }

    def _content(self, hit: Hit) -> Mapping[str, object]:
        entry = hit.entry
        content = {
            "id": entry.id,
            "from": f"{self.source.name} {self.source.split}",
            "similarity": hit.similarity,
            "history": [{"speaker": speaker, "text": text} for speaker, text in entry.history],
            "reply": entry.reply,
            "emotion": entry.emotion,
        }
        return content | ({"situation": entry.situation} if entry.situation else {})


class FromMemory:
    """The settings of a memory, whose keys conf/memory/minilm.yaml explains. It reads and builds nothing."""

    def __init__(self, *, embedder: Embedder | None = None, **settings: Any) -> None:
        name = settings.setdefault("name", "memory")
        self.settings, self.embedder = read_settings(MemorySettings, settings, f"memory={name}"), embedder

    def prepare(
        self, symbol: str, system: System, evaluated: Corpus, remembered: Callable[[], Corpus], cache: Path
    ) -> Exemplars | None:
        """Returns the source for the input `symbol`; None if the settings ask for no exemplars. remembered: reads the
        corpus of exemplars. Raises ConfigError if the settings do not fit each other, the system or the evaluated
        corpus."""
        if not self.settings.top_k:
            return None
        if symbol == "M":
            key, described, embedder = "memory", f"memory={self.settings.name}", "memory=minilm"
        else:
            key = described = f"sources.{symbol}"
            embedder = f"{key}.embedder=${{memory.embedder}}"
        if not self.embedder:
            hint = f"use {embedder}, or {key}.top_k=0"
            raise ConfigError(f"{described} has no embedder", where=f"{key}.top_k", hint=hint)
        agents = [agent for agent in system.agents if symbol in agent.sees]
        if self.settings.emotion == "require_or_any" and not any(map(system.forecast_path, agents)):
            names = ", ".join(agent.name for agent in agents)
            what = f"{key}.emotion=require_or_any needs the forecast emotion, and {names} sees none"
            raise ConfigError(what, where=f"system={system.name}", hint=f"set {key}.emotion=any")
        return Exemplars(self.settings, self.embedder, remembered(), evaluated, cache)
