"""Builds a system from its settings: imports classes and the loop, finds prompts, and refuses settings that do not
fit."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, RootModel

from mmerg.errors import ConfigError
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import LOOPS, TEXT, AuditorSettings, StageSettings, SystemSettings
from mmerg.storage.files import locate_folder
from mmerg.systems.ablate import ablated
from mmerg.systems.audit import Check, audit_class
from mmerg.systems.check import check_system
from mmerg.systems.instantiate import import_name, instantiate
from mmerg.systems.system import Stage, System

COMMON = Path(__file__).parent / "common"
MEMORY = "M"  # conf/config.yaml sets it for every system, whether a stage sees it or not

FUNCTION = "it needs __call__(self, asked), see docs/extend.md"
CODE = "name a function (output, state) that gives what is wrong, and how much"
LOOP = f"{', '.join(LOOPS)}, the dotted name of a function, or a _target_"


def build(node: SystemSettings, given: Collection[str] = (), group: str = "system") -> System:
    """The system that the settings describe. given: symbols of sources. Raises ConfigError, naming `group` and the
    system."""
    where = f"{group}={node.name}"
    if node.equal_tokens:
        what = "it works in mmerg run only, which reads from finished runs how many candidates cost equal tokens"
        raise ConfigError(what, where=where, hint="system.equal_tokens=null system.n=10, or system=best_of_n")
    _check_sources(node, given, where)
    node = ablated(node, where)
    auditor = node.auditor
    ranked = auditor is not None and node.max_iterations > 0 and (node.loop != "refine" or auditor.score)
    if node.final_selection == "last" and not ranked:
        hint = "an auditor, max_iterations over 0 and, in loop=refine, a score; or leave final_selection as it is"
        raise ConfigError("system.final_selection=last needs several passes with ranks", where=where, hint=hint)
    system = System(
        name=node.name,
        prompts=(*(locate_folder(one, where=f"{where}, prompts") for one in node.prompts), COMMON),
        stages=tuple(_stage(name, stage, f"{where}, stage {name}") for name, stage in node.stages.items()),
        auditor=_auditor(auditor, node.stages, where) if auditor else None,
        max_iterations=node.max_iterations,
        max_repairs=node.max_repairs,
        vocabulary={key: tuple(words) for key, words in node.vocabulary.items()},
        result=node.result,
        final_selection=node.final_selection,
        retain=node.retain,
        rerun_temperature=node.rerun_temperature,
        loop=node.loop
        if isinstance(node.loop, str) and node.loop in LOOPS
        else _callable(node.loop, f"{where}, loop", LOOP),
        stop=auditor.stop if auditor else "",
        score=auditor.score if auditor else "",
        n=node.n,
        label_order=node.label_order,
        rerun=node.rerun,
        max_views=node.max_views,
        rerun_views=node.rerun_views,
    )
    check_system(system, auditor, given, where)
    return system


def _stage(name: str, node: StageSettings, where: str) -> Stage:
    overrides = node.sampling.plain()
    if node.function and (overrides or node.logprobs):
        what = "sampling" if overrides else "logprobs"
        raise ConfigError(f"{what} has no effect on a stage that {node.function.target} answers", where=where)
    return Stage(
        name=name,
        gives=node.gives,
        sees=tuple(node.sees),
        output=None if node.output == TEXT else _output_class(node.output, where),
        function=_callable(node.function, f"{where}, function", FUNCTION) if node.function else None,
        check=node.check,
        verdict=Check(form=node.form),
        cite_last=node.cite_last,
        label=_label_field(node, where),
        orders=node.orders,
        code=tuple(_callable(one, f"{where}, code", CODE) for one in node.code),
        logprobs=node.logprobs,
        sampling=overrides,
    )


def _label_field(node: StageSettings, where: str) -> str:
    """The field that holds the emotion; "" for a stage that writes its whole reply."""
    if node.reads == "reply":
        return ""
    output = None if node.output == TEXT or node.function else _output_class(node.output, where)
    fields = output.model_json_schema()["properties"] if output else {}
    found = next((name for name, field in fields.items() if field.get("x-choice") == "emotion"), "")
    if not found:
        what = "reads: labels needs an output with an emotion, which a model chooses"
        raise ConfigError(what, where=where, hint="output: mmerg.systems.baselines.schemas.Label, or reads: reply")
    return found


def _auditor(node: AuditorSettings, stages: Mapping[str, StageSettings], where: str) -> Stage:
    if node.name in stages:
        raise ConfigError(f"the auditor has the name of a stage, {node.name}", where=where)
    as_stage = StageSettings(
        sees=node.sees, gives="audit", output=node.output or TEXT, function=node.function, sampling=node.sampling
    )
    auditor = _stage(node.name, as_stage, f"{where}, auditor")
    checked = tuple(name for name, stage in stages.items() if stage.form)
    output = auditor.output if node.output else audit_class(checked)
    return replace(auditor, output=output, audits=checked)


def _callable(node: str | ClassSpec, where: str, hint: str) -> Callable[..., Any]:
    """The function that a dotted name or `_target_` gives. Raises ConfigError if it cannot be called."""
    thing = import_name(node, where, hint) if isinstance(node, str) else instantiate(node, where)
    if not callable(thing):
        name = node if isinstance(node, str) else node.target
        raise ConfigError(f"{name} cannot be called", where=where, hint=hint)
    return cast(Callable[..., Any], thing)


def _output_class(dotted: str, where: str) -> type[BaseModel]:
    output = import_name(dotted, f"{where}, output", "name a pydantic class, or text")
    if not (isinstance(output, type) and issubclass(output, BaseModel) and output.model_fields):
        raise ConfigError(f"output {dotted!r} is not a pydantic class with fields", where=where)
    if issubclass(output, RootModel):
        hint = "a class with a field that holds it"
        raise ConfigError(f"output {dotted!r} is a RootModel, which has no fields of its own", where=where, hint=hint)
    return output


def _check_sources(node: SystemSettings, given: Collection[str], where: str) -> None:
    """Refuses a source for a symbol that no agent sees, unless an agent is excluded."""
    symbols = {symbol for stage in node.stages.values() for symbol in stage.sees}
    symbols |= set(node.auditor.sees) if node.auditor else set()
    for symbol in given:
        if symbol not in (MEMORY, *symbols):
            near = [one for one in sorted(symbols) if get_close_matches(symbol.lower(), [one.lower()])]
            hint = f"did you mean sources.{near[0]}?" if near else f"stages see {', '.join(sorted(symbols))}"
            raise ConfigError(f"sources.{symbol} is set, but no stage sees {symbol}", where=where, hint=hint)
