"""Makes the parts of a run, each from the settings that it needs. Only here are classes of `_target_` made."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from mmerg.backends.protocol import Sampling
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.reading import read_corpus
from mmerg.engine.look import Ahead, Looker, clips_by_file, files_there
from mmerg.engine.prompts import Prompts
from mmerg.engine.sources import Source
from mmerg.errors import ConfigError, CorpusError
from mmerg.frames.store import FrameStore
from mmerg.memory.guards import refuse_evaluated
from mmerg.memory.vectors import Embedder
from mmerg.settings.kinds import Target
from mmerg.settings.model import DatasetSettings, EmotionOf, FramesSettings, MemorySourceSettings, SystemSettings
from mmerg.sources.exemplars import FromMemory, Opened
from mmerg.systems import target
from mmerg.systems.build import build
from mmerg.systems.system import FramesSeenBy, System


def make(node: Target, **more: Any) -> Any:
    """The object that a node with `_target_` describes. Raises ConfigError where it cannot be made."""
    return target.make(Target.model_validate({**node.plain(), **more}), "configuration")


def load_corpus(dataset: DatasetSettings) -> Corpus:
    """The corpus, read and checked."""
    return read_corpus(make(dataset.reader), dataset.labels)


def build_prompts(
    system: SystemSettings, supplied: Collection[str], seen_by: FramesSeenBy, emotion_of: EmotionOf
) -> Prompts:
    """The system with its templates. supplied: symbols of sources. Raises ConfigError where it does not hold."""
    return Prompts(build(system, given=supplied).showing_frames_to(seen_by), emotion_of)


def refuse_idle_seeds(repeats: int, system: System, sampling: Sampling) -> None:
    """Raises ConfigError where runs, or the draws of a sample, that differ in their seed alone would say the same."""
    asked = {"repeats": repeats, "system.draws": system.draws}
    many = next((name for name, count in asked.items() if count > 1), None)
    warm = [sampling.changed(agent.sampling).temperature for agent in system.agents]
    if many and not any([*warm, system.auditor and system.rerun_temperature]):
        cold = all("temperature" in agent.sampling for agent in system.agents)  # whatever the backbone's is
        hot = f"system.stages.{system.stages[0].name}" if cold else "backbone"
        what = f"{many}={asked[many]} would give the same replies each time: every agent's temperature is 0"
        raise ConfigError(what, where="configuration", hint=f"{hot}.sampling.temperature=0.7, or {many}=1")


def build_sources(
    settings: Mapping[str, Target | None],
    memory: MemorySourceSettings | None,
    system: System,
    evaluated: Corpus,
    cache_dir: Path,
) -> dict[str, Source]:
    """What supplies the symbols that some agent sees; sources that supply nothing are left out. memory: the corpus for
    exemplars, which is read where a source needs it. Raises ConfigError where the settings do not fit each other, the
    system or the evaluated corpus."""

    @cache
    def remembered() -> Corpus:
        asking = [symbol for symbol, one in made.items() if isinstance(one, FromMemory) and one.settings.top_k]
        without = " ".join("memory=none" if symbol == "M" else f"sources.{symbol}.top_k=0" for symbol in asking)
        return _remembered(memory, evaluated, without)

    opened: Opened = {}
    embedders: dict[str, Embedder | None] = {}
    nodes = {symbol: node for symbol, node in settings.items() if node and system.sees(symbol)}
    made = {symbol: _source(symbol, node) for symbol, node in nodes.items()}
    sources: dict[str, Source] = {}
    for symbol, source in made.items():
        if isinstance(source, FromMemory):
            embedder = json.dumps(nodes[symbol].plain().get("embedder"), sort_keys=True)
            source.embedder = embedders.setdefault(embedder, source.embedder)
            if prepared := source.prepare(symbol, system, evaluated, remembered, cache_dir, opened):
                sources[symbol] = prepared
        elif callable(getattr(source, "supply", None)):
            sources[symbol] = cast(Source, source)
        else:
            hint = "it needs supply(self, sample, state, forecast), see docs/own.md"
            raise ConfigError(f"{nodes[symbol].target} is no source", where=f"sources.{symbol}", hint=hint)
    return sources


def _source(symbol: str, node: Target) -> object:
    """What the settings of a source make. Raises ConfigError, naming the symbol."""
    try:
        return make(node)
    except ConfigError as error:
        error.where = f"sources.{symbol}, {error.where}"
        raise


def _remembered(node: MemorySourceSettings | None, evaluated: Corpus, without: str) -> Corpus:
    """The corpus that exemplars come from. without: what to set to do without it."""
    if node is None or not node.reader.plain().get("root", "given"):
        what = "dataset.memory.root has no value" if node else f"dataset={evaluated.name} names no corpus for exemplars"
        hint = f"dataset.memory.root=…, or {without}" if node else f"a reader as dataset.memory, or {without}"
        raise ConfigError(what, where="dataset.memory", hint=hint)
    try:
        source = read_corpus(make(node.reader))
        refuse_evaluated(source, evaluated)
    except (CorpusError, ConfigError) as error:
        begin = "the corpus for exemplars cannot be read: " if isinstance(error, CorpusError) else ""
        error.what, error.hint = f"{begin}{error.what}", "; or ".join(filter(None, (error.hint, without)))
        raise
    return source


def build_looker(settings: FramesSettings, system: System, cache_dir: Path, samples: Sequence[Sample] = ()) -> Looker:
    """What takes frames; a file of which several of `samples` show parts is decoded once for all of them. No clip is
    opened that no agent sees."""
    frames = settings if system.sees("V") else settings.model_copy(update={"last_turns": 0})
    ahead = Ahead(clips_by_file(samples, frames.last_turns), files_there(samples, frames.last_turns))
    return Looker(frames, FrameStore(cache_dir / "frames"), ahead)
