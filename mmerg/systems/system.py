"""A system as data: stages in order, an auditor or none, and a loop. `build.py` makes it from YAML.

Symbols are those of the paper (MERG, arXiv 2604.18988, section 3): D dialogue history, V keyframes, M exemplars, and
one for each stage's output (E, e, P, R for MERG's four)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from mmerg.settings.model import LabelOrder, Rerun, Retain, Selection
from mmerg.systems.audit import Check, LabelPrior, audit_class

FramesSeenBy = Literal["paper", "all", "none"]


@dataclass(frozen=True)
class StageInput:
    """The input of a stage's function. inputs: by symbol (D: turns with number, speaker and text; V: frames; outputs of
    stages and sources); absent inputs are omitted. labels: the emotions of the corpus. images: JPEGs, if the stage sees
    V and the model has vision. previous: the stage's last output, if it runs again. instruction: how to correct it;
    empty if another stage failed."""

    sample: str
    t: int
    stage: str
    responder: str
    labels: tuple[str, ...]
    inputs: Mapping[str, object]
    images: tuple[bytes, ...] = ()
    previous: object = None
    instruction: str = ""


# Answers a stage instead of a model (`function:`, docs/extend.md). Returns a text, a record of the output class, or its
# mapping. Threads share it. Its `digest`, or else the SHA-256 of its file, is part of the run's identity.
StageFunction = Callable[[StageInput], object]


# Returns the faults of an output, each with its size from 0 to 1. Gets the output and the `engine.state.State`.
CodeCheck = Callable[[Any, Any], Mapping[str, float]]


FINDING = Check()


@dataclass(frozen=True)
class Stage:
    """One agent. output: a frozen pydantic class; None: plain text. function: answers instead of a model. check: the
    auditor's question about it, a template; verdict: the form of check; code: functions of form=code. audits: the
    stages that this auditor checks. cite_last: the number of last turns it may cite; None: all. label: the field of an
    emotion that is read from label probabilities, averaged over `orders` and calibrated with `prior`. sampling:
    overrides the backbone's."""

    name: str
    gives: str
    sees: tuple[str, ...]
    output: type[BaseModel] | None = None
    function: StageFunction | None = None
    check: str = ""
    verdict: Check = FINDING
    code: tuple[CodeCheck, ...] = ()
    audits: tuple[str, ...] = ()
    cite_last: int | None = None
    label: str = ""
    orders: int = 2
    prior: LabelPrior | None = None
    logprobs: bool = False
    sampling: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    """prompts: folders of templates; earlier ones take precedence. vocabulary: words that schemas choose from. result:
    the paths of response, emotion and plan in the outputs ("R", "e.emotion", "P"). loop: the name of a built-in loop,
    or a user's function. stop, score: fields of the auditor's output. retain: which agents see their last output in a
    rerun. rerun_temperature: of a stage that gets a correction; None: its own. n: the candidates of loop=candidates.
    label_order: see `mmerg.engine.labels`. rerun: how a faulty stage runs again: with its output shown, or at most
    max_views times in other views, see `mmerg.engine.loops.views`. greedy: every agent has temperature 0."""

    name: str
    prompts: tuple[Path, ...]
    stages: tuple[Stage, ...]
    auditor: Stage | None
    max_iterations: int
    max_repairs: int
    vocabulary: Mapping[str, tuple[str, ...]]
    result: Mapping[str, str]
    final_selection: Selection = "lexicographic"
    rerun_temperature: float | None = None
    loop: str | Callable[..., object] = "audit"
    stop: str = ""
    score: str = ""
    retain: Retain = "all"
    n: int = 1
    label_order: LabelOrder = "shuffled"
    rerun: Rerun = "shown"
    max_views: int = 3
    rerun_views: tuple[str, ...] = ()
    greedy: bool = False

    @property
    def checked_stages(self) -> tuple[Stage, ...]:
        """The stages that the auditor checks."""
        return tuple(stage for stage in self.stages if self.auditor and stage.name in self.auditor.audits)

    @property
    def agents(self) -> tuple[Stage, ...]:
        """The stages, and the auditor if there is one."""
        return (*self.stages, self.auditor) if self.auditor else self.stages

    def with_checks(self, checks: Mapping[str, Check]) -> System:
        """The system with measured checks, which rank passes; without auditor if no stage has a check."""
        stages = tuple(replace(stage, verdict=checks.get(stage.name, Check(form=None))) for stage in self.stages)
        names = tuple(stage.name for stage in stages if stage.verdict.form)
        auditor = replace(self.auditor, audits=names, output=audit_class(names)) if self.auditor and names else None
        by: Selection = "calibrated" if self.final_selection == "lexicographic" else self.final_selection
        return replace(self, stages=stages, auditor=auditor, final_selection=by)

    def get_stage(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)

    def result_symbol(self, part: str) -> str:
        """The symbol of a part of `result`: "e" for the emotion at "e.emotion"; "" if there is none."""
        return self.result.get(part, "").partition(".")[0]

    def sees(self, symbol: str) -> bool:
        """Whether any agent sees the input."""
        return any(symbol in agent.sees for agent in self.agents)

    def forecast_path(self, stage: Stage) -> str:
        """The path of the emotion in `result` ("e.emotion") if the stage sees it and runs later, else ""."""
        path, symbol = self.result.get("emotion", ""), self.result_symbol("emotion")
        earlier = [agent.gives for agent in takewhile(lambda agent: agent.name != stage.name, self.agents)]
        return path if symbol in stage.sees and symbol in earlier else ""

    def with_frames_shown_to(self, seen_by: FramesSeenBy) -> System:
        """The system with V shown as in its config (paper), to every agent (all), or to none."""

        def change(stage: Stage) -> Stage:
            rest = tuple(symbol for symbol in stage.sees if symbol != "V")
            return replace(stage, sees=("V", *rest) if seen_by == "all" else rest)

        if seen_by == "paper":
            return self
        auditor = change(self.auditor) if self.auditor else None
        return replace(self, stages=tuple(map(change, self.stages)), auditor=auditor)
