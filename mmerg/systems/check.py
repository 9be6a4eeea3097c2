"""The check that the parts of a system fit together: loop, auditor, inputs, vocabularies and results."""

from collections.abc import Collection

from mmerg.errors import ConfigError
from mmerg.settings.model import AuditorSettings, Form
from mmerg.systems.schema import find_vocabularies
from mmerg.systems.system import Stage, System

ALWAYS = {"D", "V"}  # inputs of every sample
RESULTS = ("response", "emotion", "plan")


def check_system(system: System, auditor: AuditorSettings | None, sources: Collection[str], where: str) -> None:
    """Raises ConfigError, naming `where`, for the first mismatch. sources: their symbols."""
    if auditor:  # without an auditor, every built-in loop is one pass
        _check_loop(system, auditor, where)
    _check_candidates(system, where)
    _check_idle_settings(system, where)
    _check_inputs(system, {*ALWAYS, *sources}, where)
    _check_results(system, where)


def _check_loop(system: System, settings: AuditorSettings, where: str) -> None:
    if system.loop in ("single", "candidates"):
        what = f"loop={system.loop} never asks the auditor"
        raise ConfigError(what, where=where, hint="set auditor: null, or loop: audit")
    place = f"{where}, auditor"
    if system.loop == "audit" and (settings.output or settings.stop or settings.score):
        what = "in loop=audit the auditor answers the stages' checks and has no output, stop or score"
        raise ConfigError(what, where=place, hint="remove them, or set loop: refine")
    if settings.output is None:
        for stage in system.checked_stages:
            if problem := find_form_problem(system, stage, stage.verdict.form):
                raise ConfigError(problem[0], where=place, hint=problem[1])
    if system.loop != "refine":
        return
    if settings.output is None:
        what = "loop=refine needs an auditor with an output, which is the feedback"
        raise ConfigError(what, where=place, hint="set output: text, or a class")
    output = system.auditor.output if system.auditor else None
    for setting, name in (("stop", settings.stop), ("score", settings.score)):
        if name and not (output and (name in output.model_fields or isinstance(getattr(output, name, None), property))):
            what = f"{setting} is {name}, which the auditor's output does not have"
            hint = f"fields: {', '.join(output.model_fields)}" if output else "give it a class as output"
            raise ConfigError(what, where=where, hint=hint)


def find_form_problem(system: System, stage: Stage, form: Form | None) -> tuple[str, str] | None:
    """Returns why the check of a stage cannot have this form, and what to do; None if it can."""
    setting = f"system.stages.{stage.name}"
    if form in ("finding", "odds", "comparison"):
        if system.auditor and stage.gives not in system.auditor.sees:
            what = f"the auditor checks {stage.name}, but does not see its output {stage.gives}"
            return what, f"add {stage.gives} to system.auditor.sees"
        if not stage.check:
            hint = f"set {setting}.check: what the check asks, and where that fails"
            return f"the auditor has no check for stage {stage.name}", hint
    if form == "comparison" and not stage.verdict.decoys:
        what = f"there is nothing to compare the output of {stage.name} with"
        return what, "mmerg audit RUN --calibrate auditor.json draws decoys; run with auditor=auditor.json"
    if form == "code" and not stage.code:
        return f"stage {stage.name} names no function that checks it", f"set {setting}.code, or another {setting}.form"
    if form == "likelihood" and (stage.function or stage.label):
        return f"no model writes the output of {stage.name}, so it has no likelihood", f"choose another {setting}.form"
    return None


def _check_candidates(system: System, where: str) -> None:
    symbol = system.result_symbol("response")
    if system.loop == "candidates" and not any(stage.gives == symbol and stage.logprobs for stage in system.stages):
        what = "loop=candidates selects the likeliest response, but no stage that gives it has log-probabilities"
        raise ConfigError(what, where=where, hint="set result: {response: …}, and logprobs: true at its stage")


def _check_idle_settings(system: System, where: str) -> None:
    """Checks that every setting of the loop has an effect. A user's loop may use any of them."""
    if not isinstance(system.loop, str):
        return
    audits_again = system.auditor and system.max_iterations
    what = hint = ""
    if system.n > 1 and system.loop != "candidates":
        what, hint = f"system.n={system.n} has no effect: only loop=candidates makes candidates", "use system=best_of_n"
    elif system.final_selection == "last" and not audits_again:
        what = "system.final_selection=last has no effect: no pass is audited and refined"
        hint = "use an auditor and system.max_iterations above 0"
    elif system.loop == "refine" and system.rerun == "view":
        what = "system.rerun=view has no effect in loop=refine, which shows all drafts to the stage that it reruns"
        hint = "use a system with loop=audit"
    if what:
        raise ConfigError(what, where=where, hint=f"remove it, or {hint}")


def _check_inputs(system: System, available: set[str], where: str) -> None:
    """Checks that every input comes from the sample, a source or an earlier stage, and every vocabulary has words."""
    vocabularies = {"emotion", *system.vocabulary}
    for stage in system.agents:
        if missing := [symbol for symbol in stage.sees if symbol not in available]:
            what = f"stage {stage.name} sees {', '.join(missing)}, which nothing before it gives"
            symbols = ", ".join(sorted(available))
            hint = f"it can see {symbols}; for another input, set sources.{missing[0]}={{_target_: …}}"
            raise ConfigError(what, where=where, hint=hint)
        if unknown := sorted(find_vocabularies(stage.output) - vocabularies) if stage.output else []:
            what = f"stage {stage.name} chooses from {', '.join(unknown)}, which is not a vocabulary"
            hint = f"add its words under system.vocabulary, which has {', '.join(sorted(vocabularies))}"
            raise ConfigError(what, where=where, hint=hint)
        if stage.gives in available:
            what = f"stage {stage.name} gives {stage.gives}, which the sample, a source or another stage gives"
            raise ConfigError(what, where=where, hint="choose another symbol")
        available.add(stage.gives)


def _check_results(system: System, where: str) -> None:
    """Checks that every result is in the output of a stage."""
    for key, path in system.result.items():
        symbol, _, name = path.partition(".")
        maker = next((stage for stage in system.stages if stage.gives == symbol), None)
        if key not in RESULTS:
            raise ConfigError(f"result.{key} is unknown", where=where, hint=f"use {', '.join(RESULTS)}")
        if maker is None:
            raise ConfigError(f"result.{key} is {path!r}, which no stage gives", where=where)
        fields = maker.output.model_fields if maker.output else {}
        if name and name not in fields:
            what = f"result.{key} is {path!r}, which {maker.name} does not give"
            raise ConfigError(what, where=where, hint=f"fields: {', '.join(fields)}")
        is_text = fields[name].annotation is str if name else maker.output is None
        if not is_text and (name or key != "plan"):
            raise ConfigError(f"result.{key} is {path!r}, which is not a text", where=where)
