"""Planted faults of a finished run, from its folder to an exit code; `mmerg/audit.py` is the command.

Reads top to bottom: the run's settings and system, what is finished, who answers, samples in flight, figures.
"""

import os
import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from mmerg.auditing.audits import Auditing, Audits
from mmerg.auditing.first_passes import AGAIN, FirstPasses, finished
from mmerg.auditing.planted import ALL, COLUMNS, PLANTED, Planted, figures
from mmerg.backends.pool import Pool
from mmerg.backends.protocol import changed
from mmerg.console.progress import Progress
from mmerg.console.terminal import console, escape
from mmerg.engine.parallel import in_flight
from mmerg.engine.prompts import Prompts
from mmerg.errors import CallError, ConfigError, RunError
from mmerg.experiment.wiring import answering, prompts_of, sampling_of
from mmerg.judging.tables import methods, table
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import About, Manifest, read_manifest
from mmerg.scoring.files import written
from mmerg.scoring.score import results_digest
from mmerg.settings.identity import with_runtime_settings
from mmerg.settings.model import RunSettings
from mmerg.storage.files import why
from mmerg.systems.system import Stage, System


def launch(
    run: Path, *, n: int, seed: int, stages: Sequence[str] = (), hosts: Sequence[str] = (), json: Path | None = None
) -> int:
    """Audits `n` samples, drawn with the seed, and writes what that comes to: 0 all fine, 1 calls failed for some.
    Raises MmergError where the run, an option, or who answers is not what is needed."""
    if n < 1 or seed < 0:
        raise ConfigError("n must be 1 or more, and seed 0 or more", where=f"--n {n} --seed {seed}")
    manifest = read_manifest(run)
    settings = settings_of(run, manifest, hosts)
    prompts = prompts_of(settings)
    auditor = _auditor(run, settings, prompts, manifest)
    planted_in = _planted_in(prompts.system, auditor, stages)
    results = read_results(run)
    dialogues = finished(run, manifest, results)
    samples = sorted(dialogues)
    random.Random(seed).shuffle(samples)  # so that a larger n keeps the samples of a smaller one
    passes = FirstPasses(run, prompts.system, dialogues)
    auditing = Auditing(passes, prompts, auditor, planted_in, sampling_of(settings), seed)
    out, found = console(), list[Audits]()
    progress = Progress(out, len(samples[:n]), kept=0)

    def leased(sample: str) -> Audits:
        with pool.lease() as backend:
            return auditing.sample(sample, backend, progress.event)

    with closing(_pool(run, settings, manifest)) as pool, progress:
        for one in in_flight(samples[:n], leased, pool.slots, pool.close):
            progress.result(one)
            found.append(one)
    failed = [one for one in found if one.status == "failed"]
    if len(failed) == len(found):
        raise RunError(f"a call failed for every sample, first {failed[0].failure_text}", where=str(run))
    cases = [case for one in sorted(found, key=lambda one: one.id) for case in one.cases]
    if not any(case.stage for case in cases):
        what = "there is no fault to plant: each stage gave the same output, or emotion, in every dialogue"
        raise RunError(what, where=str(run), hint="take a run of more dialogues")
    signature = f"auditor:{auditor.name}|pass:0|swap:other-dialogue|unreadable:wrong|seed:{seed}"
    planted = Planted(
        run=About(run, manifest).run,
        auditor=auditor.name,
        seed=seed,
        stages=tuple(stage.name for stage in planted_in),
        failed=len(failed),
        figures=figures(cases, [stage.name for stage in planted_in], signature),
        cases=tuple(cases),
        identity=manifest.identity,
        results=results_digest(results.values()),
    )
    for file in filter(None, (run / PLANTED, json)):
        written(file, planted)
    out.print(escape(planted.counted))
    out.print(table("planted faults, % [95 %]", planted.figures, COLUMNS, "stage"))
    for line in methods(planted.figures.get(ALL, {}).values()):
        out.print(line)
    for one in failed[:1]:
        out.print(escape(f"the same command asks again for samples that failed, first {one.id}: {one.failure_text}"))
    out.print(escape(str(run / PLANTED)), soft_wrap=True)
    return 1 if failed else 0


def settings_of(run: Path, manifest: Manifest, hosts: Sequence[str] = ()) -> RunSettings:
    """The settings of the run as it was last started, asking `hosts` where they are given, with the reply cache on: the
    audits that the run made itself are in it. Raises RunError where they are of another version."""
    how = manifest.sessions[-1].how if manifest.sessions else {}
    try:
        settings = RunSettings.model_validate(with_runtime_settings(manifest.settings, how))
    except ValidationError as error:
        raise RunError(
            f"the run's settings are of another version: {why(error)}", where=str(run), hint=AGAIN
        ) from error
    backend = settings.backend.model_copy(update={"hosts": tuple(hosts) or settings.backend.hosts})
    cache_dir = Path(settings.cache_dir)
    if not cache_dir.is_absolute():  # as it was typed, like `runs`, in which the run's folder is
        cache_dir = run.resolve().parent / os.path.relpath(cache_dir, settings.runs)
    return settings.model_copy(update={"cache": "on", "cache_dir": str(cache_dir), "backend": backend})


def _auditor(run: Path, settings: RunSettings, prompts: Prompts, manifest: Manifest) -> Stage:
    """Who audits. Raises RunError where nobody checks stages, or templates or classes are not what they were."""
    auditor, node = prompts.system.auditor, settings.system.auditor
    if auditor is None or (node and node.output):
        why_not = f"{auditor.name} gives free feedback and checks no stage" if auditor else "it has no auditor"
        what = f"system={prompts.system.name} cannot be audited: {why_not}"
        raise RunError(what, where=str(run), hint="take a run of a system that audits its stages, as merg does")
    if prompts.digest() != manifest.identity.get("prompts"):
        what = "templates or classes of the run's system have changed since it was made"
        folders = ", ".join(map(str, prompts.system.prompts))
        raise RunError(what, where=str(run), hint=f"restore them ({folders}), or make the run again with the new ones")
    return auditor


def _planted_in(system: System, auditor: Stage, wanted: Sequence[str]) -> list[Stage]:
    """The stages to plant faults in. Raises ConfigError for a name of none whose output the auditor sees."""
    seen = {stage.name: stage for stage in system.stages if stage.gives in auditor.sees}
    if unknown := [name for name in wanted if name not in seen]:
        what = f"{auditor.name} sees no output of a stage {', '.join(unknown)}"
        raise ConfigError(what, where="--stages", hint=f"those that it sees: {', '.join(seen)}")
    return [stage for name, stage in seen.items() if name in wanted or not wanted]


def _pool(run: Path, settings: RunSettings, manifest: Manifest) -> Pool:
    """The hosts of the run. Raises RunError where none answers, CallError where another engine does."""
    try:
        pool, engine = answering(settings)
    except CallError as error:
        hint = "start what serves it, or say where it is served now: --host http://HOST:11434"
        raise RunError(f"the run's model cannot be asked: {error.what}", where=error.where, hint=hint) from error
    if engine.key() != manifest.engine.key():
        pool.close()
        raise changed(manifest.engine, engine, str(run))
    return pool
