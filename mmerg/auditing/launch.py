"""Measures the checks of a finished run, from its folder to an exit code; `mmerg/audit.py` is the command.

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

from mmerg.auditing.calibrate import choose, whole
from mmerg.auditing.faults import KINDS, Auditing, Audits
from mmerg.auditing.first_passes import AGAIN, FirstPasses, finished
from mmerg.auditing.planted import PLANTED, Planted, compute_aucs, compute_checks
from mmerg.auditing.worth import measure_worth
from mmerg.backends.pool import Pool
from mmerg.backends.protocol import engine_changed
from mmerg.checking import probes
from mmerg.console.progress import Progress
from mmerg.console.terminal import console, escape
from mmerg.engine.parallel import run_in_threads
from mmerg.engine.prompts import Prompts
from mmerg.errors import CallError, ConfigError, RunError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.plan import plan_prompts
from mmerg.runs.auditor import update_auditor
from mmerg.runs.config_diff import changes
from mmerg.runs.folder import read_results
from mmerg.runs.identity import CORPUS, with_runtime_settings
from mmerg.runs.manifest import Manifest, RunRef, read_manifest
from mmerg.scoring.score import results_digest
from mmerg.settings.model import FORMS, Form, RunSettings
from mmerg.storage.files import describe_error
from mmerg.storage.record import write_record
from mmerg.systems.audit import Check
from mmerg.systems.check import form_problem
from mmerg.systems.system import FINDING, Stage

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
    """Audits `n` samples, drawn with the seed, and writes the scores; with `calibrate`, also writes the chosen auditor
    to that file. Returns 0, or 1 if calls failed for some samples. Raises MmergError if the run, an option or the
    server cannot be used."""
    if n < 1 or seed < 0:
        raise ConfigError("n must be 1 or more, and seed 0 or more", where=f"--n {n} --seed {seed}")
    manifest, results = read_manifest(run), read_results(run)
    settings = restore_settings(run, manifest, hosts)
    auditor = _auditor(run, plan_prompts(settings), manifest)
    dialogues = finished(run, results)
    samples = sorted(dialogues)
    random.Random(seed).shuffle(samples)  # so that a larger n includes the samples of a smaller one
    decoys = _decoys(samples, dialogues) if "comparison" in forms else set[str]()
    chosen = [sample for sample in samples if dialogues[sample] not in decoys][:n]
    prompts, backbone = _measuring(settings), BackbonePlan.of(settings)
    passes = FirstPasses(run, prompts.system, dialogues, decoys)
    measured = [
        replace(stage, verdict=Check(decoys=passes.decoy_outputs(stage) if decoys else ()))
        for stage in prompts.system.stages
    ]
    out = console()
    with closing(_pool(run, backbone, manifest)) as pool:
        forms = _usable(forms, pool, out)
        of_stage = {stage.name: _possible(prompts, stage, forms) for stage in measured}
        sampling = backbone.sampling(settings.seed)
        auditing = Auditing(passes, results, measured, of_stage, kinds, seed, prompts, sampling)
        audits = _audit(auditing, chosen, pool, out)
    failed = [one for one in audits if one.status == "failed"]
    if len(failed) == len(audits):
        raise RunError(f"a call failed for every sample, first {failed[0].failure_text}", where=str(run))
    cases = [case for one in sorted(audits, key=lambda one: one.id) for case in one.cases]
    aucs = compute_aucs(cases, of_stage, seed)
    if not aucs:
        what = "there is no fault to measure: each stage gave the same output, or emotion, in every dialogue"
        raise RunError(what, where=str(run), hint="use a run of more dialogues")
    checks, wholes = compute_checks(cases, of_stage, seed)
    planted = Planted(
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
    out.print(escape(planted.counted))
    for table in planted.tables():
        out.print(table)
    out.print(escape(planted.worth.describe()))
    if calibrate:
        checks = {stage.name: choose(cases, stage, of_stage[stage.name], seed) for stage in measured}
        auditor_file = update_auditor(
            calibrate,
            manifest.engine,
            prompts.check_digests(),
            run=planted.run,
            dialogues=len({case.dialogue for case in cases}),
            seed=seed,
            fingerprint=manifest.identity[CORPUS],
            checks=checks,
        )
        out.print(escape(auditor_file.describe()))
        if together := whole(cases, checks, seed):
            out.print(f"with these checks: F1 {together.f1:.2f}, {together.blamed.value:.2f} of faults blamed")
        emotion = prompts.system.result_symbol("emotion")
        if forecast := next((checks[stage.name] for stage in measured if stage.gives == emotion), None):
            out.print(escape(f"with this check of the forecast: {planted.worth.describe(forecast)}"))
        out.print(escape(str(calibrate)), soft_wrap=True)
    for one in failed[:1]:
        out.print(escape(f"the same command retries samples that failed, first {one.id}: {one.failure_text}"))
    out.print(escape(str(run / PLANTED)), soft_wrap=True)
    return 1 if failed else 0


def _audit(auditing: Auditing, samples: Sequence[str], pool: Pool, out: Console) -> list[Audits]:
    """The audits of several samples, in parallel in the slots of the pool."""
    progress, audits = Progress(out, len(samples), kept=0), []

    def audited(sample: str) -> Audits:
        with pool.lease() as backend:
            return auditing.sample(sample, backend, progress.event)

    with progress:
        for one in run_in_threads(samples, audited, pool.slots, pool.close):
            progress.result(one)
            audits.append(one)
    return audits


def _measuring(settings: RunSettings) -> Prompts:
    """The system with every check as a finding of its auditor, whatever forms the run had."""
    prompts = plan_prompts(settings.model_copy(update={"auditor": None}))
    system = prompts.system
    stages = tuple(
        stage if form_problem(system, stage, "finding") else replace(stage, verdict=FINDING) for stage in system.stages
    )
    return Prompts(replace(system, stages=stages), settings.dataset.emotion_of)


def _decoys(samples: Sequence[str], dialogues: Mapping[str, str]) -> set[str]:
    """The last dialogues of the drawn order; none if too few would be left."""
    names = list(dict.fromkeys(dialogues[sample] for sample in samples))
    return set(names[-DECOYS:]) if len(names) >= 2 * DECOYS else set()


def _usable(forms: Sequence[Form], pool: Pool, out: Console) -> list[Form]:
    """The forms for which the server has log-probabilities; prints the others."""
    with pool.lease() as backend:
        likely, given = (probe(backend) for probe in (probes.likelihood, probes.logprobs))
    lacking = {"likelihood": likely, "odds": given, "comparison": given}
    for form in [form for form in forms if form in lacking and lacking[form][0] != "ok"]:
        out.print(escape(f"form {form} is skipped: {lacking[form][1]}"))
    return [form for form in FORMS if form in forms and lacking.get(form, ("ok", ""))[0] == "ok"]


def _possible(prompts: Prompts, stage: Stage, forms: Sequence[Form]) -> list[Form]:
    """The forms that a stage's check can have."""
    finds = prompts.has_template(f"{prompts.system.auditor.name}.j2") if prompts.system.auditor else False
    able = [form for form in forms if not form_problem(prompts.system, stage, form)]
    return [form for form in able if form != "finding" or finds]


def restore_settings(run: Path, manifest: Manifest, hosts: Sequence[str] = ()) -> RunSettings:
    """The settings of the run as last started, with `hosts` if given, and with the reply cache, which has the run's own
    audits. Raises RunError if they are of another version."""
    how = manifest.sessions[-1].how if manifest.sessions else {}
    try:
        settings = RunSettings.model_validate(with_runtime_settings(manifest.settings, how))
    except ValidationError as error:
        what = f"the run's settings are of another version: {describe_error(error)}"
        raise RunError(what, where=str(run), hint=AGAIN) from error
    backend = settings.backend.model_copy(update={"hosts": tuple(hosts) or settings.backend.hosts})
    cache_dir = Path(settings.cache_dir)
    if not cache_dir.is_absolute():  # relative, as typed; so is `runs`, which contains the run folder
        cache_dir = run.resolve().parent / os.path.relpath(cache_dir, settings.runs)
    return settings.model_copy(update={"cache": "on", "cache_dir": str(cache_dir), "backend": backend})


def _auditor(run: Path, prompts: Prompts, manifest: Manifest) -> Stage:
    """The stage that audits. Raises RunError if no stage checks others, or templates or classes have changed."""
    system, auditor = prompts.system, prompts.system.auditor
    if auditor is None or manifest.setting("system.auditor.output"):
        why_not = f"{auditor.name} gives feedback and checks no stage" if auditor else "it has no auditor"
        what = f"system={system.name} cannot be audited: {why_not}"
        raise RunError(what, where=str(run), hint="use a run of a system that audits its stages, such as merg")
    digests = prompts.digests()
    if changed := changes(manifest, manifest.model_copy(update={"identity": manifest.identity | digests})):
        what = f"the run's system has changed since the run: {'; '.join(changed)}"
        folders = ", ".join(map(str, system.prompts))
        raise RunError(what, where=str(run), hint=f"restore them ({folders}), or run again with the new ones")
    return auditor


def _pool(run: Path, backbone: BackbonePlan, manifest: Manifest) -> Pool:
    """The hosts of the run. Raises CallError if none answers, or another engine does."""
    try:
        pool, engine = backbone.open()
    except CallError as error:
        error.hint = "start the server of the run's model, or name another: --host http://HOST:11434"
        raise
    if engine.key() != manifest.engine.key():
        pool.close()
        raise engine_changed(manifest.engine, engine, str(run))
    return pool
