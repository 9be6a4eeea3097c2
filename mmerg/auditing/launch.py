"""Planted faults of a finished run, from its folder to an exit code; `mmerg/audit.py` is the command.

Reads top to bottom: the run's settings and system, what is finished, who answers, samples in flight, figures.
"""

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from mmerg.auditing.first_passes import AGAIN, FirstPasses, finished
from mmerg.auditing.planted import ALL, COLUMNS, PLANTED, Case, Planted, figures
from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Backend, Sampling, engine_changed
from mmerg.console.progress import Progress
from mmerg.console.terminal import console, escape
from mmerg.engine.ask import Asker
from mmerg.engine.loops.audit import is_final
from mmerg.engine.loops.loop import Ask
from mmerg.engine.parallel import in_flight
from mmerg.engine.prompts import Prompts
from mmerg.engine.sample import attempt
from mmerg.engine.state import State
from mmerg.errors import CallError, ConfigError, RunError, SampleError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.plan import plan_prompts
from mmerg.judging.tables import methods, table
from mmerg.runs.config_diff import changes
from mmerg.runs.events import Emit
from mmerg.runs.folder import read_results
from mmerg.runs.identity import with_runtime_settings
from mmerg.runs.manifest import About, Manifest, read_manifest
from mmerg.runs.result import Verdicts
from mmerg.scoring.score import results_digest
from mmerg.settings.model import RunSettings
from mmerg.storage.files import why
from mmerg.storage.record import write_record
from mmerg.systems.audit import audit_of
from mmerg.systems.system import Stage


def launch(run: Path, *, n: int, seed: int, stages: Sequence[str] = (), hosts: Sequence[str] = ()) -> int:
    """Audits `n` samples, drawn with the seed, and writes the figures. Returns 0, or 1 where calls failed for some
    samples. Raises MmergError where the run, an option or the server cannot be used."""
    if n < 1 or seed < 0:
        raise ConfigError("n must be 1 or more, and seed 0 or more", where=f"--n {n} --seed {seed}")
    manifest, results = read_manifest(run), read_results(run)
    settings = settings_of(run, manifest, hosts)
    prompts, backbone = plan_prompts(settings), BackbonePlan.of(settings)
    auditor = _auditor(run, prompts, manifest)
    known = {stage.name: stage for stage in prompts.system.stages if stage.gives in auditor.sees}
    if unknown := set(stages) - set(known):
        what = f"{auditor.name} sees no output of a stage {', '.join(sorted(unknown))}"
        raise ConfigError(what, where="--stages", hint=f"it sees: {', '.join(known)}")
    planted_in = [stage for name, stage in known.items() if name in (stages or known)]
    dialogues = finished(run, results)
    samples = sorted(dialogues)
    random.Random(seed).shuffle(samples)  # so that a larger n keeps the samples of a smaller one
    passes = FirstPasses(run, prompts.system, dialogues)
    auditing = Auditing(passes, prompts, auditor, planted_in, backbone.sampling(settings.seed), seed)
    out = console()
    progress = Progress(out, len(samples[:n]), kept=0)

    def audited(sample: str) -> Audits:
        with pool.lease() as backend:
            return auditing.sample(sample, backend, progress.event)

    audits = []
    with closing(_pool(run, backbone, manifest)) as pool, progress:
        for one in in_flight(samples[:n], audited, pool.slots, pool.close):
            progress.result(one)
            audits.append(one)
    failed = [one for one in audits if one.status == "failed"]
    if len(failed) == len(audits):
        raise RunError(f"a call failed for every sample, first {failed[0].failure_text}", where=str(run))
    cases = [case for one in sorted(audits, key=lambda one: one.id) for case in one.cases]
    if not any(case.stage for case in cases):
        what = "there is no fault to plant: each stage gave the same output, or emotion, in every dialogue"
        raise RunError(what, where=str(run), hint="take a run of more dialogues")
    names = tuple(stage.name for stage in planted_in)
    signature = f"auditor:{auditor.name}|pass:0|swap:other-dialogue|unreadable:wrong|seed:{seed}"
    planted = Planted(
        run=About(run, manifest).run,
        auditor=auditor.name,
        seed=seed,
        stages=names,
        failed=len(failed),
        figures=figures(cases, names, signature),
        cases=tuple(cases),
        identity=manifest.identity,
        results=results_digest(results.values()),
    )
    write_record(run / PLANTED, planted)
    out.print(escape(planted.counted))
    out.print(table("planted faults, % [95 %]", planted.figures, COLUMNS, "stage"))
    for line in methods(planted.figures[ALL].values()):
        out.print(line)
    for one in failed[:1]:
        out.print(escape(f"the same command asks again for samples that failed, first {one.id}: {one.failure_text}"))
    out.print(escape(str(run / PLANTED)), soft_wrap=True)
    return 1 if failed else 0


class Audits(Verdicts):
    """The cases of a sample, the clean one first, or how a call failed."""

    cases: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Auditing:
    """What the audits of all samples share. stages: those to plant faults in."""

    passes: FirstPasses
    prompts: Prompts
    auditor: Stage
    stages: Sequence[Stage]
    sampling: Sampling
    seed: int

    def sample(self, sample: str, backend: Backend, emit: Emit) -> Audits:
        """The audits of a sample. Raises CallError (interrupted), and RunError where the run's folder does not hold
        what is needed."""

        def decide(note: Emit, _: object) -> dict[str, object]:
            return {"cases": tuple(self._cases(sample, backend, note))}

        return Audits.model_validate(attempt(self.passes.read(sample).started, decide, emit)[0])

    def _cases(self, sample: str, backend: Backend, emit: Emit) -> Iterator[Case]:
        """The clean pass, and one with a fault in each stage for which there is one to plant, each audited as the
        run's own loop asked it of the clean one."""
        first, dialogue = self.passes.read(sample), self.passes.dialogues[sample]
        sources = {symbol: lambda *_, supply=supply: supply for symbol, supply in first.supplied.items()}
        ask: Ask = Asker(self.prompts, backend, self.sampling, emit, sources)
        clean = replace(first.state, images=self.passes.images(sample))
        yield self._case(ask, clean, sample=sample, dialogue=dialogue)
        for stage in self.stages:
            if donor := self.passes.donor(first.state, stage, self.seed):
                outputs = {**dict(clean.outputs), stage.gives: dict(donor.outputs)[stage.gives]}
                planted = replace(clean, outputs=tuple(outputs.items()))
                where = {"stage": stage.name, "donor": donor.scene.id}
                yield self._case(ask, planted, sample=sample, dialogue=dialogue, **where)

    def _case(self, ask: Ask, state: State, **about: str) -> Case:
        """The case with its audit, or why that cannot be read."""
        try:
            reply = ask(self.auditor, state, 0)
        except SampleError as error:
            if not is_final(error):
                raise
            return Case.model_validate({**about, "failure": error.failure})
        assert not isinstance(reply, str)
        return Case.model_validate({**about, "audit": audit_of(reply)})


def settings_of(run: Path, manifest: Manifest, hosts: Sequence[str] = ()) -> RunSettings:
    """The settings of the run as it was last started, asking `hosts` where they are given, with the reply cache on: the
    audits that the run made itself are in it. Raises RunError where they are of another version."""
    how = manifest.sessions[-1].how if manifest.sessions else {}
    try:
        settings = RunSettings.model_validate(with_runtime_settings(manifest.settings, how))
    except ValidationError as error:
        what = f"the run's settings are of another version: {why(error)}"
        raise RunError(what, where=str(run), hint=AGAIN) from error
    backend = settings.backend.model_copy(update={"hosts": tuple(hosts) or settings.backend.hosts})
    cache_dir = Path(settings.cache_dir)
    if not cache_dir.is_absolute():  # as it was typed, like `runs`, in which the run's folder is
        cache_dir = run.resolve().parent / os.path.relpath(cache_dir, settings.runs)
    return settings.model_copy(update={"cache": "on", "cache_dir": str(cache_dir), "backend": backend})


def _auditor(run: Path, prompts: Prompts, manifest: Manifest) -> Stage:
    """The stage that audits. Raises RunError where no stage checks others, or templates or classes have changed."""
    system, auditor = prompts.system, prompts.system.auditor
    if auditor is None or manifest.setting("system.auditor.output"):
        why_not = f"{auditor.name} gives free feedback and checks no stage" if auditor else "it has no auditor"
        what = f"system={system.name} cannot be audited: {why_not}"
        raise RunError(what, where=str(run), hint="take a run of a system that audits its stages, as merg does")
    digests = prompts.digests()
    if changed := changes(manifest, manifest.model_copy(update={"identity": manifest.identity | digests})):
        what = f"the run's system is not what it was when the run was made: {'; '.join(changed)}"
        folders = ", ".join(map(str, system.prompts))
        raise RunError(what, where=str(run), hint=f"restore them ({folders}), or make the run again with the new ones")
    return auditor


def _pool(run: Path, backbone: BackbonePlan, manifest: Manifest) -> Pool:
    """The hosts of the run. Raises CallError where none answers, or another engine does."""
    try:
        pool, engine = backbone.open()
    except CallError as error:
        error.hint = "start what serves the run's model, or say where it is served now: --host http://HOST:11434"
        raise
    if engine.key() != manifest.engine.key():
        pool.close()
        raise engine_changed(manifest.engine, engine, str(run))
    return pool
