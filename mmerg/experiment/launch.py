"""One run: plan, open the backend, run the items, report. `run.py` is the command."""

from __future__ import annotations

from contextlib import ExitStack, closing

from rich.console import Console

from mmerg.backends.protocol import Backend, Engine
from mmerg.console.progress import describe_kept
from mmerg.console.run_tables import describe_memory
from mmerg.console.terminal import console, escape, printable
from mmerg.corpora.dialogue import Sample
from mmerg.corpora.reading import clip_files
from mmerg.experiment.announce import announce, print_results
from mmerg.experiment.plan import Plan, plan_run
from mmerg.experiment.work import run_items, select_pending
from mmerg.runs.events import Emit
from mmerg.runs.folder import Run, read_partial_results
from mmerg.runs.identity import CLIPS
from mmerg.runs.manifest import MANIFEST, read_manifest
from mmerg.runs.memory_usage import MEMORY
from mmerg.runs.result import Result, Results, RunOutcome
from mmerg.runs.shards import check_shard_count, write_order
from mmerg.settings.model import RunSettings
from mmerg.storage.files import Snapshot
from mmerg.storage.record import write_record


def launch(settings: RunSettings, *, brief: bool = False, row: str = "") -> RunOutcome:
    """Makes a run. brief: print tables without the replies, as in a sweep. row: the name of the sweep's row, such as
    "top_k=3". Raises MmergError if nothing can run."""
    plan = plan_run(settings, row)
    outcome = run_plan(plan, console(), brief)
    print(f"run: {printable(str(plan.path))}")  # noqa: T201 - programs read the last line: no wrapping
    return outcome


def run_plan(plan: Plan, out: Console, brief: bool) -> RunOutcome:
    """Makes the planned run. Raises MmergError if it cannot run, or has to stop."""
    _prepare_shard(plan)
    clips = Snapshot.take(clip_files(plan.samples.corpus))
    wanted = plan.samples.wanted
    before = read_manifest(plan.path) if (plan.path / MANIFEST).exists() else None
    if before and before.records is not None and before.identity.get(CLIPS) == clips.digest():
        finished = read_partial_results(plan.path, before)
        if finished.matches_file and len(finished) == before.records and not select_pending(wanted, finished):
            return _print_finished(plan, out, before.engine, finished, brief)
    with ExitStack() as opened:
        pool, engine = plan.cached_backbone.open(before.engine if before else None)
        opened.enter_context(closing(pool))
        if auditor := plan.system.auditor:
            auditor.check_engine(engine, "auditor")
        announce(out, plan, engine)
        for host, why in pool.list_down().items():
            out.print(escape(f"host {host} is skipped for now: {why}"))
        plan.system.open_memories(out)
        manifest = plan.manifest(clips, engine)
        for memory in manifest.memories.values():
            out.print(escape(describe_memory(memory)))
        with Run(plan.path, manifest) as run:
            remaining = select_pending(wanted, run.results)
            experiment = plan.experiment(engine, remaining)

            def work(sample: Sample, backend: Backend, emit: Emit) -> Result:
                return experiment.run_sample(sample, backend, emit, run.keep_frame)

            progress = run_items(run, wanted, remaining, work, pool, out, plan.system.sources.values())
            run.seal(plan.samples.ids)
            if progress.model_calls and (usage := plan.backbone.measure_memory()):
                write_record(plan.path / MEMORY, usage)
            results = run.results.select(sample.id for sample in wanted).values()
            print_results(out, plan.backbone, results, brief)
            return RunOutcome.from_results(plan.path, results, progress.kept, progress.model_calls)


def _prepare_shard(plan: Plan) -> None:
    """Writes the list of the shard's samples. Raises ConfigError if the run was split into another number of shards."""
    if shard := plan.shard:
        check_shard_count(plan.run, shard.total)
        samples = enumerate(plan.samples.selection.samples)
        write_order(plan.path, ((place, sample.id) for place, sample in samples if shard.contains(sample.dialogue_id)))


def _print_finished(plan: Plan, out: Console, engine: Engine, results: Results[Result], brief: bool) -> RunOutcome:
    """Prints the tables of a run that has nothing left to do."""
    finished = results.select(sample.id for sample in plan.samples.wanted).values()
    announce(out, plan, engine)
    out.print(describe_kept(len(finished)))
    print_results(out, plan.backbone, finished, brief)
    return RunOutcome.from_results(plan.path, finished, kept=len(finished), made=0)
