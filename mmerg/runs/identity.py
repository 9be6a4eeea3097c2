"""The identity of a run: digests of everything that affects its results. Their names in the manifest are

    config          the settings, except for those below
    corpus, clips   the files of the corpus; the names and sizes of its clips
    engine          backend, server version, model, its digest and load options
    prompt NAME     a template that the system can render
    output STAGE    the schema of a stage's output
    FILE            a user's file: the code of a class or function, or a file that its settings name
    stage, loop, source NAME    the `digest` of a user's class, if it has one
    auditor         measured checks of stages (auditor.json)
    source SYMBOL, memory SYMBOL    the corpus of exemplars, and the memory made from it

Not part of the identity are settings marked RUNTIME_ONLY (hosts, cache, limit, …), the folders of files, settings
without effect (such as those of frames if no agent sees any), the order of unordered lists, the versions of packages,
and the commit. The sessions of a manifest record these.

The name of a run's folder ends with eight digits, computed from the parts that are known before the first call: all but
clips, engine and memories. A run continues in its folder only if all parts are equal. The completion cache does not use
the identity, but digests of the request and the engine (`mmerg.backends.cache`).
"""

import copy
import hashlib
import inspect
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
PROMPT, OUTPUT, SOURCE, MEMORY, LABELS = "prompt ", "output ", "source ", "memory ", "labels "
RUNTIME_KEYS = tuple(
    dict.fromkeys(key for kind in (RunSettings, JudgeSettings) for key in paths_marked(kind, RUNTIME_ONLY))
)
_PLACES = (  # only the last name of these paths affects the identity
    *paths_marked(RunSettings, PLACE),
    *("backend.adapter.model", "backend.adapter.mmproj"),  # copies of the backbone's
    "judge.prompts",  # the templates have digests
)
_CODE = re.compile(r"/.*\.py:\w+")  # a class or function in a user's file, which has a digest
_EMBEDDER = re.compile(r"sources\.[^.]+\.embedder")  # has the settings of memory.embedder
_SEM = "mmerg.sources.sem.Sem"


def digest_run(
    settings: Plain,
    corpus: str,
    system: System,
    system_parts: Digests,
    sources: Mapping[str, object],
    readers: Mapping[str, object],
) -> Digests:
    """Computes the parts of a run's identity that are known before the first call. corpus: its fingerprint.
    system_parts: from `digest_system`. readers: by symbol, the source or embedder that reads the files in the settings
    of a source. Raises ConfigError if a user's class has neither a digest nor a file."""
    plain, parts = copy.deepcopy(settings), dict(system_parts)
    nodes, source_nodes = plain["system"]["stages"], plain["sources"]
    if system.auditor:
        nodes = {**nodes, system.auditor.name: plain["system"]["auditor"]}
    for agent in system.agents:
        if agent.function:
            nodes[agent.name]["function"] = name_files(nodes[agent.name]["function"], agent.function, parts)
    if isinstance(plain["system"]["loop"], dict):
        plain["system"]["loop"] = name_files(plain["system"]["loop"], system.loop, parts)
    if plain.get("auditor"):
        parts[AUDITOR] = compute_sha256(Path(plain["auditor"]))
    for symbol, reader in readers.items():
        source_nodes[symbol] = name_files(source_nodes[symbol], reader, parts)
    for symbol, source in sources.items():
        _add_code(parts, f"{SOURCE}{symbol}", source)
    return {CONFIG: digest_settings(plain), CORPUS: corpus, **parts, **_read_model_sizes(plain)}


def digest_system(system: System, templates: Mapping[str, str]) -> Digests:
    """Computes the parts of a system: its templates, output schemas, and the user's classes and functions."""
    digests = {f"{PROMPT}{name}": _sha256(text) for name, text in templates.items()}
    for agent in system.agents:
        if agent.output:
            digests[f"{OUTPUT}{agent.name}"] = _sha256(digest_schema(agent.output))
            if not agent.output.__module__.startswith("mmerg."):  # as it may have validators
                _add_code(digests, f"{OUTPUT}{agent.name}, class", agent.output)
        if agent.function:
            _add_code(digests, f"stage {agent.name}", agent.function)
        if agent.prior:
            digests[f"{LABELS}{agent.name}"] = _sha256(agent.prior.model_dump_json())
        if agent.verdict.form == "code":
            for check in agent.code:
                _add_code(digests, f"code {agent.name}", check)
    if not isinstance(system.loop, str):
        _add_code(digests, "loop", system.loop)
    return digests


def combine_digests(digests: Mapping[str, str]) -> str:
    """Returns the SHA-256 (hex) of several digests."""
    return _sha256(json.dumps(digests, sort_keys=True))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _read_model_sizes(settings: Plain) -> Digests:
    """Reads the sizes of the model's files in bytes, as different files may have the same name."""
    files = [Path(str(get_path(settings, f"backbone.{key}") or "")) for key in ("gguf", "mmproj")]
    return {file.name: str(file.stat().st_size) for file in files if file.is_file()}


def _add_code(digests: Digests, name: str, thing: object) -> None:
    """Adds a class or function: its `digest` under `name`, or else the SHA-256 of its file under the file's name."""
    if digest := _get_digest(thing):
        digests[name] = digest
        return
    try:
        _add_file(digests, Path(inspect.getsourcefile(unwrap_callable(thing)) or ""))
    except (TypeError, OSError) as error:
        what = f"{get_dotted_name(thing)} has no digest, and no file to compute one from"
        hint = "give it an attribute `digest`: a string that changes whenever its output may change"
        raise ConfigError(what, where="configuration", hint=hint) from error


def _add_file(digests: Digests, file: Path) -> str:
    """Adds a file's SHA-256. Returns its key: its name, with its folder's if another file has it. Raises OSError."""
    digest = compute_sha256(file)
    name = file.name if digests.get(file.name, digest) == digest else f"{file.parent.name}/{file.name}"
    digests[name] = digest
    return name


def name_files(node: object, reader: object, digests: Digests) -> object:
    """Shortens each path in the settings of `reader` to its last name. Adds the digests of the files to `digests`,
    unless `reader` has a `digest` itself."""
    has_digest = bool(_get_digest(reader))

    def shorten(node: object) -> object:
        if isinstance(node, dict):
            return {key: shorten(inner) for key, inner in node.items()}
        if isinstance(node, list):
            return [shorten(inner) for inner in node]
        if not isinstance(node, str) or not ("/" in node or Path(node).suffix):
            return node  # no path, even if the working directory has a file of that name
        file, in_file, name = node.rpartition(".py:")
        try:
            path = Path(f"{file}.py" if in_file else node).expanduser()
            if has_digest:
                return path.name if not in_file and path.is_absolute() and path.exists() else node
            return _add_file(digests, path) + (in_file and f":{name}")
        except (OSError, ValueError, RuntimeError):  # no file: the text is too long, or has a null byte or unknown user
            return node

    return shorten(node)


def _get_digest(thing: object) -> str:
    digest = getattr(thing, "digest", None)
    return digest if isinstance(digest, str) else ""


def get_runtime_settings(plain: Plain) -> Plain:
    """Returns the values of the RUNTIME_KEYS in a resolved config, by dotted path. Each start of a run records them."""
    return {path: value for path in RUNTIME_KEYS if (value := get_path(plain, path)) is not None}


def replace_runtime_settings(plain: Plain, runtime: Plain) -> Plain:
    changed = copy.deepcopy(plain)
    for path, value in runtime.items():
        above, _, last = path.rpartition(".")
        (get_path(changed, above) if above else changed)[last] = value
    return changed


def digest_settings(plain: Mapping[str, object]) -> str:
    """Returns the SHA-256 (hex) of the settings that affect results in a resolved config."""
    return _sha256(json.dumps(canonicalize(plain), sort_keys=True))


def canonicalize(plain: Mapping[str, object], *ignored: str) -> Plain:
    """Returns the settings that affect results, in canonical form, without those at the dotted paths `ignored`. A
    missing setting counts as off, since imported replies lack many."""
    kept: Plain = _remove_folders(plain)
    if isinstance(kept.get("protocol"), dict):
        kept["protocol"].pop("name", None)
    if isinstance(kept.get("system"), dict):
        _canonicalize_system(kept["system"])
    stages = get_path(kept, "system.stages")
    agents = [*(stages.values() if isinstance(stages, dict) else ()), get_path(kept, "system.auditor")]
    seen = {symbol for agent in agents for symbol in get_path(agent, "sees") or ()}
    seen_by = get_path(kept, "frames.seen_by")
    if seen_by == "none" or (seen_by == "paper" and seen and "V" not in seen):
        kept["frames"] = {"seen_by": "none"}
    sources = kept.get("sources") or {}
    kept["sources"] = {name: _canonicalize_source(node) for name, node in sources.items() if node and name in seen}
    for path in ("memory", "sem", *ignored):  # sources refer to memory and sem
        above, _, last = path.rpartition(".")
        node = get_path(kept, above) if above else kept
        if isinstance(node, dict):
            node.pop(last, None)
    return kept


def _remove_folders(node: Any, path: str = "") -> Any:
    """Returns a copy without runtime settings, the folders of files, and the root of the corpus, which has a digest."""
    of_corpus = path.split(".", maxsplit=1)[0] == "dataset"
    if isinstance(node, Mapping):
        above = f"{_EMBEDDER.sub('memory.embedder', path)}." if path else ""
        return {
            key: _remove_folders(value, above + key)
            for key, value in node.items()
            if above + key not in RUNTIME_KEYS
            and not (of_corpus and key == "root" and not isinstance(value, dict))  # a class may have a dict as `root`
        }
    if isinstance(node, list | tuple):
        return [_remove_folders(value, path) for value in node]
    is_place = of_corpus or path in _PLACES or (isinstance(node, str) and _CODE.fullmatch(node))
    if is_place and isinstance(node, str) and node.startswith("/"):
        return os.path.basename(os.path.normpath(node))  # noqa: PTH119
    return node


def _canonicalize_system(system: Plain) -> None:
    system.pop("label_sets", None)  # the settings of the dataset have the chosen one
    system.pop("prompts", None)  # the templates have digests
    without = system["without"] = sorted(set(system.get("without") or ()))
    if isinstance(stages := system.get("stages"), dict):
        system["stages"] = {name: stage for name, stage in stages.items() if name not in without}
    if get_path(system.get("auditor"), "name") in without:
        system["auditor"] = None
    if not isinstance(system.get("auditor"), dict) and system.get("loop") in LOOPS:  # one pass
        for idle in ("max_iterations", "rerun_temperature", "rerun", "max_views", "rerun_views", "retain"):
            system.pop(idle, None)


def _canonicalize_source(node: Plain) -> Plain:
    """Returns the settings of a source that have an effect, without the embedder of a small empathetic model, which the
    model's digest covers."""
    if get_path(node, "top_k") == 0:
        return {"top_k": 0}
    if get_path(node, "_target_") != _SEM:
        return node
    idle = () if node.get("cause_words", True) else ("transductive", "k1", "lexicon")
    return {key: value for key, value in node.items() if key not in ("file", "embedder", *idle)}
