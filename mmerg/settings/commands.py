"""The settings of commands other than `mmerg run`; see `model.py`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, FiniteFloat, NonNegativeInt, PositiveInt

from mmerg.settings.backbone import BatchSettings, DoctorSettings, Seed
from mmerg.settings.kinds import PLACE, RUNTIME_ONLY, Name, OneOrMore, SettingsModel, Texts, Word
from mmerg.settings.model import DatasetSettings, ProtocolSettings, RunSettings, StageSettings


class DoctorRunSettings(RunSettings):
    """The settings of `doctor` with a dataset: see `conf/doctor_run.yaml`."""

    contamination: bool = False


class TrainSettings(SettingsModel):
    """A training of the small empathetic model: see `conf/train.yaml`, which explains each key."""

    dataset: DatasetSettings
    protocol: ProtocolSettings
    out: Annotated[str, PLACE, RUNTIME_ONLY]
    split: Word = "train"
    validation: Word = "valid"
    lexicon: Annotated[str | None, PLACE] = None
    k1: PositiveInt = 1
    causes_split: Word | None = None
    C: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    max_iter: PositiveInt = 300


class ImportSettings(SettingsModel):
    """Replies of another system, and their corpus: see `conf/import.yaml`."""

    model_config = ConfigDict(extra="ignore")  # the config of a dataset may have settings of runs

    dataset: DatasetSettings
    protocol: ProtocolSettings
    replies: Annotated[str, PLACE]
    name: Name
    runs: Annotated[str, PLACE, RUNTIME_ONLY] = "runs"


class RubricSettings(SettingsModel):
    """The rubric by which replies are judged: see `conf/judge/likert.yaml`, which explains each key."""

    name: Name
    prompts: OneOrMore
    replies: Annotated[int, Field(ge=1, le=2)]
    repeats: PositiveInt = 1
    temperature: Annotated[FiniteFloat, Field(ge=0, le=2)] = 0.0
    sample: PositiveInt | None = None
    max_repairs: NonNegativeInt = 2
    aspects: Annotated[dict[Word, StageSettings], Field(min_length=1)]


class JudgeSettings(BatchSettings):
    """The judging of finished runs by a backbone."""

    judge: RubricSettings
    own_replies: Annotated[bool, RUNTIME_ONLY] = False


class LimitSettings(SettingsModel):
    """Limits on a turn sent to the server: see `conf/serve.yaml`, which explains each key."""

    clip_mb: PositiveInt = 64
    pictures: PositiveInt = 8
    picture_mb: PositiveInt = 12
    text: PositiveInt = 4000
    turns: PositiveInt = 200
    waiting: PositiveInt = 200


class SpeechSettings(SettingsModel):
    """The transcription of speech on the page: see `conf/serve.yaml`."""

    model: Word | None = None


class ServeSettings(RunSettings):
    """The server, its address and its systems: see `conf/serve.yaml`, which explains each key."""

    host: Word = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    browser: bool = False
    names: Texts = ()
    origins: Texts = ()
    you: Word = "You"
    answers_as: Word = "mmerg"
    persona: bool = False
    fast: bool = False
    limits: LimitSettings = LimitSettings()
    speech: SpeechSettings = SpeechSettings()


Share = Annotated[FiniteFloat, Field(ge=0, lt=1)]


class RateSettings(SettingsModel):
    """A study in which people rate replies: see `conf/rate.yaml`, which explains each key."""

    design: Word = "likert"
    items: PositiveInt = 100
    raters: PositiveInt = 3
    people: PositiveInt | None = None
    human: bool = False
    stratify: bool = False
    visual: Literal["clips", "frames", "none"] = "clips"
    gold: Share = 0.1
    repeats: Share = 0.05
    seed: Seed = 0
    host: Word = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    names: Texts = ()
    draws: PositiveInt = 1000
    max_failed: Share = 0.25
    difference: Annotated[FiniteFloat, Field(gt=0)] = 0.3
    share: Annotated[FiniteFloat, Field(gt=0.5, lt=1)] = 0.6
    power: Annotated[FiniteFloat, Field(gt=0.05, lt=1)] = 0.8
    sd_items: Annotated[FiniteFloat, Field(gt=0)] = 0.8
    sd_raters: Annotated[FiniteFloat, Field(ge=0)] = 0.1
    sd_noise: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    format: Literal["csv", "potato", "pearmut"] = "csv"
    out: Annotated[str | None, PLACE] = None


COMMANDS: Mapping[str, type[SettingsModel]] = {  # by the name of the config in conf/ that the command composes
    "config": RunSettings,
    "data": RunSettings,
    "doctor": DoctorSettings,
    "doctor_run": DoctorRunSettings,
    "import": ImportSettings,
    "judge": JudgeSettings,
    "rate": RateSettings,
    "serve": ServeSettings,
    "train": TrainSettings,
}
