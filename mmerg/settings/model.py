"""Everything that can be set, with its type, its bounds, and whether it decides results.

Hydra composes the pages of `conf/`; these classes say what may stand there. A new setting is a line of YAML, which
explains it, and a line here. Every package may import this module; it imports none of them.

    settings = RunSettings.model_validate(plain)
    settings.frames.last_turns
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

RUNTIME = "decides no result"  # it says how results are had, not what they are: a run goes on with it changed
NO_PASSWORD = "no name and no password, which a run's files would show: reach the server through a tunnel or a proxy"
PLACE = "a path"  # where a file or folder lies, which decides no result either


def _text(value: Any) -> str:
    """Takes what pydantic's own type refuses, as names of files may hold it, and numbers, as in `ids=[5]`."""
    if type(value) in (int, float):
        return str(value)
    if not isinstance(value, str):
        raise ValueError("a text")  # noqa: TRY004 - as pydantic takes it
    return value


def _path(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a path; in quotes where it looks like something else")  # noqa: TRY004
    return value


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text that is not empty")
    return value


def _name(value: str) -> str:
    if not re.fullmatch(r"[\w.+-]*\w[\w.+-]*", value):
        raise ValueError("letters, digits, '.', '_', '+' and '-' only")
    return value


def _hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    if any(re.search(r"://[^/]*@", host) for host in hosts):
        raise ValueError(NO_PASSWORD)
    return hosts


Text = Annotated[str, PlainValidator(_text)]
Word = Annotated[str, PlainValidator(_word)]
Name = Annotated[str, PlainValidator(_text), AfterValidator(_name)]  # becomes a part of a folder's name
Path = Annotated[str, PlainValidator(_path)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Words = Annotated[tuple[Word, ...], Field(strict=False, min_length=1)]
Hosts = Annotated[tuple[Word, ...], Field(strict=False), AfterValidator(_hosts)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=10_000_000)]
Similarity = Annotated[float, Field(ge=-1, le=1)]
Side = Annotated[int, Field(ge=32)]  # pixels
Organization = Literal["cascaded", "independent"]
FinalSelection = Literal["lexicographic", "last"]
LOOPS = ("audit", "single", "refine")  # of our own; another is the user's
TEXT = "text"  # an output that is no record


class Part(BaseModel):
    """A node of the settings. `plain` is what YAML has, keys as they are set."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    def plain(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


class Given(Part):
    """A node of which only what was set counts: for the rest, what it is handed to has defaults of its own."""

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        names = {info.alias or name: name for name, info in type(self).model_fields.items()}
        return {key: value for key, value in handler(self).items() if names.get(key, key) in self.model_fields_set}


class Target(Given):
    """A class of anybody's (`_target_`) and what it is made with."""

    model_config = ConfigDict(extra="allow")

    target: Word = Field(alias="_target_")


class SamplingSettings(Given):
    """Samplers, over those of `mmerg.backends.protocol.Sampling`. The seed is the run's."""

    num_predict: int | None = None
    temperature: Annotated[Number | None, Field(ge=0)] = None
    top_p: Number | None = None
    top_k: int | None = None
    min_p: Number | None = None
    repeat_penalty: Number | None = None
    repeat_last_n: int | None = None
    presence_penalty: Number | None = None
    frequency_penalty: Number | None = None
    stop: Words | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _set(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("a value; left out, it is the default")
        return value

    @field_validator("stop", mode="before")
    @classmethod
    def _one_text_is_a_list_of_one(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class LoadSettings(Given):
    """Options with which a server loads the model."""

    model_config = ConfigDict(extra="allow")

    num_ctx: Positive | None = None
    parallel: Annotated[int | None, RUNTIME] = None  # what a model is loaded with is the engine's identity as well,
    threads: Annotated[int | None, RUNTIME] = None  # which a run checks itself


class MemorySourceSettings(Part):
    """The corpus that exemplars come from, never the one that is evaluated."""

    root: Annotated[Path | None, PLACE] = None
    split: Text | None = None
    sessions: Annotated[tuple[int, ...] | None, Field(strict=False)] = None
    reader: Target


class DatasetSettings(Part):
    """A corpus reader and the settings that its page passes on. sessions: in place of a split, where a corpus comes in
    sessions. variant, label_set: of a corpus that has several. labels: null for the reader's own. memory: null where
    there is no corpus for exemplars."""

    name: Name
    root: Annotated[Path | None, PLACE] = None
    split: Text = "test"
    sessions: Annotated[tuple[int, ...] | None, Field(strict=False)] = None
    variant: Text | None = None
    label_set: Text | None = None
    labels: Words | None = None
    reader: Target
    memory: MemorySourceSettings | None = None


class ProtocolSettings(Part):
    """Which turns are targets: see `mmerg.corpora.protocols.Protocol`."""

    name: Text
    targets: Literal["last", "all", "labelled"] = "last"
    emotions: Any = "all"
    max_per_dialogue: Positive | None = None
    sample: Positive | None = None
    seed: Seed = 0
    history: Positive | None = None

    @field_validator("emotions")
    @classmethod
    def _words(cls, value: Any) -> Any:
        labels = value if isinstance(value, list | tuple) else ()
        if value not in ("all", "nonneutral") and not (labels and all(isinstance(label, str) for label in labels)):
            raise ValueError("all, nonneutral, or a list: [joy,anger]")
        return value


class StageSettings(Part):
    """A stage of a system; see `conf/system/merg.yaml`. output: the dotted name of a frozen pydantic class, or text.
    by: a class that answers in place of a model."""

    sees: Words
    gives: Word
    output: Word = TEXT
    by: Target | None = None
    check: Text = ""
    logprobs: bool = False
    sampling: SamplingSettings = SamplingSettings()


class AuditorSettings(Part):
    """Who looks at each pass. Without an output it answers the stages' checks; loops with free feedback give it one,
    with the fields that end the loop (stop) and that pick the pass (score)."""

    name: Word
    sees: Words
    output: Word | None = None
    by: Target | None = None
    stop: Text = ""
    score: Text = ""
    sampling: SamplingSettings = SamplingSettings()


class SystemSettings(Part):
    """A system. prompts: the folder of its templates. loop: audit, single, refine, a dotted name, or a `_target_`."""

    name: Name
    prompts: Word
    loop: Target | Word = "audit"
    max_iterations: Count = 2
    max_repairs: Count = 2
    without: Texts = ()
    organization: Organization = "cascaded"
    final_selection: FinalSelection = "lexicographic"
    stages: Annotated[dict[Word, StageSettings], Field(min_length=1)]
    auditor: AuditorSettings | None = None
    vocabulary: dict[Word, Words] = {}
    result: dict[Word, Word]


class BackboneSettings(Part):
    """A model: Ollama's name for it, or a GGUF file (with mmproj for vision) for the embedded backend.

    workers, threads: how many copies of the model the embedded backend runs, each under a name of its own, and the
    threads of each (0: all cores but one). max_images: in one call. image_side: pixels, long side. concurrency: calls
    that one host takes at once. note: printed after the replies.
    """

    name: Name
    model: Text
    gguf: Annotated[Path, PLACE] = ""
    mmproj: Annotated[Path, PLACE] = ""
    workers: Annotated[Texts, RUNTIME] = ("in process",)
    threads: Annotated[Count, RUNTIME] = 0
    load: LoadSettings = LoadSettings()
    think: bool = False
    max_images: Positive = 8
    image_side: Side = 448
    concurrency: Annotated[Positive, RUNTIME] = 1
    sampling: SamplingSettings = SamplingSettings()
    note: Annotated[Text, RUNTIME] = ""


class DeadlineSettings(Target):
    """See `mmerg.backends.ollama.Deadlines`."""

    connect: Seconds = 5.0
    first_token: Seconds = 600.0
    stall: Seconds = 120.0
    total: Seconds = 1200.0


class AdapterSettings(Target):
    """What asks one host. An adapter of one's own has settings of its own beside these."""

    model: Text
    load: LoadSettings = LoadSettings()
    keep_alive: Annotated[Text | int, RUNTIME] = "30m"
    deadlines: Annotated[DeadlineSettings | None, RUNTIME] = None
    total: Annotated[Seconds | None, RUNTIME] = None


class BackendSettings(Part):
    """Where calls go: an adapter, made once for each host, and how failed calls are tried again. revive_after: seconds
    until a host that died is tried again."""

    name: Name
    hosts: Annotated[Hosts, RUNTIME]
    adapter: AdapterSettings
    attempts: Annotated[Positive, RUNTIME] = 3
    revive_after: Annotated[Number, Field(ge=0), RUNTIME] = 60.0


class FramesSettings(Part):
    """Keyframes: which agents see them, and how they are taken from the last turns. per_clip: at most so many of a
    clip; max_frames: of all; max_seconds: of a clip; long_side: pixels."""

    seen_by: Literal["paper", "all", "none"] = "paper"
    last_turns: Positive = 2
    max_frames: Positive = 8
    per_clip: Positive = 4
    method: Literal["representative", "uniform"] = "representative"
    long_side: Side = 448
    jpeg_quality: Annotated[int, Field(ge=1, le=100)] = 85
    max_seconds: Seconds = 60.0


class KeySettings(Part):
    """What text is embedded: see `mmerg.memory.entries.Key`."""

    text: Literal["history", "situation"] = "history"
    turns: Positive = 3
    emotion: bool = False


class EmbedderSettings(Target):
    """What embeds texts; an embedder of one's own has settings of its own beside these."""

    folder: Annotated[Path | None, PLACE] = None
    max_length: Annotated[int, Field(ge=8)] = 256
    threads: Annotated[Count, RUNTIME] = 0
    hosts: Annotated[Hosts, RUNTIME] = ()


class MemorySettings(Part):
    """A retrieval memory, the source of M by default: see `conf/memory/minilm.yaml`, which explains each key."""

    target: Word = Field("mmerg.sources.exemplars.FromMemory", alias="_target_")
    name: Name
    top_k: Annotated[int, Field(ge=0, le=50)] = 1
    key: KeySettings = KeySettings()
    emotion: Literal["any", "prefer", "require"] = "any"
    min_similarity: Similarity | None = None
    exclude_same_script: bool = True
    exclude_same_scene: bool = True
    exclude_same_reply: bool = True
    exclude_similarity: Similarity | None = 0.98
    embedder: EmbedderSettings | None = None


class DoctorSettings(Part):
    """A backbone and where it is served."""

    backbone: BackboneSettings
    backend: BackendSettings


class AskingSettings(DoctorSettings):
    """What every command takes that asks a model for many samples."""

    seed: Seed = 0
    limit: Annotated[Positive | None, RUNTIME] = None
    only_failed: Annotated[bool, RUNTIME] = False
    cache: Annotated[Literal["off", "read", "on"], RUNTIME] = "on"
    runs: Annotated[Path, PLACE, RUNTIME] = "runs"
    cache_dir: Annotated[Path, PLACE, RUNTIME]


class RunSettings(AskingSettings):
    """All of a run. sources: inputs that no stage makes, by their symbols. name, tags: what its folder is called. ids:
    these samples alone. repeats: so many runs, each with the seed after the one before."""

    dataset: DatasetSettings
    protocol: ProtocolSettings
    system: SystemSettings
    frames: FramesSettings
    memory: MemorySettings
    sources: dict[Word, Target | None] = {}
    name: Annotated[Name | None, RUNTIME] = None
    tags: Annotated[tuple[Name, ...], Field(strict=False), RUNTIME] = ()
    ids: Annotated[Annotated[Texts, Field(min_length=1)] | None, RUNTIME] = None
    repeats: Annotated[Positive, RUNTIME] = 1


class DataSettings(RunSettings):
    """A run that is not started: its corpus is checked, and its frames are drawn. See `conf/data.yaml`."""

    clips: Annotated[Literal["open", "list"], RUNTIME] = "open"
    sheet: Annotated[int, Field(ge=0, le=100), RUNTIME] = 0
    out: Annotated[Path | None, PLACE, RUNTIME] = None

    @field_validator("out")
    @classmethod
    def _json(cls, value: str | None) -> str | None:
        if value is not None and not value.endswith(".json"):
            raise ValueError("a file that ends in .json; the sheet goes beside it as .png")
        return value


class RubricSettings(Part):
    """How replies are judged: see `conf/judge/likert.yaml`, which explains each key."""

    name: Name
    prompts: Word
    replies: Annotated[int, Field(ge=1, le=2)]
    repeats: Positive = 1
    temperature: Annotated[Number, Field(ge=0, le=2)] = 0.0
    sample: Positive | None = None
    max_repairs: Count = 2
    aspects: Annotated[dict[Word, StageSettings], Field(min_length=1)]


class JudgeSettings(AskingSettings):
    """How finished runs are judged, by which backbone, and where it is served."""

    judge: RubricSettings


COMMANDS: Mapping[str, type[Part]] = {  # by the page of conf/ that a command composes
    "config": RunSettings,
    "data": DataSettings,
    "doctor": DoctorSettings,
    "judge": JudgeSettings,
}
