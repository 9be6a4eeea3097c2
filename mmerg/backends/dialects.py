"""How OpenAI-style servers differ: their names of samplers, and how they describe a model.

A server silently ignores a sampler with an unknown name, so each kind of server is sent its own names. They were tested
with llama-server (llama.cpp of 2026-11) and vLLM 0.32, and are taken from the source code for SGLang.

    DIALECTS["vllm"].format_sampling(Sampling(repeat_penalty=1.1, repeat_last_n=-1))    # {…, "repetition_penalty": 1.1}
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, JsonValue

from mmerg.backends.protocol import Sampling
from mmerg.errors import ConfigError

# Names of samplers: ours to the server's.
_SAME_NAMES = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "stop")
OPENAI_NAMES = {"num_predict": "max_tokens", **{name: name for name in _SAME_NAMES}}
LLAMA_CPP_NAMES = {name: name for name in ("top_k", "min_p", "repeat_penalty", "repeat_last_n")}
VLLM_NAMES = {"top_k": "top_k", "min_p": "min_p", "repeat_penalty": "repetition_penalty"}
# Samplers that a server lacks, with the value that it always uses.
OPENAI_LACKS = {"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
VLLM_LACKS = {"repeat_last_n": -1}  # the penalty applies to the whole prompt and completion

Facts = Mapping[str, Any]  # a JSON object in which a server describes itself or a model


class Description(BaseModel):
    """A server's description of itself and a model."""

    version: str = "unknown"
    context: int | None = None  # limit of one call in tokens; None if the server does not say
    vision: bool | None = None  # None if the server does not say
    more: dict[str, JsonValue] = {}  # other facts that completions depend on, besides the model's entry in the list


def response_format(schema: str) -> dict[str, object]:
    """Returns a JSON schema as OpenAI's API takes it."""
    named = {"name": "reply", "strict": True, "schema": json.loads(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


@dataclass(frozen=True)
class Dialect:
    """One kind of server. `describe` takes the model's entry in the list of models and the responses at `about`, and
    raises KeyError, TypeError or ValueError if something is missing."""

    name: str
    sampler_names: Mapping[str, str]  # the server's name of each sampler in `Sampling`
    lacks: Mapping[str, float]  # samplers that the server lacks, with the value that it always uses; others are refused
    describe: Callable[..., Description]
    top_k_off: int = 0  # the value that switches top_k off
    fixed: Mapping[str, object] = field(default_factory=dict)  # of every request; else the model's files decide
    format_schema: Callable[[str], dict[str, object]] = response_format  # fields of a request for a schema
    thinking: bool = True  # whether a request can switch thinking on and off
    template: bool = False  # whether the server shows the chat template
    prompt_logprobs: Literal["", "vllm", "sglang"] = ""  # whose API for the log-probabilities of a prompt it has
    longer: str = "start the server with a longer context"  # for hints
    about: tuple[str, ...] = ()  # the paths at which the server describes itself

    def format_sampling(self, sampling: Sampling) -> dict[str, object]:
        """Returns the samplers under the server's names. Raises ConfigError for a sampler that the server lacks."""
        values = vars(sampling)
        for name, value in self.lacks.items():
            has_no_effect = name == "repeat_last_n" and sampling.repeat_penalty == OPENAI_LACKS["repeat_penalty"]
            if values[name] != value and not has_no_effect:
                what = f"{name} is {values[name]:g}, and {self.name} does not support it: it always uses {value:g}"
                other = ", or backbone.sampling.repeat_penalty=1" if name == "repeat_last_n" else ""
                hint = f"set backbone.sampling.{name}={value:g}{other}"
                raise ConfigError(what, where=f"dialect {self.name}", hint=hint)
        fields = {name: values[sampler] for sampler, name in self.sampler_names.items()}
        if "top_k" in fields:
            fields["top_k"] = sampling.top_k or self.top_k_off
        if not sampling.stop:
            del fields["stop"]  # some servers refuse an empty list
        return fields


def _describe_llama_server(model: Facts, props: Facts) -> Description:
    return Description(
        version=props["build_info"],
        context=model["n_ctx"],  # the context of one slot
        vision=props["modalities"]["vision"],
        more={"chat_template": props["chat_template"]},
    )


def _describe_vllm(model: Facts, version: Facts) -> Description:
    return Description(version=version["version"], context=model["max_model_len"])


def _describe_sglang(model: Facts, server_info: Facts, model_info: Facts) -> Description:
    return Description(
        version=server_info["version"],
        context=model.get("max_model_len"),
        vision=model_info.get("has_image_understanding"),
        more={name: model_info.get(name) for name in ("model_path", "weight_version")},
    )


def _describe_other(model: Facts) -> Description:
    return Description(context=model.get("max_model_len"))


# Samplers that a Request does not name are switched off, because a GGUF may have its own defaults for them.
LLAMA_SERVER = Dialect(
    name="llama-server",
    sampler_names=OPENAI_NAMES | LLAMA_CPP_NAMES,
    lacks={},
    describe=_describe_llama_server,
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
    longer="llama-server -c TOKENS (divided among its -np slots)",
    about=("/props",),
)
VLLM = Dialect(
    name="vllm",
    sampler_names=OPENAI_NAMES | VLLM_NAMES,
    lacks=VLLM_LACKS,
    describe=_describe_vllm,
    top_k_off=-1,
    prompt_logprobs="vllm",
    longer="vllm serve --max-model-len TOKENS",
    about=("/version",),
)
SGLANG = replace(
    VLLM,
    name="sglang",
    describe=_describe_sglang,
    prompt_logprobs="sglang",
    longer="sglang.launch_server --context-length TOKENS",
    about=("/server_info", "/model_info"),
)
OTHER = Dialect(name="other", sampler_names=OPENAI_NAMES, lacks=OPENAI_LACKS, describe=_describe_other, thinking=False)
DIALECTS = {dialect.name: dialect for dialect in (LLAMA_SERVER, VLLM, SGLANG, OTHER)}
