"""A system, built from its settings: with ablations, imported classes and prompts, and a check that all parts fit.

The ablations are those of MERG (arXiv 2604.18988): without one of MPA, CAEF, PSP and GRA; and the independent
organisation, in which no stage sees the output of another. An auditor always sees what it audits.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import LOOPS, TEXT, AuditorSettings, StageSettings, SystemSettings
from mmerg.storage.files import locate
from mmerg.systems.audit import Check, make_audit_class
from mmerg.systems.check import check_system
from mmerg.systems.instantiate import import_name, instantiate
from mmerg.systems.system import Stage, System

COMMON = Path(__file__).parent / "common"
MEMORY = "M"  # conf/config.yaml sets this source for every system, even if no stage sees it
CALLABLE = "a function's dotted name or a _target_, see docs/extend.md"


def build_system(settings: SystemSettings, sources: Collection[str] = (), group: str = "system") -> System:
    """Builds the system that the settings describe. sources: the symbols of its sources. Raises ConfigError if the
    settings are wrong; its place names `group` and the system."""
    where = f"{group}={settings.name}"
    if settings.equal_tokens:
        what = "system.equal_tokens works only in mmerg run, which computes the number of candidates from finished runs"
        raise ConfigError(what, where=where, hint="use system.equal_tokens=null system.n=10, or system=best_of_n")
    _check_sources(settings, sources, where)
    settings = _ablate(settings, where)
    auditor, loop = settings.auditor, settings.loop
    system = System(
        name=settings.name,
        prompts=(*(locate(folder, f"set prompts in {where}", "folder") for folder in settings.prompts), COMMON),
        stages=tuple(_build_stage(name, stage, f"{where}, stage {name}") for name, stage in settings.stages.items()),
        auditor=_build_auditor(auditor, settings.stages, where) if auditor else None,
        max_iterations=settings.max_iterations,
        max_repairs=settings.max_repairs,
        vocabulary={key: tuple(words) for key, words in settings.vocabulary.items()},
        result=settings.result,
        final_selection=settings.final_selection,
        retain=settings.retain,
        rerun_temperature=settings.rerun_temperature,
        loop=loop if isinstance(loop, str) and loop in LOOPS else _import_callable(loop, f"{where}, loop"),
        stop=auditor.stop if auditor else "",
        score=auditor.score if auditor else "",
        n=settings.n,
        label_order=settings.label_order,
        rerun=settings.rerun,
        max_views=settings.max_views,
        rerun_views=settings.rerun_views,
    )
    check_system(system, auditor, sources, where)
    return system


def _build_stage(name: str, settings: StageSettings, where: str) -> Stage:
    overrides = settings.sampling.plain()
    if settings.function and (overrides or settings.logprobs):
        what = "sampling" if overrides else "logprobs"
        raise ConfigError(f"{what} has no effect on a stage that {settings.function.target} answers", where=where)
    return Stage(
        name=name,
        gives=settings.gives,
        sees=tuple(settings.sees),
        output=None if settings.output == TEXT else _import_output(settings.output, where),
        function=_import_callable(settings.function, f"{where}, function") if settings.function else None,
        check=settings.check,
        verdict=Check(form=settings.form),
        cite_last=settings.cite_last,
        label=_find_label_field(settings, where),
        orders=settings.orders,
        code=tuple(_import_callable(check, f"{where}, code") for check in settings.code),
        logprobs=settings.logprobs,
        sampling=overrides,
    )


def _find_label_field(settings: StageSettings, where: str) -> str:
    """Returns the field whose emotion is read from label probabilities; "" if the model writes all fields."""
    if settings.reads == "completion":
        return ""
    output = None if settings.output == TEXT or settings.function else _import_output(settings.output, where)
    fields = output.model_json_schema()["properties"] if output else {}
    label = next((name for name, field in fields.items() if field.get("x-choice") == "emotion"), "")
    if not label:
        what = "reads: labels needs an output with an emotion, which a model chooses"
        raise ConfigError(what, where=where, hint="set output: mmerg.systems.baselines.schemas.Label, or remove reads")
    return label


def _build_auditor(settings: AuditorSettings, stages: Mapping[str, StageSettings], where: str) -> Stage:
    as_stage = StageSettings(
        sees=settings.sees,
        gives="audit",
        output=settings.output or TEXT,
        function=settings.function,
        sampling=settings.sampling,
    )
    auditor = _build_stage(settings.name, as_stage, f"{where}, auditor")
    checked = tuple(name for name, stage in stages.items() if stage.form)
    output = auditor.output if settings.output else make_audit_class(checked)
    return replace(auditor, output=output, audits=checked)


def _import_callable(spec: str | ClassSpec, where: str) -> Callable[..., Any]:
    """Returns the object at a dotted name or `_target_`. Raises ConfigError if it cannot be imported or called."""
    imported = import_name(spec, where, CALLABLE) if isinstance(spec, str) else instantiate(spec, where)
    if not callable(imported):
        name = spec if isinstance(spec, str) else spec.target
        raise ConfigError(f"{name} cannot be called", where=where, hint=CALLABLE)
    return cast(Callable[..., Any], imported)


def _import_output(dotted: str, where: str) -> type[BaseModel]:
    output = import_name(dotted, f"{where}, output", "name a pydantic class, or text")
    if isinstance(output, type) and issubclass(output, BaseModel):
        return output
    raise ConfigError(f"output {dotted!r} is not a pydantic class", where=where)


def _ablate(settings: SystemSettings, where: str) -> SystemSettings:
    """Returns the settings without the agents in `without`. No other agent sees their outputs. Raises ConfigError for
    an unknown agent, if a stage would have no input, and if no stage would write the response."""
    without, auditor, place = settings.without, settings.auditor, f"{where}, system.without"
    agents = [*settings.stages, *([auditor.name] if auditor else [])]
    if unknown := [name for name in without if name not in agents]:
        hint = f"{did_you_mean(unknown[0], agents)} its agents: {', '.join(agents)}".strip()
        raise ConfigError(f"{', '.join(unknown)} is not an agent of this system", where=place, hint=hint)
    removed = {stage.gives: name for name, stage in settings.stages.items() if name in without}
    hidden = set(removed)
    if settings.organization == "independent":
        hidden = {stage.gives for stage in settings.stages.values()}
    stages = {}
    for name, stage in settings.stages.items():
        if name in without:
            continue
        sees = [symbol for symbol in stage.sees if symbol not in hidden]
        if not sees:
            what = f"stage {name} would have no input: it sees only {', '.join(stage.sees)}"
            raise ConfigError(what, where=f"{place} and system.organization")
        stages[name] = stage.model_copy(update={"sees": sees})
    if writer := removed.get(settings.result.get("response", "").split(".")[0]):
        raise ConfigError(f"without {writer} no stage writes the response", where=place)
    if auditor:
        remaining = [symbol for symbol in auditor.sees if symbol not in removed]
        auditor = None if auditor.name in without else auditor.model_copy(update={"sees": remaining})
    result = {key: path for key, path in settings.result.items() if path.split(".")[0] not in removed}
    return settings.model_copy(update={"stages": stages, "auditor": auditor, "result": result})


def _check_sources(settings: SystemSettings, sources: Collection[str], where: str) -> None:
    """Raises ConfigError for a source that no agent sees, not even one that an ablation removes."""
    symbols = {symbol for stage in settings.stages.values() for symbol in stage.sees}
    symbols |= set(settings.auditor.sees) if settings.auditor else set()
    for symbol in sources:
        if symbol not in (MEMORY, *symbols):
            hint = f"stages see {', '.join(sorted(symbols))}"
            raise ConfigError(f"sources.{symbol} is set, but no stage sees {symbol}", where=where, hint=hint)
