"""What a system's YAML may say: keys, types and bounds. `conf/system/merg.yaml` explains each key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mmerg.errors import ConfigError
from mmerg.systems.target import Target

Word = Annotated[str, Field(min_length=1)]
Words = Annotated[list[Word], Field(min_length=1)]
Sampler = int | float | str | list[str]
Organization = Literal["cascaded", "independent"]
FinalSelection = Literal["lexicographic", "last"]
TEXT = "text"  # an output that is no record


class _Node(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class StageSettings(_Node):
    """A stage. output: the dotted name of a frozen pydantic class, or text. by: a class that answers in place of a
    model."""

    sees: Words
    gives: Word
    output: Word = TEXT
    by: Target | None = None
    check: str = ""
    logprobs: bool = False
    sampling: dict[str, Sampler] = {}


class AuditorSettings(_Node):
    """Who looks at each pass. Without an output it answers the stages' checks; loops with free feedback give it one,
    with the fields that end the loop (stop) and that pick the pass (score)."""

    name: Word
    sees: Words
    output: Word | None = None
    by: Target | None = None
    stop: str = ""
    score: str = ""
    sampling: dict[str, Sampler] = {}


class SystemSettings(_Node):
    """A system. prompts: the folder of its templates. loop: audit, single, refine, a dotted name, or a `_target_`."""

    name: Word
    prompts: Word
    loop: Word | Target = "audit"
    max_iterations: Annotated[int, Field(ge=0)] = 2
    max_repairs: Annotated[int, Field(ge=0)] = 2
    without: list[Word] = []
    organization: Organization = "cascaded"
    final_selection: FinalSelection = "lexicographic"
    stages: Annotated[dict[Word, StageSettings], Field(min_length=1)]
    auditor: AuditorSettings | None = None
    vocabulary: dict[Word, Words] = {}
    result: dict[Word, Word]


def system_settings(config: Mapping[str, object], where: str) -> SystemSettings:
    """The settings in a resolved `system` node. Raises ConfigError that names each misplaced key or value."""
    try:
        return SystemSettings.model_validate(config)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)[:8]
        )
        raise ConfigError(wrong, where=where, hint="see conf/system/merg.yaml") from error
