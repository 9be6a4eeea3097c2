"""Settings of the backbone and its server, and of the commands that call it."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, FiniteFloat, NonNegativeInt, PositiveInt, field_validator

from mmerg.settings.kinds import (
    PLACE,
    RUNTIME_ONLY,
    ClassSpec,
    Hosts,
    ModelName,
    Name,
    OneOrMore,
    Seconds,
    SettingsModel,
    Side,
    SparseSettings,
    Text,
    Texts,
)

SEEDS = 2**31  # seeds are below this
Seed = Annotated[int, Field(ge=0, lt=SEEDS)]
Layers = Annotated[int, Field(ge=-1)]  # on a GPU; -1: as many as fit (Ollama), all (embedded)


class OptionSettings(SparseSettings):
    """Options of a call or a server. One that is not set has the default, so null is refused."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_null(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("a value, not null; without the setting, the default is used")
        return value


class SamplingSettings(OptionSettings):
    """Overrides of the defaults of `mmerg.backends.protocol.Sampling`. The seed is that of the run."""

    num_predict: PositiveInt | None = None  # a model may write for minutes without a limit
    temperature: Annotated[FiniteFloat | None, Field(ge=0)] = None
    top_p: FiniteFloat | None = None
    top_k: int | None = None
    min_p: FiniteFloat | None = None
    repeat_penalty: FiniteFloat | None = None
    repeat_last_n: int | None = None
    presence_penalty: FiniteFloat | None = None
    frequency_penalty: FiniteFloat | None = None
    stop: OneOrMore | None = None


class LoadSettings(OptionSettings):
    """The options with which Ollama or the embedded backend loads a model; a user's adapter may have more.

    The bounds are Ollama's (server/sched.go, llm/server.go), which silently replaces a value out of bounds. The run
    would then record an option that the server did not use.
    """

    model_config = ConfigDict(extra="allow")

    num_ctx: Annotated[int | None, Field(ge=4)] = None
    # Runtime-only here, because a run also compares the engine, which has `parallel` if it can change completions.
    parallel: Annotated[PositiveInt | None, RUNTIME_ONLY] = None
    threads: Annotated[NonNegativeInt | None, RUNTIME_ONLY] = None  # 0: all cores but one
    num_batch: PositiveInt | None = None
    num_gpu: Layers | None = None
    main_gpu: NonNegativeInt | None = None
    use_mmap: bool | None = None
    num_thread: NonNegativeInt | None = None  # 0: the server decides
    gpu_layers: Layers | None = None
    cache_ram: Annotated[int | None, Field(ge=-1)] = None  # -1: without a limit


class BackboneSettings(SettingsModel):
    """A model, and how it is called."""

    name: ModelName  # in tables and folders
    model: Text  # in Ollama
    gguf: Annotated[str, PLACE] = ""  # for the embedded backend
    mmproj: Annotated[str, PLACE] = ""  # for the embedded backend, needed for vision
    workers: Annotated[Texts, RUNTIME_ONLY] = ("in process",)  # the copies of the model that the embedded backend loads
    threads: Annotated[NonNegativeInt, RUNTIME_ONLY] = 0  # of each copy; 0: all cores but one
    load: LoadSettings = LoadSettings()
    think: bool = False
    max_images: PositiveInt = 8  # per call
    image_side: Side = 448  # the longer side of a frame, in pixels
    concurrency: Annotated[PositiveInt, RUNTIME_ONLY] = 1  # calls at once per host
    sampling: SamplingSettings = SamplingSettings()
    note: Annotated[Text, RUNTIME_ONLY] = ""  # a text to print after the replies


class DeadlineSettings(ClassSpec):
    """Deadlines in seconds, with the names and defaults of `mmerg.backends.http.Deadlines`."""

    __pydantic_extra__: dict[str, Seconds] = Field(init=False)


class AdapterSettings(ClassSpec):
    """The class that calls one host. A user's class may have more settings."""

    model: Text
    load: LoadSettings = LoadSettings()
    dialect: Text | None = None
    token_env: Annotated[Text | None, RUNTIME_ONLY] = None  # the environment variable with the server's token
    keep_alive: Annotated[Text | int, RUNTIME_ONLY] = "30m"
    deadlines: Annotated[DeadlineSettings | None, RUNTIME_ONLY] = None
    total: Annotated[Seconds | None, RUNTIME_ONLY] = None


class BackendSettings(SettingsModel):
    """The hosts that calls go to, and the adapter for each."""

    name: Name
    hosts: Annotated[Hosts, Field(min_length=1), RUNTIME_ONLY]
    adapter: AdapterSettings
    attempts: Annotated[PositiveInt, RUNTIME_ONLY] = 3
    revive_after: Annotated[FiniteFloat, Field(ge=0), RUNTIME_ONLY] = 60.0  # seconds until a failed host is tried again


class CallSettings(SettingsModel):
    """The settings of every command that calls a model."""

    backbone: BackboneSettings
    backend: BackendSettings


class DoctorSettings(CallSettings):
    """The settings of `doctor` without a dataset. contamination: see `mmerg.checking.contamination`."""

    contamination: bool = False


class BatchSettings(CallSettings):
    """The settings of every command that calls a model for many samples."""

    seed: Seed = 0
    limit: Annotated[PositiveInt | None, RUNTIME_ONLY] = None
    cache: Annotated[Literal["off", "read", "on"], RUNTIME_ONLY] = "on"
    runs: Annotated[str, PLACE, RUNTIME_ONLY] = "runs"
    cache_dir: Annotated[str, PLACE, RUNTIME_ONLY]
