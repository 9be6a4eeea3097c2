"""A system as data: stages in order, an auditor or none, and how they are looped. Made from YAML by `build.py`.

Knows nothing of datasets, servers or how stages are run. Inputs go by the symbols of the paper (MERG, arXiv 2604.18988,
section 3): D dialogue history, V keyframes, M exemplars, and one symbol for each stage's output (E, e, P, R for MERG's
four).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from mmerg.settings.model import FinalSelection
from mmerg.systems.answerer import Answerer

FramesSeenBy = Literal["paper", "all", "none"]


@dataclass(frozen=True)
class Stage:
    """One agent: which prompt it answers, which inputs it sees, and what it gives.

    output is a frozen pydantic class, or None for plain text. by answers in place of a model. check says what the
    auditor asks of it, as a template over the inputs that the auditor sees. sampling overrides the backbone's samplers
    (temperature, num_predict, …).
    """

    name: str
    gives: str
    sees: tuple[str, ...]
    output: type[BaseModel] | None = None
    by: Answerer | None = None
    check: str = ""
    logprobs: bool = False
    sampling: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    """Stages in order and how they are looped. prompts: folders of templates, of one name the first folder's counts.

    vocabulary holds the enumerations that schemas choose from; result names where response, emotion and plan stand
    among the outputs ("R", "e.emotion", "P"). loop: the name of one of ours, or a function of the user's. stop and
    score name fields of the auditor's output. final_selection: the best pass by its audit, or the last audited one.
    """

    name: str
    prompts: tuple[Path, ...]
    stages: tuple[Stage, ...]
    auditor: Stage | None
    max_iterations: int
    max_repairs: int
    vocabulary: Mapping[str, tuple[str, ...]]
    result: Mapping[str, str]
    final_selection: FinalSelection = "lexicographic"
    loop: str | Callable[..., object] = "audit"
    stop: str = ""
    score: str = ""

    @property
    def agents(self) -> tuple[Stage, ...]:
        """Everything that is asked: the stages, and the auditor where there is one."""
        return (*self.stages, self.auditor) if self.auditor else self.stages

    def sees(self, symbol: str) -> bool:
        """Whether any agent sees the input."""
        return any(symbol in agent.sees for agent in self.agents)

    def forecast(self, stage: Stage) -> str:
        """Where the emotion of `result` stands for a stage that sees it, as in "e.emotion"; "" for one that does not,
        or that is asked before it is there."""
        path = self.result.get("emotion", "")
        symbol = path.split(".")[0]
        earlier = self.agents[: [agent.name for agent in self.agents].index(stage.name)]
        return path if symbol in stage.sees and symbol in [agent.gives for agent in earlier] else ""

    def showing_frames_to(self, seen_by: FramesSeenBy) -> System:
        """The same system with V shown as its YAML says (paper), to every agent (all), or to none."""
        if seen_by == "paper":
            return self

        def change(stage: Stage) -> Stage:
            rest = tuple(symbol for symbol in stage.sees if symbol != "V")
            return replace(stage, sees=("V", *rest) if seen_by == "all" else rest)

        return replace(
            self,
            stages=tuple(change(stage) for stage in self.stages),
            auditor=change(self.auditor) if self.auditor else None,
        )
