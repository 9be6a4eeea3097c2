"""The measurement of a finished run's checks, from its folder to an exit code; `mmerg/audit.py` is the command.

Steps: the run's settings and system, its finished samples, the hosts, samples in parallel, scores.
"""

import os
import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from mmerg.auditing.calibrate import choose_checks, measure_auditor
from mmerg.auditing.faults import KINDS, Auditing, SampleAudit
from mmerg.auditing.first_passes import AGAIN, FirstPasses, find_dialogues
from mmerg.auditing.planted import PLANTED, PlantedFaults, compute_aucs, compute_checks
from mmerg.auditing.worth import measure_worth
from mmerg.backends.pool import Pool
from mmerg.backends.protocol import make_engine_error
from mmerg.checking import probes
from mmerg.console.progress import Progress
from mmerg.console.terminal import console, escape
from mmerg.engine.parallel import run_in_threads
from mmerg.engine.prompts import Prompts
from mmerg.errors import CallError, ConfigError, RunError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.plan import plan_prompts
from mmerg.runs.auditor import Auditor, read_kept, update_auditor
from mmerg.runs.config_diff import describe_changes
from mmerg.runs.folder import read_results
from mmerg.runs.identity import CORPUS, replace_runtime_settings
from mmerg.runs.manifest import Manifest, RunRef, read_manifest
from mmerg.scoring.score import results_digest
from mmerg.settings.model import FORMS, Form, RunSettings
from mmerg.storage.files import describe_error
from mmerg.storage.record import write_record
from mmerg.systems.audit import Check
from mmerg.systems.check import find_form_problem
from mmerg.systems.system import FINDING, Stage, System

DECOYS = 2  # dialogues with the outputs that form=comparison compares with


def launch(
    run: Path,
    *,
    n: int,
    seed: int,
    forms: Sequence[Form] = FORMS,
    kinds: Sequence[str] = KINDS,
    hosts: Sequence[str] = (),
    calibrate: Path | None = None,
) -> int:
    """Measures the checks of a run on `n` samples, drawn with the seed, and writes the scores to the run folder, and
    the chosen auditor to `calibrate`. hosts: replace those of the run. Returns 0, or 1 if calls failed for some
    samples. Raises MmergError if the run, an option or the server cannot be used."""
    if n < 1 or seed < 0:
        raise ConfigError("n must be 1 or more, and seed 0 or more", where=f"--n {n} --seed {seed}")
    manifest, results = read_manifest(run), read_results(run)
    settings = restore_settings(run, manifest, hosts)
    auditor = _find_auditor(run, plan_prompts(settings), manifest)
    prompts, backbone = _plan_findings(settings), BackbonePlan.from_settings(settings)
    digests = prompts.compute_check_digests()
    if calibrate:
        read_kept(calibrate, manifest.engine, digests, {"checks"})
    dialogues = find_dialogues(run, results)
    samples = sorted(dialogues)
    random.Random(seed).shuffle(samples)  # so that a larger n includes the samples of a smaller one
    decoys = _choose_decoys(samples, dialogues) if "comparison" in forms else set[str]()
    chosen = [sample for sample in samples if dialogues[sample] not in decoys][:n]
    passes = FirstPasses(run, prompts.system, dialogues, decoys)
    stages = [
        replace(stage, verdict=Check(decoys=passes.read_decoys(stage) if decoys else ()))
        for stage in prompts.system.stages
    ]
    out = console()
    with closing(_open_pool(run, backbone, manifest)) as pool:
        forms = _select_supported(forms, pool, out)
        stage_forms = {stage.name: _find_possible_forms(prompts, stage, forms) for stage in stages}
        sampling = backbone.sampling(settings.seed)
        auditing = Auditing(passes, results, stages, stage_forms, kinds, seed, prompts, sampling)
        audits = _audit_samples(auditing, chosen, pool, out)
    failed = [audit for audit in audits if audit.status == "failed"]
    if len(failed) == len(audits):
        raise RunError(f"a call failed for every sample, first {failed[0].failure_text}", where=str(run))
    cases = [case for audit in sorted(audits, key=lambda audit: audit.id) for case in audit.cases]
    aucs = compute_aucs(cases, stage_forms, seed)
    if not aucs:
        what = "no form measures one of the faults, or each stage gave the same output, or emotion, in every dialogue"
        raise RunError(what, where=str(run), hint="give more --forms and --faults, or use a run of more dialogues")
    checks, wholes = compute_checks(cases, stage_forms, seed)
    planted = PlantedFaults(
        run=RunRef(run, manifest).run,
        auditor=auditor.name,
        seed=seed,
        failed=len(failed),
        aucs=aucs,
        checks=checks,
        wholes=wholes,
        worth=measure_worth(run, results.values(), prompts.system.result.get("emotion", "")),
        cases=tuple(cases),
        identity=manifest.identity,
        results=results_digest(results.values()),
    )
    write_record(run / PLANTED, planted)
    out.print(escape(planted.summary))
    for table in planted.tables():
        out.print(table)
    out.print(escape(planted.worth.describe()))
    if calibrate:
        checks = choose_checks(cases, prompts.system, stages, stage_forms, seed)
        auditor_file = update_auditor(
            calibrate,
            manifest.engine,
            digests,
            run=planted.run,
            dialogues=len({case.dialogue for case in cases}),
            seed=seed,
            fingerprint=manifest.identity[CORPUS],
            checks=checks,
        )
        _print_auditor(out, auditor_file, planted, prompts.system)
        out.print(escape(str(calibrate)), soft_wrap=True)
    if failed:
        first = failed[0]
        out.print(escape(f"the same command retries samples that failed, first {first.id}: {first.failure_text}"))
    out.print(escape(str(run / PLANTED)), soft_wrap=True)
    return 1 if failed else 0


def _print_auditor(out: Console, auditor: Auditor, planted: PlantedFaults, system: System) -> None:
    """Prints the chosen checks, and what they are worth together."""
    out.print(escape(auditor.describe()))
    if auditor.checked and (together := measure_auditor(planted.cases, auditor.checks, auditor.seed)):
        out.print(f"with these checks: F1 {together.f1:.2f}, {together.blamed.value:.2f} of faults blamed")
    emotion = system.result_symbol("emotion")
    forecast = next((auditor.checks[stage.name] for stage in system.stages if stage.gives == emotion), None)
    if forecast and forecast.form:
        out.print(escape(f"with this check of the forecast: {planted.worth.describe(forecast)}"))


def _audit_samples(auditing: Auditing, samples: Sequence[str], pool: Pool, out: Console) -> list[SampleAudit]:
    progress = Progress(out, len(samples), kept=0)
    audits: list[SampleAudit] = []

    def audit(sample: str) -> SampleAudit:
        with pool.lease() as backend:
            return auditing.audit_sample(sample, backend, progress.event)

    with progress:
        for result in run_in_threads(samples, audit, pool.slots, pool.close):
            progress.result(result)
            audits.append(result)
    return audits


def _plan_findings(settings: RunSettings) -> Prompts:
    """Builds the prompts of the system in which every check is a finding of the auditor, whatever forms the run had."""
    prompts = plan_prompts(settings.model_copy(update={"auditor": None}))
    system = prompts.system
    stages = tuple(
        stage if find_form_problem(system, stage, "finding") else replace(stage, verdict=FINDING)
        for stage in system.stages
    )
    return Prompts(replace(system, stages=stages), settings.dataset.emotion_of)


def _choose_decoys(samples: Sequence[str], dialogues: Mapping[str, str]) -> set[str]:
    """Chooses the last dialogues in the shuffled order of samples; none if too few others would remain."""
    names = list(dict.fromkeys(dialogues[sample] for sample in samples))
    return set(names[-DECOYS:]) if len(names) >= 2 * DECOYS else set()


def _select_supported(forms: Sequence[Form], pool: Pool, out: Console) -> list[Form]:
    """Selects the forms that the server supports, the cheapest first. Prints those whose log-probabilities it lacks."""
    with pool.lease() as backend:
        likelihood = probes.check_likelihood(backend)
        logprobs = probes.check_logprobs(backend)
    probed = {"likelihood": likelihood, "odds": logprobs, "comparison": logprobs}
    problems = {form: text for form, (status, text) in probed.items() if status != "ok"}
    for form in forms:
        if form in problems:
            out.print(escape(f"form {form} is skipped: {problems[form]}"))
    return [form for form in FORMS if form in forms and form not in problems]


def _find_possible_forms(prompts: Prompts, stage: Stage, forms: Sequence[Form]) -> list[Form]:
    auditor = prompts.system.auditor
    has_findings = auditor is not None and prompts.has_template(f"{auditor.name}.j2")
    possible = [form for form in forms if not find_form_problem(prompts.system, stage, form)]
    return [form for form in possible if form != "finding" or has_findings]


def restore_settings(run: Path, manifest: Manifest, hosts: Sequence[str] = ()) -> RunSettings:
    """Returns the settings of the run as it was last started, but with the completion cache on, as that has the run's
    audits. hosts: replace those of the run, if given. Raises RunError if the settings are of another version."""
    how = manifest.sessions[-1].how if manifest.sessions else {}
    try:
        settings = RunSettings.model_validate(replace_runtime_settings(manifest.settings, how))
    except ValidationError as error:
        what = f"the run's settings are of another version: {describe_error(error)}"
        raise RunError(what, where=str(run), hint=AGAIN) from error
    backend = settings.backend.model_copy(update={"hosts": tuple(hosts) or settings.backend.hosts})
    cache_dir = Path(settings.cache_dir)
    if not cache_dir.is_absolute():  # relative to the same folder as `runs`, which contains the run folder
        cache_dir = run.resolve().parent / os.path.relpath(cache_dir, settings.runs)
    return settings.model_copy(update={"cache": "on", "cache_dir": str(cache_dir), "backend": backend})


def _find_auditor(run: Path, prompts: Prompts, manifest: Manifest) -> Stage:
    """Finds the stage that audits. Raises RunError if no stage checks others, or templates or classes have changed."""
    system, auditor = prompts.system, prompts.system.auditor
    if auditor is None and (file := manifest.setting("auditor")):
        what = f"the run has no audit loop: {file} leaves no stage a check"
        raise RunError(what, where=str(run), hint=f"use the run that {file} was calibrated on")
    if auditor is None or manifest.setting("system.auditor.output"):
        why_not = f"{auditor.name} gives feedback and checks no stage" if auditor else "it has no auditor"
        what = f"system={system.name} cannot be audited: {why_not}"
        raise RunError(what, where=str(run), hint="use a run of a system that audits its stages, such as merg")
    digests = prompts.compute_digests()
    if changed := describe_changes(manifest, manifest.model_copy(update={"identity": manifest.identity | digests})):
        what = f"the run's system has changed since the run: {'; '.join(changed)}"
        folders = ", ".join(map(str, system.prompts))
        raise RunError(what, where=str(run), hint=f"restore them ({folders}), or run again with the new ones")
    return auditor


def _open_pool(run: Path, backbone: BackbonePlan, manifest: Manifest) -> Pool:
    """Connects to the hosts of the run. Raises CallError if none responds, or one serves another engine."""
    try:
        pool, engine = backbone.open()
    except CallError as error:
        error.hint = "start the server of the run's model, or name another: --host http://HOST:11434"
        raise
    if engine.key() != manifest.engine.key():
        pool.close()
        raise make_engine_error(manifest.engine, engine, str(run))
    return pool
