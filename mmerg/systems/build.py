"""Builds a system from its settings: applies ablations, imports classes, finds prompts, and checks that all parts fit.

Ablations are MERG's (arXiv 2604.18988): without one of MPA, CAEF, PSP, GRA; and the independent organisation, in which
no stage sees another's output. An auditor always sees what it audits.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, RootModel

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import LOOPS, TEXT, AuditorSettings, StageSettings, SystemSettings
from mmerg.storage.files import locate_folder
from mmerg.systems.audit import Check, audit_class
from mmerg.systems.check import check_system
from mmerg.systems.instantiate import import_name, instantiate
from mmerg.systems.system import Stage, System

COMMON = Path(__file__).parent / "common"
MEMORY = "M"  # conf/config.yaml sets it for every system, whether a stage sees it or not
CALLABLE = "a function's dotted name or a _target_, see docs/extend.md"


def build_system(node: SystemSettings, given: Collection[str] = (), group: str = "system") -> System:
    """The system that the settings describe. given: symbols of sources. Raises ConfigError, naming `group` and the
    system."""
    where = f"{group}={node.name}"
    if node.equal_tokens:
        what = "it works in mmerg run only, which reads from finished runs how many candidates cost equal tokens"
        raise ConfigError(what, where=where, hint="system.equal_tokens=null system.n=10, or system=best_of_n")
    _check_sources(node, given, where)
    node = _ablate(node, where)
    auditor = node.auditor
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
        else _import_callable(node.loop, f"{where}, loop"),
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
        function=_import_callable(node.function, f"{where}, function") if node.function else None,
        check=node.check,
        verdict=Check(form=node.form),
        cite_last=node.cite_last,
        label=_label_field(node, where),
        orders=node.orders,
        code=tuple(_import_callable(one, f"{where}, code") for one in node.code),
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


def _import_callable(node: str | ClassSpec, where: str) -> Callable[..., Any]:
    """Raises ConfigError if the object at a dotted name or `_target_` cannot be called."""
    thing = import_name(node, where, CALLABLE) if isinstance(node, str) else instantiate(node, where)
    if not callable(thing):
        name = node if isinstance(node, str) else node.target
        raise ConfigError(f"{name} cannot be called", where=where, hint=CALLABLE)
    return cast(Callable[..., Any], thing)


def _output_class(dotted: str, where: str) -> type[BaseModel]:
    output = import_name(dotted, f"{where}, output", "name a pydantic class, or text")
    if (
        isinstance(output, type)
        and issubclass(output, BaseModel)
        and not issubclass(output, RootModel)
        and output.model_fields
    ):
        return output
    raise ConfigError(f"output {dotted!r} is not a pydantic class with fields", where=where)


def _ablate(node: SystemSettings, where: str) -> SystemSettings:
    """The settings without the agents in `without`, whose outputs no other agent sees.

    Raises ConfigError for an unknown agent, and if no stage, no input or no response would remain.
    """
    without, auditor, place = node.without, node.auditor, f"{where}, system.without"
    agents = [*node.stages, *([auditor.name] if auditor else [])]
    if unknown := [name for name in without if name not in agents]:
        hint = f"{did_you_mean(unknown[0], agents)} its agents: {', '.join(agents)}".strip()
        raise ConfigError(f"{', '.join(unknown)} is no agent of this system", where=place, hint=hint)
    removed = {stage.gives: name for name, stage in node.stages.items() if name in without}
    hidden = {stage.gives for stage in node.stages.values()} if node.organization == "independent" else removed.keys()
    stages = {}
    for name, stage in node.stages.items():
        if name in without:
            continue
        sees = [symbol for symbol in stage.sees if symbol not in hidden]
        if not sees:
            what = f"stage {name} would have no input: it sees only {', '.join(stage.sees)}"
            raise ConfigError(what, where=f"{place} and system.organization")
        stages[name] = stage.model_copy(update={"sees": sees})
    if writer := removed.get(node.result.get("response", "").split(".")[0]):
        raise ConfigError(f"without {writer} no stage writes the response", where=place)
    if auditor:
        sees = [symbol for symbol in auditor.sees if symbol not in removed]
        auditor = None if auditor.name in without else auditor.model_copy(update={"sees": sees})
    result = {key: path for key, path in node.result.items() if path.split(".")[0] not in removed}
    return node.model_copy(update={"stages": stages, "auditor": auditor, "result": result})


def _check_sources(node: SystemSettings, given: Collection[str], where: str) -> None:
    """Raises ConfigError for a source that no agent sees, removed agents included."""
    symbols = {symbol for stage in node.stages.values() for symbol in stage.sees}
    symbols |= set(node.auditor.sees) if node.auditor else set()
    for symbol in given:
        if symbol not in (MEMORY, *symbols):
            hint = f"stages see {', '.join(sorted(symbols))}"
            raise ConfigError(f"sources.{symbol} is set, but no stage sees {symbol}", where=where, hint=hint)
