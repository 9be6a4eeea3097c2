"""The settings of commands other than `mmerg run`; see `model.py`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from mmerg.settings.backbone import BatchSettings, DoctorSettings, Seed
from mmerg.settings.kinds import (
    PLACE,
    RUNTIME_ONLY,
    Count,
    Folders,
    Name,
    Number,
    Path,
    Positive,
    SettingsModel,
    Texts,
    Word,
)
from mmerg.settings.model import DatasetSettings, ProtocolSettings, RunSettings, StageSettings


class DoctorRunSettings(RunSettings):
    """The settings of `doctor` with a dataset: see `conf/doctor_run.yaml`."""

    contamination: bool = False


class TrainSettings(SettingsModel):
    """A training of the small empathetic model: see `conf/train.yaml`, which explains each key."""

    dataset: DatasetSettings
    protocol: ProtocolSettings
    out: Annotated[Path, PLACE, RUNTIME_ONLY]
    split: Word = "train"
    validation: Word = "valid"
    lexicon: Annotated[Path | None, PLACE] = None
    k1: Positive = 1
    causes_split: Word | None = None
    C: Annotated[Number, Field(gt=0)] = 1.0
    max_iter: Positive = 300


class ImportSettings(SettingsModel):
    """Replies of another system, and their corpus: see `conf/import.yaml`."""

    model_config = ConfigDict(extra="ignore")  # the config of a dataset may have settings of runs

    dataset: DatasetSettings
    protocol: ProtocolSettings
    replies: Annotated[Path, PLACE]
    name: Name
    runs: Annotated[Path, PLACE, RUNTIME_ONLY] = "runs"


class RubricSettings(SettingsModel):
    """The rubric by which replies are judged: see `conf/judge/likert.yaml`, which explains each key."""

    name: Name
    prompts: Folders
    replies: Annotated[int, Field(ge=1, le=2)]
    repeats: Positive = 1
    temperature: Annotated[Number, Field(ge=0, le=2)] = 0.0
    sample: Positive | None = None
    max_repairs: Count = 2
    aspects: Annotated[dict[Word, StageSettings], Field(min_length=1)]


class JudgeSettings(BatchSettings):
    """The judging of finished runs by a backbone."""

    judge: RubricSettings
    own_replies: Annotated[bool, RUNTIME_ONLY] = False


class LimitSettings(SettingsModel):
    """Limits on a turn sent to the server: see `conf/serve.yaml`, which explains each key."""

    clip_mb: Positive = 64
    pictures: Positive = 8
    picture_mb: Positive = 12
    text: Positive = 4000
    turns: Positive = 200
    waiting: Positive = 200


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


Share = Annotated[Number, Field(ge=0, lt=1)]


class RateSettings(SettingsModel):
    """A study in which people rate replies: see `conf/rate.yaml`, which explains each key."""

    design: Word = "likert"
    items: Positive = 100
    raters: Positive = 3
    people: Positive | None = None
    human: bool = False
    stratify: bool = False
    visual: Literal["clips", "frames", "none"] = "clips"
    gold: Share = 0.1
    repeats: Share = 0.05
    seed: Seed = 0
    host: Word = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    names: Texts = ()
    draws: Positive = 1000
    max_failed: Share = 0.25
    difference: Annotated[Number, Field(gt=0)] = 0.3
    share: Annotated[Number, Field(gt=0.5, lt=1)] = 0.6
    power: Annotated[Number, Field(gt=0.05, lt=1)] = 0.8
    sd_items: Annotated[Number, Field(gt=0)] = 0.8
    sd_raters: Annotated[Number, Field(ge=0)] = 0.1
    sd_noise: Annotated[Number, Field(gt=0)] = 1.0
    format: Literal["csv", "potato", "pearmut"] = "csv"
    out: Annotated[Path | None, PLACE] = None


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
