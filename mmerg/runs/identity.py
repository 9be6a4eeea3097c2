"""The identity of a run: digests of everything that affects its results, by name in the manifest:

    config          the settings, without those below
    corpus, clips   the files of the corpus; the names and sizes of its clips
    engine          backend, server version, model, its digest and load options
    prompt NAME     a template that the system can render
    output STAGE    the schema of a stage's output
    FILE            a user's file: the code of a class or function, or a file that its settings name
    stage, loop, source NAME    the `digest` of a user's class, if it has one
    auditor         measured checks of stages (auditor.json)
    source SYMBOL, memory SYMBOL    the corpus of exemplars, and the memory made from it

Not part of the identity: settings marked RUNTIME_ONLY (hosts, cache, limit, …), folders of files, settings without
effect (frames if no agent sees any), the order of unordered lists, versions of packages, and the commit. The sessions
of a manifest have these.

The name of a run's folder ends in eight digits of the parts known before the first call: all but clips, engine and
memories. A run continues in its folder only if all parts are equal. The reply cache uses the digest of a request and
the engine instead (`mmerg.backends.cache`)."""

import copy
import hashlib
import inspect
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmerg.backends.protocol import Engine
from mmerg.errors import ConfigError
from mmerg.settings.commands import JudgeSettings
from mmerg.settings.kinds import PLACE, RUNTIME_ONLY, Plain
from mmerg.settings.model import LOOPS, RunSettings
from mmerg.settings.tree import get_path, paths_marked
from mmerg.storage.files import compute_sha256
from mmerg.systems.instantiate import get_dotted_name, unwrap_callable
from mmerg.systems.schema import digest_schema
from mmerg.systems.system import System

Digests = dict[str, str]  # keyed by the names above
CONFIG, CORPUS, CLIPS, ENGINE, AUDITOR = "config", "corpus", "clips", "engine", "auditor"
PROMPT, OUTPUT, SOURCE, MEMORY = "prompt ", "output ", "source ", "memory "
_PARTS = (CONFIG, CORPUS, CLIPS, ENGINE, AUDITOR)  # files of these names get that of their folder
KNOWN_LATER = (CLIPS, ENGINE, MEMORY)  # known once clips are listed and a server has replied
RUNTIME_KEYS = tuple(
    dict.fromkeys(key for kind in (RunSettings, JudgeSettings) for key in paths_marked(kind, RUNTIME_ONLY))
)
_PLACES = (  # of these paths only the last name counts
    *paths_marked(RunSettings, PLACE),
    *("backend.adapter.model", "backend.adapter.mmproj"),  # copies of the backbone's
    "judge.prompts",  # the templates have digests
)
_CODE = re.compile(r"/.*\.py:\w+")  # a name in a user's file, which has a digest
_EMBEDDER = re.compile(r"sources\.[^.]+\.embedder")  # the same settings as memory.embedder
_SEM = "mmerg.sources.sem.Sem"
_NO_MEMORY = ("mmerg.sources.situation.Situation", _SEM)  # any other source may need the corpus for exemplars
_NO_EXEMPLARS = {"top_k": 0}


def digest_run(
    settings: Plain,
    corpus: str,
    system: System,
    of_system: Digests,
    sources: Mapping[str, object],
    readers: Mapping[str, object],
) -> Digests:
    """The parts of a run's identity known before the first call. corpus: its fingerprint. of_system: its
    `digest_system`. readers: by symbol, the source or embedder that reads the files in a source's settings. Raises
    ConfigError if a user's class has no digest and no file."""
    plain, files = copy.deepcopy(settings), dict(of_system)
    nodes, given = plain["system"]["stages"], plain["sources"]
    if system.auditor:
        nodes = {**nodes, system.auditor.name: plain["system"]["auditor"]}
    for agent in system.agents:
        if agent.function:
            nodes[agent.name]["function"] = name_files(nodes[agent.name]["function"], agent.function, files)
    if isinstance(plain["system"]["loop"], dict):
        plain["system"]["loop"] = name_files(plain["system"]["loop"], system.loop, files)
    if plain.get("auditor"):
        files[AUDITOR] = compute_sha256(Path(plain["auditor"]))
    for symbol, reader in readers.items():
        given[symbol] = name_files(given[symbol], reader, files)
    for symbol, source in sources.items():
        _add_code(files, f"{SOURCE}{symbol}", source)
    return {CONFIG: digest_settings(plain), CORPUS: corpus, **files, **_sizes(plain)}


def digest_system(system: System, templates: Mapping[str, str]) -> Digests:
    """The parts for a system: templates, output schemas, and the user's classes and functions."""
    digests = {f"{PROMPT}{name}": _sha256(text) for name, text in templates.items()}
    for agent in system.agents:
        if agent.output:
            digests[f"{OUTPUT}{agent.name}"] = _sha256(digest_schema(agent.output))
            if not agent.output.__module__.startswith("mmerg."):  # as it may have validators
                _add_code(digests, f"{OUTPUT}{agent.name}, class", agent.output)
        if agent.function:
            _add_code(digests, f"stage {agent.name}", agent.function)
        if agent.prior:
            digests[f"labels {agent.name}"] = _sha256(agent.prior.model_dump_json())
        if agent.verdict.form == "code":
            for check in agent.code:
                _add_code(digests, f"code {agent.name}", check)
    if not isinstance(system.loop, str):
        _add_code(digests, "loop", system.loop)
    return digests


def combine_digests(digests: Mapping[str, str]) -> str:
    """One SHA-256 (hex) for several digests."""
    return _sha256(json.dumps(digests, sort_keys=True))


def serialize_engine(engine: Engine) -> str:
    """The engine's part of an identity."""
    return json.dumps(engine.model_dump(mode="json"), sort_keys=True)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _sizes(settings: Plain) -> Digests:
    """The sizes of the model's files, as different files may share a name."""
    files = [Path(str(get_path(settings, f"backbone.{key}") or "")) for key in ("gguf", "mmproj")]
    return {file.name: str(file.stat().st_size) for file in files if file.is_file()}


def _add_code(digests: Digests, name: str, thing: object) -> None:
    """Adds a class or function: its `digest` under `name`, else the SHA-256 of its file under the file's name."""
    own = _own_digest(thing)
    if own:
        digests[name] = own
        return
    try:
        _add_file(digests, Path(inspect.getsourcefile(unwrap_callable(thing)) or ""))
    except (TypeError, OSError) as error:
        what = f"{get_dotted_name(thing)} has no digest, and no file to compute one from"
        hint = "give it an attribute `digest`: a string that changes whenever its output may change"
        raise ConfigError(what, where="configuration", hint=hint) from error


def _add_file(digests: Digests, file: Path) -> str:
    """Adds the SHA-256 of a file, and returns its key: the file's name, with its folder's for a second file of that
    name. Raises OSError."""
    digest = compute_sha256(file)
    free = file.name not in _PARTS and digests.get(file.name, digest) == digest
    name = file.name if free else f"{file.parent.name}/{file.name}"
    digests[name] = digest
    return name


def name_files(node: object, reader: object, digests: Digests) -> object:
    """The settings of `reader` with only the last name of each path. Adds the files' digests, unless `reader` has a
    `digest`."""
    own = bool(_own_digest(reader))

    def named(node: object) -> object:
        if isinstance(node, dict):
            return {key: named(inner) for key, inner in node.items()}
        if isinstance(node, list):
            return [named(inner) for inner in node]
        if not isinstance(node, str) or not ("/" in node or Path(node).suffix):
            return node  # a word, even if the working directory has a file of that name
        file, in_file, name = node.rpartition(".py:")
        try:
            path = Path(f"{file}.py" if in_file else node).expanduser()
            if own:
                return path.name if not in_file and path.is_absolute() and path.exists() else node
            return _add_file(digests, path) + (in_file and f":{name}")
        except (OSError, ValueError, RuntimeError):  # no file: too long, a null byte, an unknown home
            return node

    return named(node)


def _own_digest(thing: object) -> str:
    """The attribute `digest`; "" if there is none."""
    digest = getattr(thing, "digest", None)
    return digest if isinstance(digest, str) else ""


def get_runtime_settings(plain: Plain) -> Plain:
    """The RUNTIME_KEYS in a resolved config, by dotted path. Each start of a run records them."""
    return {path: value for path in RUNTIME_KEYS if (value := get_path(plain, path)) is not None}


def replace_runtime_settings(plain: Plain, runtime: Plain) -> Plain:
    """The config with other runtime settings."""
    changed = copy.deepcopy(plain)
    for path, value in runtime.items():
        above, _, last = path.rpartition(".")
        (get_path(changed, above) if above else changed)[last] = value
    return changed


def digest_settings(plain: Mapping[str, object]) -> str:
    """SHA-256 (hex) of the settings in a resolved config that affect results."""
    return _sha256(json.dumps(canonicalize(plain), sort_keys=True))


def canonicalize(plain: Mapping[str, object], *but_for: str) -> Plain:
    """The settings that affect results, in canonical form, without the dotted paths `but_for`. A missing setting counts
    as off, for imported replies."""
    kept: Plain = _without_folders(plain)
    for part, settle in (("protocol", _canonical_protocol), ("system", _canonical_system)):
        if isinstance(kept.get(part), dict):
            settle(kept[part])
    stages = get_path(kept, "system.stages")
    agents = [*(stages.values() if isinstance(stages, dict) else ()), get_path(kept, "system.auditor")]
    seen = {symbol for agent in agents for symbol in get_path(agent, "sees") or ()}
    seen_by = get_path(kept, "frames.seen_by")
    if seen_by == "none" or (seen_by == "paper" and seen and "V" not in seen):
        kept["frames"] = {"seen_by": "none"}
    sources = kept.get("sources") or {}
    kept["sources"] = {name: _canonical_source(node) for name, node in sources.items() if node and name in seen}
    needs_memory = [one for one in kept["sources"].values() if one != _NO_EXEMPLARS]
    if all(get_path(one, "_target_") in _NO_MEMORY for one in needs_memory) and isinstance(kept.get("dataset"), dict):
        kept["dataset"]["memory"] = None
    for path in ("memory", "sem", *but_for):  # memory and sem: other settings refer to them
        above, _, last = path.rpartition(".")
        node = get_path(kept, above) if above else kept
        if isinstance(node, dict):
            node.pop(last, None)
    return kept


def _without_folders(node: Any, path: str = "") -> Any:
    """A copy without runtime settings, folders of files, and the root of the corpus, which has a digest."""
    of_corpus = path.split(".", maxsplit=1)[0] == "dataset"
    if isinstance(node, Mapping):
        above = f"{_EMBEDDER.sub('memory.embedder', path)}." if path else ""
        return {
            key: _without_folders(value, above + key)
            for key, value in node.items()
            if above + key not in RUNTIME_KEYS
            and not (of_corpus and key == "root" and not isinstance(value, dict))  # a class may have one
        }
    if isinstance(node, list | tuple):
        return [_without_folders(value, path) for value in node]
    is_place = of_corpus or path in _PLACES or (isinstance(node, str) and _CODE.fullmatch(node))
    if is_place and isinstance(node, str) and node.startswith("/"):
        return os.path.basename(os.path.normpath(node))  # noqa: PTH119
    return node


def _canonical_protocol(protocol: Plain) -> None:
    protocol.pop("name", None)
    if protocol.get("sample") is None:
        protocol.pop("seed", None)
    if isinstance(protocol.get("emotions"), list):
        protocol["emotions"] = sorted(set(protocol["emotions"]))


def _canonical_system(system: Plain) -> None:
    system.pop("label_sets", None)  # the dataset has the chosen one
    system.pop("prompts", None)  # the templates have digests of their own
    without = system["without"] = sorted(set(system.get("without") or ()))
    if isinstance(stages := system.get("stages"), dict):
        system["stages"] = {name: stage for name, stage in stages.items() if name not in without}
    if get_path(system.get("auditor"), "name") in without:
        system["auditor"] = None
    if not isinstance(system.get("auditor"), dict) and system.get("loop") in LOOPS:  # one pass
        for idle in ("max_iterations", "rerun_temperature", "rerun", "max_views", "rerun_views", "retain"):
            system.pop(idle, None)


def _canonical_source(node: Plain) -> Plain:
    """A source without settings that have no effect. The embedder of a small empathetic model is omitted, as the
    model's digest covers it."""
    if get_path(node, "top_k") == 0:
        return dict(_NO_EXEMPLARS)
    if get_path(node, "_target_") != _SEM:
        return node
    idle = () if node.get("cause_words", True) else ("transductive", "k1", "lexicon")
    return {key: value for key, value in node.items() if key not in ("file", "embedder", *idle)}
