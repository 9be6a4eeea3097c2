"""All settings of a run, with their types and bounds, and whether they affect results.

Hydra composes the configs in `conf/`, and these classes validate them. To add a setting, write a line in YAML, which
explains it, and a field here, in `commands.py`, `backbone.py` or `sources.py`. Every package may import these modules,
which import none of the others.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt, field_validator

from mmerg.settings.backbone import BatchSettings, SamplingSettings, Seed
from mmerg.settings.kinds import (
    PLACE,
    RUNTIME_ONLY,
    ClassSpec,
    Emotions,
    Name,
    Numbers,
    OneOrMore,
    Seconds,
    SettingsModel,
    ShardText,
    Side,
    Text,
    Texts,
    Word,
    Words,
)
from mmerg.settings.sources import MemorySettings

LOOPS = ("audit", "single", "refine", "candidates")  # mmerg's loops; any other is a custom one
TEXT = "text"  # an output that is free text
FinalSelection = Literal["lexicographic", "last"]
Selection = FinalSelection | Literal["calibrated"]  # by measured checks (auditor.json)
Form = Literal["code", "likelihood", "odds", "comparison", "finding"]  # of a check, from cheap to expensive
Retain = Literal["all", "faulty"]
FORMS: tuple[Form, ...] = get_args(Form)
EmotionOf = Literal["responder", "speaker"]
LabelOrder = Literal["shuffled", "corpus"]
Rerun = Literal["shown", "view"]
View = Literal["labels", "last_turns", "without_before", "seed"]


class MemorySourceSettings(SettingsModel):
    """The corpus of exemplars, which is never the evaluated one."""

    root: Annotated[str | None, PLACE] = None
    split: Text | None = None
    sessions: Numbers | None = None
    reader: ClassSpec


class DatasetSettings(SettingsModel):
    """A corpus reader and its arguments."""

    name: Name
    root: Annotated[str | None, PLACE] = None
    split: Text | None = None
    sessions: Numbers | None = None
    label_set: Text | None = None
    labels: Words | None = None
    emotion_of: EmotionOf = "responder"  # a label is what the responder expresses, or what the other speaker feels
    reader: ClassSpec
    memory: MemorySourceSettings | None = None  # the corpus of exemplars; null: none


class ProtocolSettings(SettingsModel):
    """The turns that are targets: see `conf/protocol/last.yaml`, which explains each key."""

    name: Text = ""
    targets: Literal["last", "all", "labelled"] = "last"  # last: the final turn, or the reply after it (respond_as)
    emotions: Emotions = "all"
    max_per_dialogue: PositiveInt | None = None
    sample: PositiveInt | None = None
    seed: Seed = 0
    history: PositiveInt | None = None


class StageSettings(SettingsModel):
    """A stage of a system; see `conf/system/merg.yaml`."""

    sees: Words  # the symbols of its inputs
    gives: Word  # the symbol of its output
    output: Word = TEXT  # "text", or the dotted name of a frozen pydantic class
    function: ClassSpec | None = None  # called instead of a model
    check: Text = ""  # the auditor's question about the output
    form: Form | None = "finding"  # of its check; null: it has no check
    code: Texts = ()  # the functions of form=code
    reads: Literal["completion", "labels"] = "completion"  # labels: read the emotion from probabilities in `orders`
    orders: PositiveInt = 2
    cite_last: PositiveInt | None = None  # how many of the last turns it may cite; null: all
    logprobs: bool = False  # ask for the log-probabilities of the completion's tokens
    sampling: SamplingSettings = SamplingSettings()


class AuditorSettings(SettingsModel):
    """The auditor of each pass. Without an `output`, it answers the checks of the stages. Loops with free-text feedback
    give it an output whose fields end the loop (`stop`) and rank the pass (`score`)."""

    name: Word
    sees: Words
    output: Word | None = None
    function: ClassSpec | None = None
    stop: Text = ""
    score: Text = ""
    sampling: SamplingSettings = SamplingSettings()


class EqualTokensSettings(SettingsModel):
    """The systems that decide `n`: so many samples of `candidate` cost as many tokens as one of `of`."""

    of: Name
    candidate: Name


class SystemSettings(SettingsModel):
    """A system: see `conf/system/merg.yaml`, which explains its keys."""

    name: Name
    prompts: OneOrMore  # folders of templates; earlier ones take precedence
    loop: ClassSpec | Word = "audit"  # one of LOOPS, a dotted name, or a `_target_`
    max_iterations: NonNegativeInt = 2
    n: PositiveInt = 1  # independent passes of loop=candidates
    equal_tokens: EqualTokensSettings | None = None
    max_repairs: NonNegativeInt = 2
    without: Texts = ()
    organization: Literal["cascaded", "independent"] = "cascaded"
    final_selection: FinalSelection = "lexicographic"
    retain: Retain = "all"
    rerun_temperature: Annotated[FiniteFloat | None, Field(ge=0)] = None
    label_order: LabelOrder = "shuffled"
    rerun: Rerun = "shown"
    max_views: PositiveInt = 3
    rerun_views: Annotated[tuple[View, ...], Field(strict=False, min_length=1)] = get_args(View)[:3]
    stages: Annotated[dict[Word, StageSettings], Field(min_length=1)]
    auditor: AuditorSettings | None = None
    vocabulary: dict[Word, Words] = Field(default_factory=dict)
    label_sets: dict[Word, Word] = Field(default_factory=dict)  # by dataset
    result: dict[Word, Word]

    @field_validator("stages")
    @classmethod
    def _in_order(cls, stages: dict[str, StageSettings]) -> dict[str, StageSettings]:
        """Moves each stage behind those whose outputs it sees, as a config that extends another can only append stages.
        Leaves a cycle as it is; the build reports it."""
        remaining, ordered = dict(stages), dict[str, StageSettings]()
        while remaining:
            missing = {stage.gives for stage in remaining.values()}
            following = next((name for name, stage in remaining.items() if missing.isdisjoint(stage.sees)), None)
            if following is None:
                return ordered | remaining
            ordered[following] = remaining.pop(following)
        return ordered


class FramesSettings(SettingsModel):
    """The agents that see keyframes, and how these are sampled and shown; see `conf/frames/paper.yaml`."""

    seen_by: Literal["paper", "all", "none"] = "paper"
    last_turns: PositiveInt = 2
    max_frames: PositiveInt = 8
    per_clip: PositiveInt = 4
    method: Literal["representative", "uniform", "apex"] = "representative"
    long_side: Side = 448
    jpeg_quality: Annotated[int, Field(ge=1, le=100)] = 85
    max_seconds: Seconds = 60.0
    show: Literal["own", "blank", "shuffled"] = "own"


class RunSettings(BatchSettings):
    """All settings of a run: see `conf/config.yaml`, which explains each key."""

    dataset: DatasetSettings
    protocol: ProtocolSettings
    system: SystemSettings
    frames: FramesSettings
    memory: MemorySettings
    sources: dict[Word, ClassSpec | None] = Field(default_factory=dict)
    sem: Annotated[str | None, PLACE] = None
    auditor: Annotated[str | None, PLACE] = None
    name: Annotated[Name | None, RUNTIME_ONLY] = None
    tags: Annotated[tuple[Name, ...], Field(strict=False), RUNTIME_ONLY] = ()
    ids: Annotated[Annotated[Texts, Field(min_length=1)] | None, RUNTIME_ONLY] = None
    shard: Annotated[ShardText | None, RUNTIME_ONLY] = None
