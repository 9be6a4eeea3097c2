"""A system as data: stages in order, an auditor or none, loop settings. Built from `conf/system/*.yaml`.

Knows the classes that its YAML names and nothing of datasets, servers or how stages are run. Inputs go by the symbols
of the paper (MERG, arXiv 2604.18988, section 3): D dialogue history, V keyframes, M exemplars, and one symbol for
each stage's output (E, e, P, R for MERG's four).

    system = build(yaml.safe_load(open("conf/system/merg.yaml")))
    [stage.name for stage in system.stages]   # ['mpa', 'caef', 'psp', 'sgrg']
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from mmerg.backends.protocol import Sampling
from mmerg.backends.sampling import sampling
from mmerg.errors import ConfigError
from mmerg.systems.ablate import ablated
from mmerg.systems.audit import audit_class
from mmerg.systems.fields import chosen_from
from mmerg.systems.shape import StageNode, shape_of

FOLDER = Path(__file__).parent
ALWAYS = ("D", "V")  # inputs that every sample brings
RESULTS = ("response", "emotion", "plan")
FramesSeenBy = Literal["paper", "all", "none"]
FinalSelection = Literal["lexicographic", "last"]


@dataclass(frozen=True)
class Stage:
    """One agent: which prompt it answers, which inputs it sees, and what it gives.

    output is a frozen pydantic class, or None for plain text. check says what the auditor asks of it, as a template
    over the inputs that the auditor sees. sampling overrides the backbone's samplers (temperature, num_predict, …).
    """

    name: str
    gives: str
    sees: tuple[str, ...]
    output: type[BaseModel] | None = None
    check: str = ""
    logprobs: bool = False
    sampling: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    """Stages in order and how they are looped. `vocabulary` holds the enumerations that schemas choose from;
    `result` names where response, emotion and plan stand among the outputs ("R", "e.emotion", "P"). final_selection
    says which pass the response comes from: the best by its audit, or the last that was audited."""

    name: str
    prompts: tuple[Path, ...]
    stages: tuple[Stage, ...]
    auditor: Stage | None
    max_iterations: int
    max_repairs: int
    vocabulary: Mapping[str, tuple[str, ...]]
    result: Mapping[str, str]
    final_selection: FinalSelection = "lexicographic"

    @property
    def agents(self) -> tuple[Stage, ...]:
        """Everything that is asked: the stages, and the auditor where there is one."""
        return (*self.stages, self.auditor) if self.auditor else self.stages

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


def build(config: Mapping[str, Any], folder: Path = FOLDER, group: str = "system") -> System:
    """The system that `config` (the resolved node of the config group `group`) describes, its prompts' folder being
    under `folder`. Raises ConfigError where it does not hold."""
    where = f"{group}={config['name']}"
    organization, final_selection = (
        config.get("organization", "cascaded"),
        config.get("final_selection", "lexicographic"),
    )
    shape, result = ablated(shape_of(config, where), config["result"], config.get("without", ()), organization, where)
    if final_selection == "last" and (shape.auditor is None or config["max_iterations"] == 0):
        what = "without an auditor" if shape.auditor is None else "with max_iterations=0"
        raise ConfigError(
            f"system.final_selection=last has no meaning {what}: there is one pass",
            where=where,
            hint="leave final_selection as it is",
        )
    prompts = folder / config["prompts"] / "prompts"
    if not prompts.is_dir():
        raise ConfigError(f"no prompts folder for {config['prompts']!r}", where=f"{where}, {prompts}")
    stages = tuple(_stage(name, node, where) for name, node in shape.stages.items())
    auditor = None
    if shape.auditor:
        if shape.auditor.name in shape.stages:
            raise ConfigError(f"the auditor is called {shape.auditor.name}, as a stage is", where=where)
        own = StageNode(gives="audit", sees=shape.auditor.sees, sampling=shape.auditor.sampling)
        auditor = _stage(shape.auditor.name, own, where)
        auditor = replace(auditor, output=audit_class(tuple(stage.name for stage in stages)))
    for number in ("max_iterations", "max_repairs"):
        if config[number] < 0:
            raise ConfigError(f"system.{number} is {config[number]}, it counts from 0", where=where)
    system = System(
        name=config["name"],
        prompts=(prompts, FOLDER / "common"),
        stages=stages,
        auditor=auditor,
        max_iterations=config["max_iterations"],
        max_repairs=config["max_repairs"],
        vocabulary={key: tuple(words) for key, words in shape.vocabulary.items()},
        result=result,
        final_selection=final_selection,
    )
    _check(system, {*ALWAYS, *config.get("given", ())}, where)
    return system


def _stage(name: str, node: StageNode, where: str) -> Stage:
    sampling(Sampling(), node.sampling, f"{where}, stage {name}")  # refused here, before anything is asked
    return Stage(
        name=name,
        gives=node.gives,
        sees=tuple(node.sees),
        output=None if node.output == "text" else _output_class(node.output, f"{where}, stage {name}"),
        check=node.check,
        logprobs=node.logprobs,
        sampling=node.sampling,
    )


def _output_class(dotted: str, where: str) -> type[BaseModel]:
    module, _, name = dotted.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"output {dotted!r} cannot be imported: {error}", where=where, hint="name a pydantic class, or text"
        ) from error
    if not (isinstance(found, type) and issubclass(found, BaseModel) and found.model_fields):
        raise ConfigError(f"output {dotted!r} is not a pydantic class with fields", where=where)
    return found


def _check(system: System, known: set[str], where: str) -> None:
    """Every input must be given or come from an earlier stage, and every result from some stage's output."""
    for stage in system.agents:
        unknown = [symbol for symbol in stage.sees if symbol not in known]
        if unknown:
            raise ConfigError(
                f"stage {stage.name} sees {', '.join(unknown)}, which nothing before it gives",
                where=where,
                hint=f"known at that point: {', '.join(sorted(known))}",
            )
        words = {"emotion", *system.vocabulary}
        if lacking := sorted(chosen_from(stage.output.model_json_schema()) - words) if stage.output else []:
            raise ConfigError(
                f"stage {stage.name} chooses from {', '.join(lacking)}, for which there are no words",
                where=where,
                hint=f"add them under system.vocabulary, which has {', '.join(sorted(words))}",
            )
        if stage.gives in known:
            raise ConfigError(f"stage {stage.name} gives {stage.gives}, which is already taken", where=where)
        known.add(stage.gives)
    for key, path in system.result.items():
        symbol, *fields_of = path.split(".")
        maker = next((stage for stage in system.stages if stage.gives == symbol), None)
        if key not in RESULTS:
            raise ConfigError(f"result.{key} is not kept", where=where, hint=f"results: {', '.join(RESULTS)}")
        if maker is None:
            raise ConfigError(f"result.{key} is {path!r}, which no stage gives", where=where)
        have = maker.output.model_fields if maker.output else {}
        if fields_of and (len(fields_of) > 1 or fields_of[0] not in have):
            what = f"result.{key} is {path!r}, which {maker.name} does not give"
            raise ConfigError(what, where=where, hint=f"fields: {', '.join(have)}")
        text = have[fields_of[0]].annotation is str if fields_of else maker.output is None
        if not text and (fields_of or key != "plan"):
            raise ConfigError(f"result.{key} is {path!r}, which is no text", where=where)
