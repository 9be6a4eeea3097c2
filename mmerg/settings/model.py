"""Everything that can be set, with its type, its bounds, and whether it decides results.

Hydra composes the pages of `conf/`; these classes say what may stand there. A new setting is a line of YAML, which
explains it, and a line here. Every package may import this module; it imports none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)

RUNTIME = "decides no result"  # it says how results are had, not what they are: a run goes on with it changed
PLACE = "a path"  # where a file or folder lies, which decides no result either
PASSWORD = re.compile(r"://[^/\s]*@")  # in an address
NO_PASSWORD = "no name and no password, which a run's files would show: reach the server through a tunnel or a proxy"
LOOPS = ("audit", "single", "refine")  # of our own; another is the user's
TEXT = "text"  # an output that is no record
SEEDS = 2**31  # those there are, from 0
Value = TypeVar("Value")


def _where(holds: Callable[[Value], object], else_told: str) -> Callable[[Value], Value]:
    """Passes on a value for which `holds`."""

    def checked(value: Value) -> Value:
        if not holds(value):
            raise ValueError(else_told)
        return value

    return checked


def _text(value: Any) -> str:
    """Takes what pydantic's own type refuses, as names of files may hold it, and numbers, as in `ids=[5]`."""
    if type(value) in (int, float):
        return str(value)
    if not isinstance(value, str):
        raise ValueError("a text")  # noqa: TRY004 - as pydantic takes it
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_emotions(value: object) -> bool:
    labels = value if isinstance(value, list | tuple) else ()
    return value in ("all", "nonneutral") or (len(labels) > 0 and all(map(_is_text, labels)))


Text = Annotated[str, PlainValidator(_text)]
Word = Annotated[str, PlainValidator(_where(lambda value: _is_text(value) and value, "a text that is not empty"))]
Name = Annotated[  # becomes a part of a folder's name
    Text,
    AfterValidator(_where(re.compile(r"[\w.+-]*\w[\w.+-]*").fullmatch, "letters, digits, '.', '_', '+' and '-' only")),
]
Path = Annotated[str, PlainValidator(_where(_is_text, "a path; in quotes where it looks like something else"))]
JsonFile = Annotated[
    Path,
    AfterValidator(_where(lambda file: file.endswith(".json"), "a file that ends in .json; the sheet goes beside it")),
]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Words = Annotated[tuple[Word, ...], Field(strict=False, min_length=1)]
Hosts = Annotated[
    tuple[Word, ...],
    Field(strict=False),
    AfterValidator(_where(lambda hosts: not any(map(PASSWORD.search, hosts)), NO_PASSWORD)),
]
Numbers = Annotated[tuple[int, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=SEEDS)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[Number, Field(gt=0, le=10_000_000)]
Similarity = Annotated[Number, Field(ge=-1, le=1)]
Side = Annotated[int, Field(ge=32)]  # pixels
FinalSelection = Literal["lexicographic", "last"]
EmotionOf = Literal["responder", "speaker"]


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
    def _given_a_value(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            raise ValueError("a value; left out, it is the default")
        return [value] if info.field_name == "stop" and isinstance(value, str) else value


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
    sessions: Numbers | None = None
    reader: Target


class DatasetSettings(Part):
    """A corpus reader and what its page passes on to it. emotion_of: whose emotion a label is, which prompts
    ask for: what the one who answers expresses, or what the one who tells feels. memory: null where there is no corpus
    for exemplars."""

    name: Name
    root: Annotated[Path | None, PLACE] = None
    split: Text = "test"
    sessions: Numbers | None = None
    variant: Text | None = None
    label_set: Text | None = None
    labels: Words | None = None
    emotion_of: EmotionOf = "responder"
    reader: Target
    memory: MemorySourceSettings | None = None


class ProtocolSettings(Part):
    """Which turns are targets: see `mmerg.corpora.protocols.Protocol`."""

    name: Text
    targets: Literal["last", "all", "labelled"] = "last"
    emotions: Annotated[Any, PlainValidator(_where(_is_emotions, "all, nonneutral, or a list: [joy,anger]"))] = "all"
    max_per_dialogue: Positive | None = None
    sample: Positive | None = None
    seed: Seed = 0
    history: Positive | None = None


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
    """A system. prompts: the folder of its templates. loop: audit, single, refine, a dotted name, or a `_target_`.
    label_sets: the label set that it takes, by the name of a dataset that has several."""

    name: Name
    prompts: Word
    loop: Target | Word = "audit"
    max_iterations: Count = 2
    max_repairs: Count = 2
    without: Texts = ()
    organization: Literal["cascaded", "independent"] = "cascaded"
    final_selection: FinalSelection = "lexicographic"
    rerun_temperature: Annotated[Number | None, Field(ge=0)] = None
    stages: Annotated[dict[Word, StageSettings], Field(min_length=1)]
    auditor: AuditorSettings | None = None
    vocabulary: dict[Word, Words] = {}
    label_sets: dict[Word, Word] = {}
    result: dict[Word, Word]


class BackboneSettings(Part):
    """A model: Ollama's name for it, or a GGUF file (with mmproj for vision) for the embedded backend, of which
    `workers` names each copy and `threads` (0: all cores but one) counts those of a copy. concurrency: calls that one
    host takes at once. note: printed after the replies."""

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
    """Seconds by the names of `mmerg.backends.http.Deadlines`, which has the defaults."""

    __pydantic_extra__: dict[str, Seconds] = Field(init=False)


class AdapterSettings(Target):
    """What asks one host. An adapter of one's own has settings of its own beside these."""

    model: Text
    load: LoadSettings = LoadSettings()
    keep_alive: Annotated[Text | int, RUNTIME] = "30m"
    deadlines: Annotated[DeadlineSettings | None, RUNTIME] = None
    total: Annotated[Seconds | None, RUNTIME] = None


class BackendSettings(Part):
    """Where calls go: an adapter, made for each host. revive_after: seconds until a host that died is tried again."""

    name: Name
    hosts: Annotated[Hosts, RUNTIME]
    adapter: AdapterSettings
    attempts: Annotated[Positive, RUNTIME] = 3
    revive_after: Annotated[Number, Field(ge=0), RUNTIME] = 60.0


class FramesSettings(Part):
    """Keyframes: which agents see them, and how they are taken; see `conf/frames/paper.yaml`."""

    seen_by: Literal["paper", "all", "none"] = "paper"
    last_turns: Positive = 2
    max_frames: Positive = 8
    per_clip: Positive = 4
    method: Literal["representative", "uniform"] = "representative"
    long_side: Side = 448
    jpeg_quality: Annotated[int, Field(ge=1, le=100)] = 85
    max_seconds: Seconds = 60.0


class KeySettings(Part):
    """What text is embedded: see `mmerg.memory.entries.text_of`."""

    text: Literal["history", "situation", "situation_or_history"] = "history"
    turns: Positive = 3
    emotion: bool = False

    @property
    def named(self) -> str:
        """What the text is called."""
        return self.text.replace("_", " ")


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
    emotion: Literal["any", "prefer", "require", "require_or_any"] = "any"
    min_similarity: Similarity | None = None
    min_words: Positive = 1
    exclude_same_script: bool = True
    exclude_same_scene: bool = True
    exclude_same_reply: bool = True
    exclude_similarity: Similarity | None = 0.98
    embedder: EmbedderSettings | None = None


class SemSettings(Part):
    """A small empathetic model as a source: see `conf/system/hef.yaml`, which explains each key."""

    folder: Path | None = None
    k2: Count = 20
    cause_words: bool = True
    transductive: bool = False


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
    """All of a run: see `conf/config.yaml`, which explains each key."""

    dataset: DatasetSettings
    protocol: ProtocolSettings
    system: SystemSettings
    frames: FramesSettings
    memory: MemorySettings
    sources: dict[Word, Target | None] = {}
    sem: Annotated[Path | None, PLACE] = None
    name: Annotated[Name | None, RUNTIME] = None
    tags: Annotated[tuple[Name, ...], Field(strict=False), RUNTIME] = ()
    ids: Annotated[Annotated[Texts, Field(min_length=1)] | None, RUNTIME] = None
    repeats: Annotated[Positive, RUNTIME] = 1

    @field_validator("repeats")
    @classmethod
    def _seeds_in_bounds(cls, repeats: int, info: ValidationInfo) -> int:
        if (left := SEEDS - info.data.get("seed", 0)) < repeats:
            raise ValueError(f"at most {left}, as each repeat has the next seed, and seeds are under {SEEDS}")
        return repeats


class DataSettings(RunSettings):
    """A run that is not started: its corpus is checked, and its frames are drawn. See `conf/data.yaml`."""

    clips: Annotated[Literal["open", "list"], RUNTIME] = "open"
    sheet: Annotated[int, Field(ge=0, le=100), RUNTIME] = 0
    out: Annotated[JsonFile | None, PLACE, RUNTIME] = None


class FeaturesSettings(Part):
    """What the small empathetic model sees of a history: its words, or with an embedder its embedding."""

    name: Name
    embedder: EmbedderSettings | None = None


class TrainSettings(Part):
    """A training of the small empathetic model: see `conf/train.yaml`, which explains each key."""

    dataset: DatasetSettings
    protocol: ProtocolSettings
    features: FeaturesSettings
    out: Annotated[Path, PLACE, RUNTIME]
    split: Word = "train"
    validation: Word = "valid"
    lexicon: Annotated[Path | None, PLACE] = None
    k1: Positive = 1
    causes_split: Word | None = None
    l2: Annotated[Number, Field(gt=0)] = 1.0
    max_steps: Positive = 300


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
    own_replies: Annotated[bool, RUNTIME] = False


COMMANDS: Mapping[str, type[Part]] = {  # by the page of conf/ that a command composes
    "config": RunSettings,
    "data": DataSettings,
    "doctor": DoctorSettings,
    "judge": JudgeSettings,
    "train": TrainSettings,
}
