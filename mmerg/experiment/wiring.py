"""Makes the parts of a run from a resolved config. Called by entry points only; the one place that instantiates."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from subprocess import run as run_process
from typing import Any, cast

from mmerg.backends.cache import REPLIES, Mode, replay, stored_engine, with_cache
from mmerg.backends.pool import PATIENCE, Host, Pool
from mmerg.backends.protocol import Engine, Sampling
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.protocols import Selection, describe
from mmerg.corpora.reading import read_corpus
from mmerg.engine.look import Ahead, Looker, clips_by_file, files_there
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Experiment
from mmerg.engine.sources import Source
from mmerg.errors import CallError, ConfigError, CorpusError, MmergError
from mmerg.frames.store import FrameStore
from mmerg.memory.guards import refuse_evaluated
from mmerg.memory.vectors import Embedder
from mmerg.runs.identity import runtime_settings
from mmerg.runs.manifest import Corpus as CorpusSection
from mmerg.runs.manifest import Manifest, ProtocolSection, Session
from mmerg.settings.backbone import AskingSettings, DoctorSettings
from mmerg.settings.kinds import Target
from mmerg.settings.model import DatasetSettings, MemorySourceSettings, ProtocolSettings, RunSettings
from mmerg.sources.exemplars import FromMemory, Opened
from mmerg.systems import target
from mmerg.systems.build import build
from mmerg.systems.system import System

PACKAGES = (
    *("mmerg", "xllamacpp", "opencv-python-headless", "numpy", "faiss-cpu", "pydantic", "jinja2"),
    *("onnxruntime", "tokenizers"),
)


def make(node: Target, **more: Any) -> Any:
    """The object that a node with `_target_` describes. Raises ConfigError where it cannot be made."""
    return target.make(Target.model_validate({**node.plain(), **more}), "configuration")


def corpus_of(dataset: DatasetSettings) -> Corpus:
    """The corpus, read and checked."""
    return read_corpus(make(dataset.reader), dataset.labels)


def hosts_of(settings: DoctorSettings) -> tuple[str, ...]:
    """The addresses of the hosts, or the names of the copies in this process. Raises ConfigError where there is none,
    and where the hosts that were set are none that the backend asks."""
    hosts: tuple[str, ...] = settings.backend.hosts
    if settings.backend.name == "embedded" and hosts != settings.backbone.workers:
        what = "backend.hosts has no effect on the embedded backend: its model runs in this process"
        hint = "to ask a server, give backend=ollama, too: dataset=demo alone chooses the embedded backend; "
        raise ConfigError(what, where=f"backend.hosts=[{','.join(hosts)}]", hint=f"{hint}else leave out backend.hosts")
    if not hosts:
        hint = "backend.hosts=[http://127.0.0.1:11434]"
        raise ConfigError("backend.hosts is empty", where="configuration", hint=hint)
    names = [host.rstrip("/").lower() for host in hosts]
    for place, host in enumerate(hosts):
        if names[place] in names[:place]:
            what = f"{host} is listed twice: it would be given more calls at once than backbone.concurrency says"
            hint = "name each host once; backbone.concurrency says how many calls it takes at once"
            raise ConfigError(what, where="backend.hosts", hint=hint)
    return hosts


def pool_of(settings: AskingSettings, patience: float = PATIENCE) -> Pool:
    """A host for each address, each with the reply cache, none of them called yet. patience: seconds that a call waits
    while all of them are down."""
    backend, slots = settings.backend, settings.backbone.concurrency
    hosts = []
    for address in hosts_of(settings):
        adapter = make(backend.adapter, host=address)
        hosts.append(Host(with_cache(adapter, *_replies(settings)), slots, address))
    return Pool(hosts, backend.revive_after, patience, attempts=backend.attempts)


def _replies(settings: AskingSettings) -> tuple[Path, Mode]:
    """The reply cache, and how it is used."""
    return Path(settings.cache_dir) / REPLIES, settings.cache


def answering(settings: AskingSettings, known: Engine | None = None, patience: float = PATIENCE) -> tuple[Pool, Engine]:
    """The hosts and what they serve; where none answers and replies are only to be read from the cache, the cache
    alone. known: the engine that replies are to be of; else it is looked up in the cache."""
    pool = pool_of(settings, patience)
    try:
        return pool, pool.describe()
    except MmergError as error:
        pool.close()
        if settings.cache != "read" or not isinstance(error, CallError):
            raise
    adapter, (path, mode) = settings.backend.adapter, _replies(settings)
    engine = known or stored_engine(path, settings.backend.name, adapter.model, adapter.load.plain())
    alone = with_cache(replay(engine), path, mode)
    return Pool([Host(alone, settings.backbone.concurrency, "the cache")]), engine


def sampling_of(settings: AskingSettings) -> Sampling:
    """The backbone's samplers with the run's seed."""
    return Sampling(seed=settings.seed).changed(settings.backbone.sampling.plain())


def refuse_idle_seeds(settings: RunSettings, system: System) -> None:
    """Raises ConfigError where runs, or the draws of a sample, that differ in their seed alone would say the same."""
    asked = {"repeats": settings.repeats, "system.draws": system.draws}
    many = next((name for name, count in asked.items() if count > 1), None)
    warm = [sampling_of(settings).changed(agent.sampling).temperature for agent in system.agents]
    if many and not any([*warm, system.auditor and system.rerun_temperature]):
        cold = all("temperature" in agent.sampling for agent in system.agents)  # whatever the backbone's is
        hot = f"system.stages.{system.stages[0].name}" if cold else "backbone"
        what = f"{many}={asked[many]} would give the same replies each time: every agent's temperature is 0"
        raise ConfigError(what, where="configuration", hint=f"{hot}.sampling.temperature=0.7, or {many}=1")


def prompts_of(settings: RunSettings) -> Prompts:
    """The system with its templates. Raises ConfigError where it does not hold, before any model is loaded."""
    system = build(settings.system, given=settings.sources)
    return Prompts(system.showing_frames_to(settings.frames.seen_by), settings.dataset.emotion_of)


def prepared_sources(settings: RunSettings, system: System, evaluated: Corpus) -> dict[str, Source]:
    """What supplies the symbols that some agent sees; the corpora that it needs are read. Sources that supply nothing
    are left out. Raises ConfigError where the settings do not fit each other, the system or the evaluated corpus."""

    @cache
    def remembered() -> Corpus:
        asking = [symbol for symbol, one in made.items() if isinstance(one, FromMemory) and one.settings.top_k]
        without = " ".join("memory=none" if symbol == "M" else f"sources.{symbol}.top_k=0" for symbol in asking)
        return _remembered(settings.dataset.memory, evaluated, without)

    opened: Opened = {}
    embedders: dict[str, Embedder | None] = {}
    nodes = {symbol: node for symbol, node in settings.sources.items() if node and system.sees(symbol)}
    made = {symbol: _source(symbol, node) for symbol, node in nodes.items()}
    sources: dict[str, Source] = {}
    for symbol, source in made.items():
        if isinstance(source, FromMemory):
            embedder = json.dumps(nodes[symbol].plain().get("embedder"), sort_keys=True)
            source.embedder = embedders.setdefault(embedder, source.embedder)
            if prepared := source.prepare(symbol, system, evaluated, remembered, Path(settings.cache_dir), opened):
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


def looker_of(run: RunSettings, system: System, samples: Sequence[Sample] = ()) -> Looker:
    """What takes frames; a file of which several of `samples` show parts is decoded once for all of them. No clip is
    opened that no agent sees."""
    frames = run.frames if system.sees("V") else run.frames.model_copy(update={"last_turns": 0})
    ahead = Ahead(clips_by_file(samples, frames.last_turns), files_there(samples, frames.last_turns))
    return Looker(frames, FrameStore(Path(run.cache_dir) / "frames"), ahead)


def experiment_of(
    settings: RunSettings,
    prompts: Prompts,
    engine: Engine,
    sources: Mapping[str, Source] | None = None,
    samples: Sequence[Sample] = (),
) -> Experiment:
    """What all of `samples` share."""
    return Experiment(
        prompts=prompts,
        looker=looker_of(settings, prompts.system, samples),
        sampling=sampling_of(settings),
        engine=engine,
        max_images=settings.backbone.max_images,
        sources=sources or {},
    )


def manifest_of(corpus: Corpus, protocol: ProtocolSettings, selection: Selection, **more: Any) -> Manifest:
    """The manifest of a run over what a protocol selects of a corpus."""
    return Manifest(
        corpus=CorpusSection(name=corpus.name, split=corpus.split, labels=corpus.labels, notes=dict(corpus.notes)),
        protocol=ProtocolSection(
            description=describe(protocol, selection),
            samples=len(selection.samples),
            dialogues=len(corpus.dialogues),
            left_out=dict(selection.left_out),
        ),
        **more,
    )


def session_of(settings: AskingSettings) -> Session:
    """What a manifest notes of a start."""
    return Session(versions=versions(), git_commit=git_commit(), how=runtime_settings(settings.plain()))


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change a result."""
    numbers = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            numbers[package] = version(package)
    return numbers


def git_commit() -> str | None:
    """The commit of the checkout that the code runs from, "-dirty" behind it where files were changed."""
    here = Path(__file__).parents[1]
    if not (here.parent / ".git").exists():
        return None
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = run_process(command, capture_output=True, text=True, check=False)
    except OSError:  # there is no git here
        return None
    return done.stdout.strip() or None
