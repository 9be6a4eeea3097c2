"""The names of samplers and the descriptions of models in OpenAI-style servers, in one table.

Servers silently ignore a sampler with an unknown name, so each server gets its own names. They were tried on
llama-server (llama.cpp of 2026-11) and vLLM 0.32, and read in SGLang's sources.

    DIALECTS["vllm"].sampling(Sampling(repeat_penalty=1.1, repeat_last_n=-1))    # {…, "repetition_penalty": 1.1}
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, JsonValue

from mmerg.backends.protocol import Sampling
from mmerg.errors import ConfigError

_ALIKE = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "stop")
OPENAI = {"num_predict": "max_tokens", **{name: name for name in _ALIKE}}
OWN_NAME = {name: name for name in ("top_k", "min_p", "repeat_penalty", "repeat_last_n")}
REPETITION = {"top_k": "top_k", "min_p": "min_p", "repeat_penalty": "repetition_penalty"}
OFF = {"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
WHOLE = {"repeat_last_n": -1}  # the penalty applies to the whole prompt and reply

Facts = Mapping[str, Any]  # of JSON


class Description(BaseModel):
    """What a server says about itself and a model. context: tokens of one call. context and vision are None if the
    server does not say. more: what else decides replies, besides the model's entry in the list of models."""

    version: str = "unknown"
    context: int | None = None
    vision: bool | None = None
    more: dict[str, JsonValue] = {}


def response_format(schema: str) -> dict[str, object]:
    """A JSON schema as OpenAI's API takes it."""
    named = {"name": "reply", "strict": True, "schema": json.loads(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


@dataclass(frozen=True)
class Dialect:
    """How to call one kind of server.

    names: the server's name of each sampler in `Sampling`. without: samplers that the server lacks, with the value that
    it always uses; any other value is refused. fixed: fields of every request, which the model's files decide
    otherwise. thinking: whether requests can switch thinking. template: whether the server shows the chat template.
    prompt_logprobs: whose API gives log-probabilities of a prompt. longer: how to start the server with a longer
    context. about: where it describes itself. read: makes a description from the model's entry in the list of models
    and the responses at `about`; raises KeyError, TypeError or ValueError if something is missing.
    """

    name: str
    names: Mapping[str, str]
    without: Mapping[str, float]
    read: Callable[..., Description]
    top_k_off: int = 0
    fixed: Mapping[str, object] = field(default_factory=dict)
    schema: Callable[[str], dict[str, object]] = response_format
    thinking: bool = True
    template: bool = False
    prompt_logprobs: Literal["", "vllm", "sglang"] = ""
    longer: str = "start the server with a longer context"
    about: tuple[str, ...] = ()

    def sampling(self, sampling: Sampling) -> dict[str, object]:
        """The samplers under the server's names. Raises ConfigError for a sampler that the server lacks."""
        values = vars(sampling)
        for name, value in self.without.items():
            idle = name == "repeat_last_n" and sampling.repeat_penalty == OFF["repeat_penalty"]
            if values[name] != value and not idle:
                what = f"{name} is {values[name]:g}, and {self.name} does not support it: it always uses {value:g}"
                other = ", or backbone.sampling.repeat_penalty=1" if name == "repeat_last_n" else ""
                hint = f"set backbone.sampling.{name}={value:g}{other}"
                raise ConfigError(what, where=f"dialect {self.name}", hint=hint)
        fields = {name: values[sampler] for sampler, name in self.names.items()}
        if "top_k" in fields:
            fields["top_k"] = sampling.top_k or self.top_k_off
        if not sampling.stop:
            del fields["stop"]  # some refuse an empty list
        return fields


def _llama_server(model: Facts, props: Facts) -> Description:
    if not isinstance(modalities := props["modalities"], dict):
        raise TypeError("modalities are no object")
    template = {"chat_template": props["chat_template"]}
    vision, context = modalities["vision"], model["n_ctx"]  # n_ctx is of a slot
    return Description(version=props["build_info"], context=context, vision=vision, more=template)


def _vllm(model: Facts, version: Facts) -> Description:
    return Description(version=version["version"], context=model["max_model_len"])


def _sglang(model: Facts, server: Facts, about: Facts) -> Description:
    more = {name: about.get(name) for name in ("model_path", "weight_version")}
    vision = about.get("has_image_understanding")
    return Description(version=server["version"], context=model.get("max_model_len"), vision=vision, more=more)


# Samplers that a Request does not name are switched off, as a GGUF may have its own defaults for them.
LLAMA_SERVER = Dialect(
    "llama-server",
    OPENAI | OWN_NAME,
    {},
    _llama_server,
    fixed={
        "samplers": ["penalties", "top_k", "top_p", "min_p", "temperature"],
        "mirostat": 0,
        "dynatemp_range": 0.0,
        "typical_p": 1.0,
        "xtc_probability": 0.0,
        "dry_multiplier": 0.0,
        "cache_prompt": True,
    },
    template=True,
    longer="llama-server -c TOKENS (shared out among its -np slots)",
    about=("/props",),
)
VLLM = Dialect(
    *("vllm", OPENAI | REPETITION, WHOLE, _vllm),
    top_k_off=-1,
    prompt_logprobs="vllm",
    longer="vllm serve --max-model-len TOKENS",
    about=("/version",),
)
SGLANG = replace(
    VLLM,
    name="sglang",
    read=_sglang,
    prompt_logprobs="sglang",
    longer="sglang.launch_server --context-length TOKENS",
    about=("/server_info", "/model_info"),
)
OTHER = Dialect("other", OPENAI, OFF, lambda model: Description(context=model.get("max_model_len")), thinking=False)
DIALECTS = {dialect.name: dialect for dialect in (LLAMA_SERVER, VLLM, SGLANG, OTHER)}
