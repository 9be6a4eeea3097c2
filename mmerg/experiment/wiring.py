"""Makes the parts of a run from a resolved config. Called by entry points only; the one place that instantiates."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from subprocess import run as run_process
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate

from mmerg.backends.cache import Cache, flights_of
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Engine, Sampling
from mmerg.backends.retry import Retry
from mmerg.backends.sampling import sampling
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.protocols import Protocol
from mmerg.corpora.reading import read_corpus
from mmerg.engine.look import Looker
from mmerg.engine.plan import Ahead, clips_by_file, files_there
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import Experiment
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.exemplars import SYMBOL, Exemplars, Wanted, forecast_of, refuse_without_forecast, wants_exemplars
from mmerg.frames.frame import FrameSettings
from mmerg.frames.store import FrameStore
from mmerg.memory.entries import Key
from mmerg.memory.guards import Guards, refuse_evaluated
from mmerg.memory.store import Store, Watch
from mmerg.settings.compose import literal
from mmerg.systems.system import System, build

PACKAGES = (
    *("mmerg", "ollama", "xllamacpp", "opencv-python-headless", "numpy", "pydantic", "jinja2"),
    *("faiss-cpu", "onnxruntime", "tokenizers"),
)


def make(node: dict[str, Any], **more: Any) -> Any:
    """The object that a node with `_target_` describes. Raises ConfigError where it cannot be made."""
    try:
        # Twice, as Hydra resolves a node before it reads it, and reading resolves again.
        return instantiate(literal(literal(node)), **more, _convert_="all")
    except InstantiationException as error:
        raise ConfigError(
            f"{node.get('_target_')} cannot be made: {' '.join(str(error).split())}", where="configuration"
        ) from error


def corpus_of(plain: dict[str, Any]) -> Corpus:
    """The corpus, read and checked."""
    return read_corpus(make(plain["dataset"]["reader"]), plain["dataset"]["labels"])


def protocol_of(plain: dict[str, Any]) -> Protocol:
    """Which turns are targets."""
    return Protocol(**{key: value for key, value in plain["protocol"].items() if key != "name"})


def hosts_of(plain: dict[str, Any]) -> list[str]:
    """The addresses of the hosts, or the names of the copies in this process. Raises ConfigError where there is none,
    and where the hosts that were set are none that the backend asks."""
    hosts: list[str] = plain["backend"]["hosts"]
    if plain["backend"]["name"] == "embedded" and hosts != plain["backbone"]["workers"]:
        raise ConfigError(
            "backend.hosts has no effect on the embedded backend: its model runs in this process",
            where=f"backend.hosts=[{','.join(hosts)}]",
            hint="to ask a server, give backend=ollama, too: dataset=demo alone chooses the embedded backend; "
            "else leave out backend.hosts",
        )
    if not hosts:
        raise ConfigError(
            "backend.hosts is empty", where="configuration", hint="backend.hosts=[http://127.0.0.1:11434]"
        )
    named = Counter(host.rstrip("/").lower() for host in hosts)
    if twice := [host for host, count in named.items() if count > 1]:
        raise ConfigError(
            f"{', '.join(twice)} is listed twice: it would be given more calls at once than backbone.concurrency says",
            where="backend.hosts",
            hint="name each host once; backbone.concurrency says how many calls it takes at once",
        )
    return hosts


def pool_of(plain: dict[str, Any]) -> Pool:
    """A host for each address, each with the reply cache and its retries, none of them called yet."""
    node = plain["backend"]
    replies = Path(plain["cache_dir"]) / "replies.sqlite"
    flights = flights_of(replies)
    hosts = []
    for address in hosts_of(plain):
        backend = Cache(Retry(make(node["adapter"], host=address), node["attempts"]), replies, plain["cache"], flights)
        hosts.append(Host(backend, plain["backbone"]["concurrency"], address))
    return Pool(hosts, node["revive_after"])


def sampling_of(plain: dict[str, Any]) -> Sampling:
    """The backbone's samplers with the run's seed."""
    backbone = plain["backbone"]
    return sampling(Sampling(seed=plain["seed"]), backbone["sampling"], f"backbone={backbone['name']}")


def refuse_idle_repeats(plain: dict[str, Any]) -> None:
    """Raises ConfigError where runs that differ in their seed alone would say the same."""
    own = [agent.sampling for agent in prompts_of(plain).system.agents] if plain["repeats"] > 1 else []
    if own and not any(sampling(sampling_of(plain), overrides, "").temperature for overrides in own):
        new = "" if "temperature" in plain["backbone"]["sampling"] else "+"  # Hydra adds only what is not there yet
        raise ConfigError(
            f"repeats={plain['repeats']} would give the same replies each time: every agent's temperature is 0",
            where="configuration",
            hint=f"{new}backbone.sampling.temperature=0.7, or one run",
        )


def prompts_of(plain: dict[str, Any]) -> Prompts:
    """The system with its templates. Raises ConfigError where it does not hold, before any model is loaded."""
    return Prompts(build(plain["system"]).showing_frames_to(plain["frames"]["seen_by"]))


def memory_corpus_of(plain: dict[str, Any], system: System, evaluated: Corpus) -> Corpus | None:
    """The corpus that exemplars come from, read; None where no stage sees any or none are wanted. Raises ConfigError
    where the settings do not fit each other, the system or the corpus that is evaluated."""
    settings, node = plain["memory"], plain["dataset"]["memory"]
    if not settings["top_k"] or not wants_exemplars(system):
        return None
    if not settings["embedder"]:
        raise ConfigError(
            f"memory={settings['name']} has no embedder", where="memory.top_k", hint="memory=minilm, or memory.top_k=0"
        )
    reader = node.get("reader") if node else None
    if not reader or not reader.get("root", "given"):
        lacking = "dataset.memory.root has no value" if reader else "dataset.memory has no reader"
        what = lacking if node else f"dataset={evaluated.name} names no corpus for exemplars"
        hint = "dataset.memory.root=…, or memory=none" if reader else "memory=none, or a reader as dataset.memory"
        raise ConfigError(what, where="dataset.memory", hint=hint)
    refuse_without_forecast(system, settings)
    try:
        source = read_corpus(make(reader))
    except CorpusError as error:
        raise CorpusError(
            f"the corpus for exemplars cannot be read: {error.what}",
            where=error.where,
            hint=f"{error.hint}; or memory=none",
        ) from error
    refuse_evaluated(source, evaluated)
    return source


def exemplars_of(
    plain: dict[str, Any], system: System, evaluated: Corpus, source: Corpus, samples: Sequence[Sample], watch: Watch
) -> Exemplars:
    """What supplies M to `samples` of the evaluated corpus; the memory is built where it is not there yet."""
    settings = plain["memory"]
    embedder = make(settings["embedder"])
    memory, left_out = Store(Path(plain["cache_dir"]) / "memory", watch).open(source, Key(**settings["key"]), embedder)
    guards = Guards(**{name: settings[name] for name in (field.name for field in fields(Guards))})
    wanted = Wanted(
        **{name: settings[name] for name in ("top_k", "emotion", "min_similarity")},
        guards=guards,
        forecast=forecast_of(system),
    )
    exemplars = Exemplars(memory, source, evaluated, wanted, left_out)
    exemplars.refuse_wordless(samples)
    return exemplars


def looker_of(plain: dict[str, Any], samples: Sequence[Sample] = ()) -> Looker:
    """What takes frames; a file of which several of `samples` show parts is decoded once for all of them."""
    frames = plain["frames"]
    settings = FrameSettings(
        **{key: frames[key] for key in ("per_clip", "method", "long_side", "jpeg_quality", "max_seconds")}
    )
    store = FrameStore(Path(plain["cache_dir"]) / "frames")
    looked_at = 0 if frames["seen_by"] == "none" else frames["last_turns"]  # no clip is opened that nobody sees
    ahead = Ahead(clips_by_file(samples, looked_at), files_there(samples, looked_at))
    return Looker(settings, frames["max_frames"], looked_at, store, ahead)


def experiment_of(
    plain: dict[str, Any],
    prompts: Prompts,
    sampling: Sampling,
    engine: Engine,
    exemplars: Exemplars | None = None,
) -> Experiment:
    """What all samples share."""
    return Experiment(
        prompts=prompts,
        looker=looker_of(plain),
        sampling=sampling,
        engine=engine,
        max_images=plain["backbone"]["max_images"],
        sources={SYMBOL: exemplars} if exemplars else {},
    )


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change a result."""
    found = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


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
