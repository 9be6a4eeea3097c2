"""A system as data: stages in order, a loop, and optionally an auditor. `build.py` makes it from YAML.

Inputs and outputs have the paper's symbols (MERG, arXiv 2604.18988, section 3): D is the dialogue history, V the
keyframes, M the exemplars. Every stage's output has a symbol, too: E, e, P and R for the four stages of MERG.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from mmerg.settings.model import LabelOrder, Rerun, Retain, Selection
from mmerg.systems.audit import Check, LabelPrior, make_audit_class

FramesSeenBy = Literal["paper", "all", "none"]


@dataclass(frozen=True)
class StageInput:
    """The input of a stage's function.

    Attributes:
        sample: its id.
        t: the number of the pass, from 0.
        responder: the speaker of the next turn.
        labels: the emotions of the corpus.
        inputs: by symbol. D: turns with number, speaker and text; V: frames; outputs of stages and sources. Inputs that
            do not exist are omitted.
        images: JPEGs, if the stage sees V and the model has vision.
        previous: the stage's previous output, if it runs again.
        instruction: how to correct the previous output; empty if another stage failed.
    """

    sample: str
    t: int
    stage: str
    responder: str
    labels: tuple[str, ...]
    inputs: Mapping[str, object]
    images: tuple[bytes, ...] = ()
    previous: object = None
    instruction: str = ""


# Computes the output of a stage instead of a model (`function:`, docs/extend.md). Returns a text, an instance of the
# output class, or a mapping of its fields. Several threads call it. Its `digest`, or else the SHA-256 of its file, is a
# part of the run's identity.
StageFunction = Callable[[StageInput], object]

# Takes an output and its `engine.state.State`, and returns the faults, each with its size from 0 to 1. The SHA-256 of
# its file is a part of the identity of runs and measured auditors, so even an edited comment there makes them stale.
CodeCheck = Callable[[Any, Any], Mapping[str, float]]

FINDING = Check()


@dataclass(frozen=True)
class Stage:
    """One agent: a stage, or the auditor."""

    name: str
    gives: str  # the symbol of its output
    sees: tuple[str, ...]  # the symbols of its inputs
    output: type[BaseModel] | None = None  # a frozen class; None: plain text
    function: StageFunction | None = None  # computes the output instead of a model
    check: str = ""  # the auditor's question about the output, as a template
    verdict: Check = FINDING
    code: tuple[CodeCheck, ...] = ()  # the functions that form=code calls
    audits: tuple[str, ...] = ()  # the stages that this auditor checks
    cite_last: int | None = None  # how many of the last turns it may cite; None: all
    label: str = ""  # the field of an emotion that is read from label probabilities; empty if the model writes it
    orders: int = 2  # of the labels, over which log-probabilities are averaged
    prior: LabelPrior | None = None  # calibrates the label probabilities
    logprobs: bool = False
    sampling: Mapping[str, object] = field(default_factory=dict)  # overrides parts of the backbone's


@dataclass(frozen=True)
class System:
    """A system that is ready to run."""

    name: str
    prompts: tuple[Path, ...]  # folders of templates; earlier ones take precedence
    stages: tuple[Stage, ...]
    auditor: Stage | None
    max_iterations: int
    max_repairs: int
    vocabulary: Mapping[str, tuple[str, ...]]  # the words from which fields of schemas choose
    result: Mapping[str, str]  # the paths of response, emotion and plan in the outputs ("R", "e.emotion", "P")
    final_selection: Selection = "lexicographic"
    rerun_temperature: float | None = None  # of a stage that gets a correction; None: the stage's own
    loop: str | Callable[..., object] = "audit"  # the name of a built-in loop, or a user's function
    stop: str = ""  # the field of the auditor's output that ends loop=refine
    score: str = ""  # the field that ranks its passes
    retain: Retain = "all"  # which agents see their previous output in a rerun
    n: int = 1  # candidates of loop=candidates
    label_order: LabelOrder = "shuffled"  # see `mmerg.engine.labels`
    rerun: Rerun = "shown"  # of a faulty stage: with its output shown, or in other views (`mmerg.engine.loops.views`)
    max_views: int = 3  # the most for a faulty stage
    rerun_views: tuple[str, ...] = ()
    greedy: bool = False  # every agent has temperature 0

    @property
    def checked_stages(self) -> tuple[Stage, ...]:
        return tuple(stage for stage in self.stages if self.auditor and stage.name in self.auditor.audits)

    @property
    def agents(self) -> tuple[Stage, ...]:
        return (*self.stages, self.auditor) if self.auditor else self.stages

    def with_checks(self, checks: Mapping[str, Check]) -> System:
        """Returns the system with measured checks, which rank passes, and without auditor if no stage has a check."""
        stages = tuple(replace(stage, verdict=checks.get(stage.name, Check(form=None))) for stage in self.stages)
        names = tuple(stage.name for stage in stages if stage.verdict.form)
        auditor = None
        if self.auditor and names:
            auditor = replace(self.auditor, audits=names, output=make_audit_class(names))
        by: Selection = "calibrated" if self.final_selection == "lexicographic" else self.final_selection
        return replace(self, stages=stages, auditor=auditor, final_selection=by)

    def get_stage(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)

    def result_symbol(self, part: str) -> str:
        """Returns the symbol of a part of `result`: "e" for the emotion at "e.emotion"; "" if there is none."""
        return self.result.get(part, "").partition(".")[0]

    def sees(self, symbol: str) -> bool:
        return any(symbol in agent.sees for agent in self.agents)

    def forecast_path(self, stage: Stage) -> str:
        """Returns the path of the emotion in `result` ("e.emotion") if the stage sees it and runs later, else ""."""
        path, symbol = self.result.get("emotion", ""), self.result_symbol("emotion")
        earlier = [agent.gives for agent in takewhile(lambda agent: agent.name != stage.name, self.agents)]
        return path if symbol in stage.sees and symbol in earlier else ""

    def with_frames_shown_to(self, seen_by: FramesSeenBy) -> System:
        """Returns the system with V shown to the agents of its config (paper), to every agent (all), or to none."""

        def change(stage: Stage) -> Stage:
            rest = tuple(symbol for symbol in stage.sees if symbol != "V")
            return replace(stage, sees=("V", *rest) if seen_by == "all" else rest)

        if seen_by == "paper":
            return self
        auditor = change(self.auditor) if self.auditor else None
        return replace(self, stages=tuple(map(change, self.stages)), auditor=auditor)
