"""The shape of a system's YAML: keys, types and bounds, refused with their place before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mmerg.errors import ConfigError

Word = Annotated[str, Field(min_length=1)]


class _Node(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class StageNode(_Node):
    """A stage as YAML has it; see `conf/system/merg.yaml`."""

    sees: Annotated[list[Word], Field(min_length=1)]
    gives: Word
    output: Word = "text"
    check: str = ""
    logprobs: bool = False
    sampling: dict[str, Any] = {}


class AuditorNode(_Node):
    """An auditor as YAML has it: its output follows from the stages."""

    name: Word
    sees: Annotated[list[Word], Field(min_length=1)]
    sampling: dict[str, Any] = {}


class SystemNode(_Node):
    """The parts of a system's YAML that have a shape of their own."""

    stages: Annotated[dict[Word, StageNode], Field(min_length=1)]
    auditor: AuditorNode | None
    vocabulary: dict[Word, Annotated[list[Word], Field(min_length=1)]]


def shape_of(config: Mapping[str, Any], where: str) -> SystemNode:
    """The typed parts of a resolved `system` node. Raises ConfigError that names each misplaced key or value."""
    try:
        return SystemNode.model_validate({name: config[name] for name in SystemNode.model_fields})
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)[:8]
        )
        raise ConfigError(told, where=where, hint="see conf/system/merg.yaml") from error
