"""What an OpenAI-style server tells of itself, each kind at addresses of its own: version, model, context, eyes.

None gives a digest of the weights. The digest here is of what it tells of the model, so other weights behind the same
name, path and size go unnoticed.

    dialect = DIALECTS["vllm"]
    with Http("http://127.0.0.1:8000", server_of(dialect)) as host:
        served = serves(host, dialect, "Qwen/Qwen2.5-VL-7B-Instruct")
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from mmerg.backends.dialects import Dialect
from mmerg.backends.http import Count, Http
from mmerg.backends.server_errors import Server
from mmerg.errors import CallError, Failure

ADDRESS = (
    "check that backend.hosts names the server, without a page or proxy before it, and backend.adapter.dialect what"
)
ADDRESS += " it is: llama-server, vllm, sglang, lmstudio or other"
TOKEN = "set backend.adapter.token_env to the name of an environment variable that holds the server's token"
CHANGING = ("created", "permission", "n_ctx", "state")  # of what is told of a model: no part of its digest

Facts = Mapping[str, Any]
_object = TypeAdapter(dict[str, Any]).validate_json


class Served(NamedTuple):
    """A model as a server tells of it. context: tokens of one call, 0 where it is not told. vision: None where that is
    not told."""

    version: str
    digest: str
    context: int
    vision: bool | None


def server_of(dialect: Dialect) -> Server:
    """How errors speak of it."""
    return Server(
        "OpenAI-style server" if dialect.name == "other" else dialect.name,
        start="start it, or name the right one with backend.hosts=[http://HOST:PORT]",
        pull="set backbone.model to a name that the server lists at /v1/models, and load it there",
        address=ADDRESS,
        login=TOKEN,
        hints={Failure.CONTEXT_OVERFLOW: f"send fewer or smaller frames or a shorter history, or {dialect.more}"},
    )


def serves(host: Http, dialect: Dialect, model: str) -> Served:
    """What is told of `model`. Raises CallError, model_not_found where it is not served."""

    def absent(what: str) -> CallError:
        pull = "set backbone.model to what it serves, or let it serve that"
        hint = f"{pull}: {dialect.more}" if dialect.name == "lmstudio" else pull
        return CallError(Failure.MODEL_NOT_FOUND, what, where=host.host, hint=hint)

    look = _LOOKS[dialect.name]
    try:
        listed = host.told(_object, look.models)["data"]
        found = next((entry for entry in listed if model in (entry["id"], *entry.get("aliases", ()))), None)
        if found is None:
            names = ", ".join(entry["id"] for entry in listed) or "none"
            raise absent(f"the host does not serve {model}; it serves {names}"[:500])
        facts = {"aliases": (), **found}
        version, context, vision, kept = look.read(facts, *(host.told(_object, path) for path in look.more))
        context = TypeAdapter(Count).validate_python(context or 0, strict=True)
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        wrong = str(error).splitlines()[-2:][0].strip()  # of pydantic's lines the last but one
        what = f"its answers are not those of {dialect.name}: {host.shown(wrong.encode())[:200]}"
        raise host.odd(what) from error
    if facts.get("state") == "not-loaded":
        raise absent(f"{model} is not loaded")
    told = {name: _last(value) for name, value in (_flat(facts) | kept).items() if name not in CHANGING}
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    return Served(str(version), digest, context, vision)


def _flat(facts: Facts) -> dict[str, Any]:
    """The facts with those of `meta` (llama-server's) beside the others."""
    return {name: value for name, value in facts.items() if name != "meta"} | (facts.get("meta") or {})


def _last(value: object) -> object:
    """A path's last name, as copies of a model lie in other folders on other machines; all else as it is."""
    return value.rpartition("/")[2] if isinstance(value, str) and value.startswith("/") else value


Read = Callable[..., tuple[object, Any, bool | None, dict[str, Any]]]


@dataclass(frozen=True)
class _Look:
    """Where a server tells of itself, and how to read it: from what it lists of the model and from each answer of
    `more`, its version, context, eyes and what else decides replies."""

    read: Read
    more: tuple[str, ...] = ()
    models: str = "/v1/models"


def _llama_server(model: Facts, props: Facts) -> tuple[object, Any, bool, dict[str, Any]]:
    context = model["meta"]["n_ctx"]  # of a slot
    return props["build_info"], context, props["modalities"]["vision"], {"chat_template": props["chat_template"]}


def _vllm(model: Facts, version: Facts) -> tuple[object, Any, None, dict[str, Any]]:
    return version["version"], model["max_model_len"], None, {}


def _sglang(model: Facts, server: Facts, told: Facts) -> tuple[object, Any, bool | None, dict[str, Any]]:
    kept = {name: told.get(name) for name in ("model_path", "weight_version")}
    return server["version"], model.get("max_model_len"), told.get("has_image_understanding"), kept


def _lm_studio(model: Facts) -> tuple[object, Any, bool, dict[str, Any]]:
    return "unknown", model.get("loaded_context_length"), model["type"] == "vlm", {}


def _other(model: Facts) -> tuple[object, Any, None, dict[str, Any]]:
    return "unknown", model.get("max_model_len"), None, {}


_LOOKS = {
    "llama-server": _Look(_llama_server, ("/props",)),
    "vllm": _Look(_vllm, ("/version",)),
    "sglang": _Look(_sglang, ("/server_info", "/model_info")),
    "lmstudio": _Look(_lm_studio, models="/api/v0/models"),
    "other": _Look(_other),
}
