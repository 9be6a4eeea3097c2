"""The words of OpenAI-style servers: one table, as a name that a server does not know is ignored without a word.

Tried on llama-server (llama.cpp of 2026-11) and vLLM 0.32; read in the sources of SGLang and the documents of LM
Studio. How a server tells what it serves is in `openai_host.py`.

    DIALECTS["vllm"].sampling(Sampling(repeat_penalty=1.1, repeat_last_n=-1))    # {…, "repetition_penalty": 1.1}
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from mmerg.backends.protocol import Sampling
from mmerg.errors import ConfigError

_ALIKE = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "stop")
OPENAI = {"num_predict": "max_tokens", **{name: name for name in _ALIKE}}
OWN_NAME = {name: name for name in ("top_k", "min_p", "repeat_penalty", "repeat_last_n")}
REPETITION = {"top_k": "top_k", "min_p": "min_p", "repeat_penalty": "repetition_penalty"}
OFF = {"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
WHOLE = {"repeat_last_n": -1}  # the penalty looks at the whole prompt and reply


def response_format(schema: str) -> dict[str, object]:
    """A JSON schema as OpenAI's API takes it."""
    named = {"name": "reply", "strict": True, "schema": json.loads(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


@dataclass(frozen=True)
class Dialect:
    """A server's words. names: its name for each sampler of `Sampling`. without: the samplers that it has no name for,
    each with the value that it then uses, the only one that may be asked for. fixed: what goes with every request, as
    the model's files or the server's settings may hold other values. schema: the fields that ask for a JSON schema.
    thinking: whether the model's template can be told to think or not. logprobs: whether it gives any. more: how to
    start it with a longer context."""

    name: str
    names: Mapping[str, str]
    without: Mapping[str, float]
    top_k_off: int = 0
    fixed: Mapping[str, object] = field(default_factory=dict)
    schema: Callable[[str], dict[str, object]] = response_format
    thinking: bool = True
    logprobs: bool = True
    more: str = "start the server with a longer context"

    def sampling(self, sampling: Sampling) -> dict[str, object]:
        """The samplers under the server's names. Raises ConfigError for one that the server cannot be given."""
        values = vars(sampling)
        for name, value in self.without.items():
            idle = name == "repeat_last_n" and sampling.repeat_penalty == OFF["repeat_penalty"]
            if values[name] != value and not idle:
                what = f"{name} is {values[name]:g}, and {self.name} has no name for it: it always uses {value:g}"
                hint = f"set backbone.sampling.{name}={value:g}"
                if name == "repeat_last_n":
                    hint += ", or backbone.sampling.repeat_penalty=1"
                raise ConfigError(what, where=f"dialect {self.name}", hint=hint)
        told = {theirs: values[ours] for ours, theirs in self.names.items()}
        if "top_k" in told:
            told["top_k"] = sampling.top_k or self.top_k_off
        if not sampling.stop:
            del told["stop"]  # some refuse an empty list
        return told


# Samplers that a Request does not name are switched off by name, as a GGUF may carry its own defaults for them.
LLAMA_SERVER = Dialect(
    "llama-server",
    OPENAI | OWN_NAME,
    {},
    fixed={
        "samplers": ["penalties", "top_k", "top_p", "min_p", "temperature"],
        "mirostat": 0,
        "dynatemp_range": 0.0,
        "typical_p": 1.0,
        "xtc_probability": 0.0,
        "dry_multiplier": 0.0,
        "cache_prompt": True,
    },
    more="llama-server -c TOKENS (shared out among its -np slots)",
)
VLLM = Dialect("vllm", OPENAI | REPETITION, WHOLE, top_k_off=-1, more="vllm serve --max-model-len TOKENS")
SGLANG = replace(VLLM, name="sglang", more="sglang.launch_server --context-length TOKENS")
LM_STUDIO = Dialect(  # its documents do not list min_p; without it, the value set in the program would hold
    "lmstudio",
    OPENAI | {name: name for name in ("top_k", "min_p", "repeat_penalty")},
    {"repeat_last_n": 64},  # llama.cpp's own
    thinking=False,
    logprobs=False,
    more="lms load MODEL --context-length TOKENS",
)
OTHER = Dialect("other", OPENAI, OFF, thinking=False)
DIALECTS = {dialect.name: dialect for dialect in (LLAMA_SERVER, VLLM, SGLANG, LM_STUDIO, OTHER)}
