"""The backend that asks an OpenAI-style server: llama-server, vLLM, SGLang, LM Studio, or another one.

Every sampler goes under the server's own name (`dialects.py`); what a server ignores without a word, `mmerg doctor`
finds. As with Ollama, once the host was described a reply counts only where it still tells the same of itself.

    backend = OpenAI(host="http://127.0.0.1:8000", model="Qwen/Qwen2.5-VL-7B-Instruct", dialect="vllm",
                     load={"num_ctx": 16384})
    reply = backend.complete(Request((Message("user", "Hello"),), Sampling(num_predict=32)))
"""

import io
import os
from functools import partial

from mmerg.backends import chat
from mmerg.backends.adapter import Adapter
from mmerg.backends.connection import Deadlines
from mmerg.backends.dialects import DIALECTS
from mmerg.backends.http import Http
from mmerg.backends.load import Load, check_load
from mmerg.backends.openai_host import Served, server_of, serves
from mmerg.backends.protocol import Engine, Image, Message, Reply, Request, Sampling
from mmerg.errors import CallError, ConfigError, Failure, did_you_mean

# Part of the engine, and so of the keys of stored replies. Raise it with every change of what `chat.py` and
# `dialects.py` send for the same request, or of what is read from the same answer.
REVISION = 1
NO_EYES = (Failure.IMAGE_REJECTED, Failure.BAD_REQUEST)


class OpenAI(Adapter):
    """A `Backend` over one model at one server.

    dialect: whose words it understands, a key of `DIALECTS`. load: `num_ctx`, the tokens that a call may need, which
    the server must have. token_env: the environment variable that holds the server's token, which is read here and
    written nowhere. think: whether the model thinks before it replies.
    """

    def __init__(
        self,
        *,
        model: str,
        dialect: str,
        load: Load,
        host: str = "http://127.0.0.1:8000",
        think: bool = False,
        token_env: str = "",
        deadlines: Deadlines | None = None,
        check_wait: float = 0.5,
    ) -> None:
        if dialect not in DIALECTS:
            hint = f"known are {', '.join(DIALECTS)}; {did_you_mean(dialect, DIALECTS)}".rstrip("; ")
            raise ConfigError(f"there is no dialect {dialect!r}", where="backend.adapter.dialect", hint=hint)
        self._dialect = DIALECTS[dialect]
        if think and not self._dialect.thinking:
            hint = "set backbone.think=false; what the server itself lets the model think is recorded all the same"
            raise ConfigError(f"{dialect} cannot be told to think", where=f"model {model}", hint=hint)
        check_load(load, {"num_ctx": 1}, f"model {model}")
        address, token = host.rstrip("/").removesuffix("/v1"), token_from(token_env)  # as OpenAI's SDK wants it
        server = Http(address, server_of(self._dialect), deadlines, where=host, token=token)
        super().__init__(server, model, check_wait)
        self._think, self._num_ctx = think, int(load["num_ctx"])
        self._eyes: tuple[Served, bool] | None = None  # as tried, where the server does not say

    def _serves(self) -> Served:
        return serves(self._server, self._dialect, self.model)

    def _ask(self, request: Request) -> Reply:
        return chat.complete(self._server, request, self.model, self._dialect, self._think)

    def _describe(self) -> Engine:
        served = self._serves()
        if 0 < served.context < self._num_ctx:
            what = f"num_ctx {self._num_ctx} is more than the server's {served.context} tokens"
            hint = f"set backbone.load.num_ctx={served.context}, or {self._dialect.more}, as far as the model goes"
            raise ConfigError(what, where=f"{self.host} model {self.model}", hint=hint)
        vision = self._sees(served) if served.vision is None else served.vision
        return Engine(
            backend="openai",
            version=served.version,
            model=self.model,
            digest=served.digest,
            capabilities=("completion", "vision") if vision else ("completion",),
            context_length=served.context,  # where it ends a reply does, and Phi's long rope begins by it
            load={"num_ctx": self._num_ctx, "dialect": self._dialect.name, "think": self._think, "adapter": REVISION},
        )

    def _sees(self, served: Served) -> bool:
        """Whether the model takes an image, where the server does not say: then a prompt with one is longer than the
        same without. Two calls of one token."""
        if self._eyes is None or self._eyes[0] != served:
            ask = partial(chat.complete, self._server, model=self.model, dialect=self._dialect)
            plain, shown = (
                Request((Message("user", "Hi", images),), Sampling(num_predict=1)) for images in ((), (_grey(),))
            )
            without = ask(plain).prompt_tokens
            try:
                self._eyes = served, ask(shown).prompt_tokens > without
            except CallError as error:
                if error.failure not in NO_EYES:
                    raise
                self._eyes = served, False
        return self._eyes[1]


def token_from(variable: str) -> str:
    """The token in the environment variable of that name; none where no name is given. Raises ConfigError, which does
    not show it, where there is none or a request cannot carry it."""
    if not variable:
        return ""
    token = os.environ.get(variable, "").strip()
    if not token or not (token.isascii() and token.isprintable()) or " " in token:
        what = f"the environment variable {variable} holds {'nothing that could be a' if token else 'no'} token"
        hint = f"export {variable}=…, or backend.adapter.token_env= for a server that wants none"
        raise ConfigError(what, where="backend.adapter.token_env", hint=hint)
    return token


def _grey() -> Image:
    from PIL import Image as Picture

    file = io.BytesIO()
    Picture.new("RGB", (64, 64), "grey").save(file, "PNG")
    return Image("", file.getvalue())
