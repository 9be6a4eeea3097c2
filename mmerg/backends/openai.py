"""A backend for OpenAI-style servers: llama-server, vLLM, SGLang, or another.

Every sampler is sent under the server's name for it (`dialects.py`). `mmerg doctor` finds samplers that a server
ignores. These servers do not give a digest of the weights. The engine's digest is therefore that of the server's
description of the model, and other weights with the same name, path and size go unnoticed.

    backend = OpenAI(host="http://127.0.0.1:8000", model="Qwen/Qwen2.5-VL-7B-Instruct", dialect="vllm",
                     load={"num_ctx": 16384})
    completion = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
"""

import hashlib
import io
import json
import os
from dataclasses import replace
from functools import cached_property

from pydantic import BaseModel, JsonValue, TypeAdapter

from mmerg.backends import chat
from mmerg.backends.adapter import Adapter, LoadOptions, check_load
from mmerg.backends.dialects import DIALECTS, Description, Facts
from mmerg.backends.http import Deadlines, Http
from mmerg.backends.protocol import Completion, Engine, Image, Message, Request, Sampling
from mmerg.backends.server_errors import ServerKind
from mmerg.backends.thinking import may_think
from mmerg.errors import CallError, ConfigError, Failure, did_you_mean

# Part of the keys of stored completions. Increase it if `chat.py` or `dialects.py` sends another request, or makes
# another completion of the same response.
REVISION = 3
IMAGE_FAILURES = (Failure.IMAGE_REJECTED, Failure.BAD_REQUEST)
VOLATILE_KEYS = ("meta", "created", "permission", "n_ctx")  # of a model's entry; they are not part of its digest

SERVER = ServerKind(
    "OpenAI-style server",
    start="start it, or set backend.hosts=[http://HOST:PORT]",
    pull="set backbone.model to a name that the server lists at /v1/models, and load it there",
    address="check that backend.hosts is the address of the server, not of a web page or proxy, and that "
    f"backend.adapter.dialect is its kind: {', '.join(DIALECTS)}",
    login="set backend.adapter.token_env to the name of an environment variable that holds the server's token",
)
_parse_facts = TypeAdapter(dict[str, JsonValue]).validate_json


class _Models(BaseModel):
    """The server's list of models, with a description of each."""

    data: list[dict[str, JsonValue]]


class OpenAI(Adapter):
    """A `Backend` for one model at one server. dialect: the kind of server, a key of `DIALECTS`. load: `num_ctx`, the
    number of tokens that a call may need. token_env: the environment variable with the server's token, never saved."""

    def __init__(
        self,
        *,
        model: str,
        dialect: str,
        load: LoadOptions,
        host: str = "http://127.0.0.1:8000",
        think: bool = False,
        token_env: str = "",
        deadlines: Deadlines | None = None,
    ) -> None:
        if dialect not in DIALECTS:
            hint = f"known are {', '.join(DIALECTS)}; {did_you_mean(dialect, DIALECTS)}".rstrip("; ")
            raise ConfigError(f"there is no dialect {dialect!r}", where="backend.adapter.dialect", hint=hint)
        self._dialect = DIALECTS[dialect]
        if think and not self._dialect.thinking:
            hint = "set backbone.think=false; thoughts that the server returns are still recorded"
            raise ConfigError(f"{dialect} has no option to think", where=f"model {model}", hint=hint)
        check_load(load, ("num_ctx",), f"model {model}")
        server = replace(SERVER, longer=self._dialect.longer, name=SERVER.name if dialect == "other" else dialect)
        address = host.rstrip("/").removesuffix("/v1")  # users of OpenAI's SDK give the address with /v1
        http = Http(address, server, deadlines, where=host, token=read_token(token_env))
        super().__init__(http, model)
        self._think, self._num_ctx = think, int(load["num_ctx"])

    def _call(self, request: Request) -> Completion:
        return chat.complete(self._server, request, self.model, self._dialect, self._think)

    def _describe(self) -> Engine:
        version, digest, described = self._identify()
        context = described.context or 0
        if 0 < context < self._num_ctx:
            what = f"num_ctx {self._num_ctx} is more than the server's {context} tokens"
            hint = f"set backbone.load.num_ctx={context}, or {self._dialect.longer}, if the model supports that many"
            raise ConfigError(what, where=f"{self.host} model {self.model}", hint=hint)
        vision = self._takes_images if described.vision is None else described.vision
        thinking = may_think(str(described.more.get("chat_template", "")))
        return Engine(
            backend="openai",
            version=version,
            model=self.model,
            digest=digest,
            capabilities=("completion", *["vision"] * vision, *["thinking"] * thinking),
            context_length=context,  # it can change completions: they end there, and Phi scales its positions by it
            load={"num_ctx": self._num_ctx, "dialect": self._dialect.name, "think": self._think, "adapter": REVISION},
        )

    def _may_think(self) -> bool:
        return not self._dialect.template or super()._may_think()  # without the template, assume that it may

    def _identify(self) -> tuple[str, str, Description]:
        """Returns the server's version, the digest of its description of the model, and the description."""
        dialect, read = self._dialect, self._server.read
        listed = read(_Models.model_validate_json, "/v1/models").data
        try:
            entry = next((entry for entry in listed if self.model in _list_names(entry)), None)
            if entry is None:
                names = ", ".join(str(entry["id"]) for entry in listed) or "no model"
                what = f"the host does not serve {self.model}; it serves {names}"[:500]
                hint = "set backbone.model to one of these, or load the model there"
                raise CallError(Failure.MODEL_NOT_FOUND, what, where=self.host, hint=hint)
            meta = entry.get("meta")  # the description of the model's file by llama-server
            facts = {"aliases": [], **entry, **(meta if isinstance(meta, dict) else {})}
            described = dialect.describe(facts, *(read(_parse_facts, path) for path in dialect.about))
        except (KeyError, TypeError, ValueError) as error:
            what = f"the responses are not those of {dialect.name}: {error}"[:300]
            raise self._server.make_response_error(what) from error
        facts |= described.more
        stable_facts = {name: _drop_folder(value) for name, value in facts.items() if name not in VOLATILE_KEYS}
        digest = hashlib.sha256(json.dumps(stable_facts, sort_keys=True).encode()).hexdigest()
        return described.version, digest, described

    @cached_property
    def _takes_images(self) -> bool:
        """True if the model takes images, which shows in the length of a prompt with an image. Tried once."""

        def count_tokens(*images: Image) -> int:
            request = Request((Message("user", "Hi", images),), Sampling(num_predict=1))
            return chat.complete(self._server, request, self.model, self._dialect).prompt_tokens

        tokens_without_image = count_tokens()
        try:
            return count_tokens(_draw_grey_image()) > tokens_without_image
        except CallError as error:
            if error.failure in IMAGE_FAILURES:
                return False
            raise


def _list_names(entry: Facts) -> list[JsonValue]:
    """Returns the names by which calls can request a listed model."""
    aliases = entry.get("aliases")
    return [entry["id"], *(aliases if isinstance(aliases, list) else ())]


def _drop_folder(value: object) -> object:
    """Returns the last part of an absolute path, as machines keep a model in different folders. Keeps other values."""
    return value.rpartition("/")[2] if isinstance(value, str) and value.startswith("/") else value


def read_token(variable: str) -> str:
    """Reads the token from an environment variable; "" without a name. Raises ConfigError, which hides the token, if a
    request cannot carry it."""
    token = os.environ.get(variable, "").strip() if variable else ""
    if variable and not (token and token.isascii() and token.isprintable() and " " not in token):
        what = f"the environment variable {variable} holds {'nothing that could be a' if token else 'no'} token"
        hint = f"export {variable}=…, or set backend.adapter.token_env= for a server without a token"
        raise ConfigError(what, where="backend.adapter.token_env", hint=hint)
    return token


def _draw_grey_image() -> Image:
    from PIL import Image as Picture

    file = io.BytesIO()
    Picture.new("RGB", (64, 64), "grey").save(file, "PNG")
    return Image("", file.getvalue())
