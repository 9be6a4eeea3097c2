"""The sources of a run, which are the inputs that no stage makes, such as exemplars."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

from mmerg.corpora.dialogue import Corpus
from mmerg.engine.sources import Source
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.build import load_corpus, make
from mmerg.memory.guards import refuse_evaluated
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import MemorySourceSettings
from mmerg.sources.exemplars import FromMemory
from mmerg.systems.system import System


def build_sources(
    settings: Mapping[str, ClassSpec | None],
    memory: MemorySourceSettings | None,
    system: System,
    evaluated: Corpus,
    cache_dir: Path,
) -> dict[str, Source]:
    """Builds the sources of symbols that some agent sees, without those that have no content. memory: the corpus of
    exemplars, read only if a source needs it. Raises ConfigError if settings do not fit each other, the system or the
    evaluated corpus."""

    @cache
    def remembered() -> Corpus:
        asking = [symbol for symbol, one in made.items() if isinstance(one, FromMemory) and one.settings.top_k]
        without = " ".join("memory=none" if symbol == "M" else f"sources.{symbol}.top_k=0" for symbol in asking)
        return _remembered(memory, evaluated, without)

    nodes = {symbol: node for symbol, node in settings.items() if node and system.sees(symbol)}
    made = {symbol: _source(symbol, node) for symbol, node in nodes.items()}
    sources: dict[str, Source] = {}
    for symbol, source in made.items():
        if isinstance(source, FromMemory):
            if prepared := source.prepare(symbol, system, evaluated, remembered, cache_dir):
                # Equal sources, as TRACE's, are one, which opens one memory.
                equal = (sources[other] for other in sources if nodes[other] == nodes[symbol])
                sources[symbol] = next(equal, prepared)
        elif callable(getattr(source, "supply", None)):
            sources[symbol] = cast(Source, source)
        else:
            hint = "it needs supply(self, sample, state, forecast), see docs/extend.md"
            raise ConfigError(f"{nodes[symbol].target} is not a source", where=f"sources.{symbol}", hint=hint)
    return sources


def _source(symbol: str, node: ClassSpec) -> object:
    """Makes a source from its settings. Raises ConfigError, naming the symbol."""
    try:
        return make(node)
    except ConfigError as error:
        error.where = f"sources.{symbol}, {error.where}"
        raise


def _remembered(node: MemorySourceSettings | None, evaluated: Corpus, without: str) -> Corpus:
    """Loads the corpus of exemplars. without: the setting that does without it."""
    if node is None or not node.reader.plain().get("root", "given"):
        what = "dataset.memory.root has no value" if node else f"dataset={evaluated.name} names no corpus for exemplars"
        hint = f"dataset.memory.root=…, or {without}" if node else f"a reader as dataset.memory, or {without}"
        raise ConfigError(what, where="dataset.memory", hint=hint)
    try:
        source = load_corpus(node, "dataset.memory")
        refuse_evaluated(source, evaluated)
    except (CorpusError, ConfigError) as error:
        begin = "the corpus for exemplars cannot be read: " if isinstance(error, CorpusError) else ""
        error.what, error.hint = f"{begin}{error.what}", "; or ".join(filter(None, (error.hint, without)))
        raise
    return source
