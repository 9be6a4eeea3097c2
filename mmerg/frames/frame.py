"""A keyframe, and how keyframes are taken. Which turn one belongs to is known to who asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Frame(BaseModel):
    """One keyframe. `sha256` is of the JPEG bytes in the store; `time` is seconds from the start of `source`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    source: str  # the clip's file name
    time: float
    width: int
    height: int


@dataclass(frozen=True)
class FrameSettings:
    """How keyframes are taken from one clip. per_clip: at most so many. method: `representative` goes by visual change
    and sharpness. long_side: pixels, never enlarged. max_seconds: a longer clip or span is refused as wrongly cut."""

    per_clip: int = 4
    method: Literal["representative", "uniform"] = "representative"
    long_side: int = 448
    jpeg_quality: int = 85
    max_seconds: float = 60.0
