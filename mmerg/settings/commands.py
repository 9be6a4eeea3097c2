"""What `mmerg serve` and `mmerg cluster` compose beyond a run, and the settings of each command.

COMMANDS["serve"]    # ServeSettings
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from mmerg.settings.backbone import ExamSettings
from mmerg.settings.kinds import Part, Positive, Seconds, Target, Text, Texts, Word
from mmerg.settings.model import DataSettings, ImportSettings, JudgeSettings, RunSettings, TrainSettings


class LimitSettings(Part):
    """What one turn of a talk may bring to the server: see `conf/serve.yaml`, which explains each key."""

    clip_mb: Positive = 64
    pictures: Positive = 8
    picture_mb: Positive = 12
    text: Positive = 4000
    turns: Positive = 200
    waiting: Positive = 200


class ServeSettings(RunSettings):
    """What is served, where, and to whom: see `conf/serve.yaml`, which explains each key."""

    host: Word = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    browser: bool = False
    names: Texts = ()
    you: Word = "You"
    answers_as: Word = "mmerg"
    save: bool = True
    limits: LimitSettings = LimitSettings()


class ClusterSettings(RunSettings):
    """A run in shards, each a job: see `conf/cluster.yaml`, which explains each key."""

    on: Target
    shards: Annotated[int, Field(ge=1, le=99999)] = 4
    tries: Positive = 2
    server: Text | None = None
    server_wait: Seconds = 600.0


COMMANDS: Mapping[str, type[Part]] = {  # by the page of conf/ that a command composes
    "cluster": ClusterSettings,
    "config": RunSettings,
    "data": DataSettings,
    "doctor": ExamSettings,
    "import": ImportSettings,
    "judge": JudgeSettings,
    "serve": ServeSettings,
    "train": TrainSettings,
}
