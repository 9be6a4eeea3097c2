"""Builds a system from its settings: classes and loop imported, prompts found, and all that cannot hold refused.

system = build(SystemSettings.model_validate(yaml.safe_load(open("conf/system/merg.yaml"))), given=["M"])
[stage.name for stage in system.stages]   # ['mpa', 'caef', 'psp', 'sgrg']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

from pydantic import BaseModel

from mmerg.errors import ConfigError
from mmerg.settings.model import LOOPS, TEXT, AuditorSettings, StageSettings, SystemSettings, Target
from mmerg.storage.files import locate_folder
from mmerg.systems.ablate import ablated
from mmerg.systems.answerer import Answerer
from mmerg.systems.audit import audit_class
from mmerg.systems.schema import vocabularies
from mmerg.systems.system import Stage, System
from mmerg.systems.target import make, named

COMMON = Path(__file__).parent / "common"
ALWAYS = ("D", "V")  # inputs that every sample brings
RESULTS = ("response", "emotion", "plan")


def build(node: SystemSettings, given: Iterable[str] = (), group: str = "system") -> System:
    """The system that the settings describe. given: symbols that sources supply. Raises ConfigError where it does not
    hold, naming `group` and the system."""
    where = f"{group}={node.name}"
    node = ablated(node, where)
    if node.final_selection == "last" and (node.auditor is None or node.max_iterations == 0):
        what = "without an auditor" if node.auditor is None else "with max_iterations=0"
        raise ConfigError(
            f"system.final_selection=last has no meaning {what}: there is one pass",
            where=where,
            hint="leave final_selection as it is",
        )
    prompts = locate_folder(node.prompts, where=f"{where}, prompts")
    stages = tuple(_stage(name, stage, f"{where}, stage {name}") for name, stage in node.stages.items())
    auditor = _auditor(node.auditor, stages, where) if node.auditor else None
    system = System(
        name=node.name,
        prompts=(prompts, COMMON),
        stages=stages,
        auditor=auditor,
        max_iterations=node.max_iterations,
        max_repairs=node.max_repairs,
        vocabulary={key: tuple(words) for key, words in node.vocabulary.items()},
        result=node.result,
        final_selection=node.final_selection,
        loop=_loop(node.loop, f"{where}, loop"),
        stop=node.auditor.stop if node.auditor else "",
        score=node.auditor.score if node.auditor else "",
    )
    _check_loop(system, node.auditor, where)
    _check_inputs(system, {*ALWAYS, *given}, where)
    _check_results(system, where)
    return system


def _stage(name: str, node: StageSettings | AuditorSettings, where: str) -> Stage:
    logprobs = isinstance(node, StageSettings) and node.logprobs
    if node.by and (node.sampling.plain() or logprobs):
        what = "sampling" if node.sampling.plain() else "logprobs"
        raise ConfigError(f"{what} has no effect on a stage that {node.by.target} answers", where=where)
    return Stage(
        name=name,
        gives=node.gives if isinstance(node, StageSettings) else "audit",
        sees=tuple(node.sees),
        output=None if node.output in (TEXT, None) else _output_class(str(node.output), where),
        by=_answerer(node.by, where) if node.by else None,
        check=node.check if isinstance(node, StageSettings) else "",
        logprobs=logprobs,
        sampling=node.sampling.plain(),
    )


def _auditor(node: AuditorSettings, stages: tuple[Stage, ...], where: str) -> Stage:
    if node.name in [stage.name for stage in stages]:
        raise ConfigError(f"the auditor is called {node.name}, as a stage is", where=where)
    auditor = _stage(node.name, node, f"{where}, auditor")
    if node.output is None:
        return replace(auditor, output=audit_class(tuple(stage.name for stage in stages)))
    return auditor


def _answerer(target: Target, where: str) -> Answerer:
    made = make(target, f"{where}, by")
    if not callable(made):
        hint = "it needs __call__(self, asked), see docs/own.md"
        raise ConfigError(f"what {target.target} makes cannot be asked", where=f"{where}, by", hint=hint)
    return made


def _loop(node: str | Target, where: str) -> str | Callable[..., object]:
    if node in LOOPS:
        return str(node)
    hint = f"{', '.join(LOOPS)}, the dotted name of a function, or a _target_"
    found = named(node, where, hint) if isinstance(node, str) else make(node, where)
    if not callable(found):
        raise ConfigError(f"the loop {node} cannot be called", where=where, hint=hint)
    return cast(Callable[..., object], found)


def _output_class(dotted: str, where: str) -> type[BaseModel]:
    found = named(dotted, f"{where}, output", "name a pydantic class, or text")
    if not (isinstance(found, type) and issubclass(found, BaseModel) and found.model_fields):
        raise ConfigError(f"output {dotted!r} is not a pydantic class with fields", where=where)
    return found


def _check_loop(system: System, node: AuditorSettings | None, where: str) -> None:
    """Whether an auditor fits the loop. Where an ablation took it out, every loop of ours is one pass."""
    if system.auditor is None or node is None or system.loop not in LOOPS:
        return
    if system.loop == "single":
        raise ConfigError("loop=single never asks the auditor", where=where, hint="auditor: null, or loop: audit")
    if system.loop == "audit" and (node.output or node.stop or node.score):
        raise ConfigError(
            "in loop=audit the auditor answers the stages' checks, and has no output, stop or score of its own",
            where=f"{where}, auditor",
            hint="leave them out, or loop: refine",
        )
    if system.loop == "refine" and node.output is None:
        raise ConfigError(
            "loop=refine needs an auditor with an output of its own, which is the feedback",
            where=f"{where}, auditor",
            hint="output: text, or a class",
        )
    for setting in ("stop", "score"):
        name = getattr(node, setting)
        output = system.auditor.output
        if name and not (output and (name in output.model_fields or isinstance(getattr(output, name, None), property))):
            has = f"fields: {', '.join(output.model_fields)}" if output else "give it a class as output"
            raise ConfigError(f"{setting} is {name}, which the auditor's output does not have", where=where, hint=has)


def _check_inputs(system: System, known: set[str], where: str) -> None:
    """Every input must be given or come from an earlier stage, and every word be chosen from a vocabulary."""
    for stage in system.agents:
        if unknown := [symbol for symbol in stage.sees if symbol not in known]:
            raise ConfigError(
                f"stage {stage.name} sees {', '.join(unknown)}, which nothing before it gives",
                where=where,
                hint=f"known at that point: {', '.join(sorted(known))}; another is supplied by "
                f"sources.{unknown[0]}={{_target_: …}}",
            )
        words = {"emotion", *system.vocabulary}
        if lacking := sorted(vocabularies(stage.output) - words) if stage.output else []:
            raise ConfigError(
                f"stage {stage.name} chooses from {', '.join(lacking)}, for which there are no words",
                where=where,
                hint=f"add them under system.vocabulary, which has {', '.join(sorted(words))}",
            )
        if stage.gives in known:
            raise ConfigError(f"stage {stage.name} gives {stage.gives}, which is already taken", where=where)
        known.add(stage.gives)


def _check_results(system: System, where: str) -> None:
    """Every result must stand in some stage's output."""
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
