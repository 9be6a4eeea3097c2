"""One run: plan, open the backend, run the items, report. `run.py` is the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

from rich.console import Console

from mmerg.backends.protocol import Backend
from mmerg.console.progress import Building
from mmerg.console.run_tables import describe_memory
from mmerg.console.terminal import console, escape, plural, printable
from mmerg.corpora.dialogue import Sample
from mmerg.corpora.reading import clip_files
from mmerg.errors import preview
from mmerg.experiment.announce import announce, print_results
from mmerg.experiment.plan import Plan, plan_run
from mmerg.experiment.work import is_new, refuse_new, run_items, select_pending
from mmerg.runs.events import Emit
from mmerg.runs.folder import Run, read_partial_results
from mmerg.runs.identity import CLIPS
from mmerg.runs.manifest import Manifest, read_manifest
from mmerg.runs.memory_usage import write_memory_usage
from mmerg.runs.result import Result, Results, RunOutcome
from mmerg.runs.shards import check_shard_count, write_order
from mmerg.settings.model import RunSettings
from mmerg.storage.files import Snapshot


def launch(settings: RunSettings, *, brief: bool = False, row: str = "") -> Iterator[RunOutcome]:
    """Makes one run per repeat and yields how each ended. brief: prints no replies. row: the name of a sweep's row.
    Raises MmergError if nothing can run."""
    for plan in plan_run(settings, row).repeats(settings.repeats):
        ended = run_plan(plan, console(), brief)
        print(f"run: {printable(str(plan.path))}")  # noqa: T201 - programs read the last line: no wrapping
        yield ended


def run_plan(plan: Plan, out: Console, brief: bool = False) -> RunOutcome:
    """Makes the planned run. Raises MmergError if it cannot run, or has to stop."""
    if plan.only_failed and is_new(plan.path):
        refuse_new(plan.settings, plan.identity, plan.run)
    _prepare_shard(plan)
    clips = Snapshot.take(clip_files(plan.samples.corpus))
    wanted = plan.samples.wanted
    then = None if is_new(plan.path) else read_manifest(plan.path)
    before = read_partial_results(plan.path, then) if then else Results(Result)
    todo = select_pending(wanted, before, plan.only_failed)
    if then and not todo and _is_complete(plan, clips, then, before):
        return _print_finished(plan, out, then, before, brief)
    with ExitStack() as opened:
        pool, engine = plan.replies.open(then.engine if then else None)
        opened.enter_context(closing(pool))
        if auditor := plan.system.auditor:
            auditor.check_engine(engine, "auditor")
        announce(out, plan, f"retrying {len(todo)} of {len(wanted)} samples" if plan.only_failed else "", engine)
        for host, why in pool.list_down().items():
            out.print(escape(f"host {host} is skipped for now: {why}"))
        _open_memories(plan, out)
        manifest = plan.manifest(clips, engine)
        for memory in manifest.memories.values():
            out.print(escape(describe_memory(memory)))
        with Run(plan.path, manifest) as run:
            todo = select_pending(wanted, run.results, plan.only_failed)
            experiment = plan.experiment(engine, todo)

            def work(sample: Sample, backend: Backend, emit: Emit) -> Result:
                return experiment.run_sample(sample, backend, emit, run.keep_frame)

            progress = run_items(run, wanted, todo, work, pool, out, plan.system.sources.values())
            run.seal(plan.samples.ids)
            if progress.made and (usage := plan.backbone.measure_memory()):
                write_memory_usage(plan.path, usage)
            results = run.results.select(sample.id for sample in wanted).values()
            print_results(out, plan.backbone, results, brief)
            _warn_of_changed(out, clips)
            return RunOutcome.from_results(plan.path, results, progress.kept, progress.made)


def _prepare_shard(plan: Plan) -> None:
    """Raises ConfigError if the run was split into another number of shards. Writes the shard's list of samples."""
    if shard := plan.folder.shard:
        check_shard_count(plan.run, shard.total)
        places = enumerate(plan.samples.selection.samples)
        write_order(plan.path, ((place, one.id) for place, one in places if shard.contains(one.dialogue_id)))


def _is_complete(plan: Plan, clips: Snapshot, then: Manifest, before: Results[Result]) -> bool:
    """Whether the folder is as a finished run leaves it, and the clips are still the same."""
    sealed = plan.only_failed or (then.records == len(before) and before.is_complete(plan.samples.ids))
    return sealed and then.identity.get(CLIPS) == clips.digest()


def _print_finished(plan: Plan, out: Console, then: Manifest, before: Results[Result], brief: bool) -> RunOutcome:
    results = before.select(sample.id for sample in plan.samples.wanted).values()
    if plan.only_failed:
        out.print("no sample of this run failed: there is nothing to retry")
    else:
        announce(out, plan, "", then.engine)
        out.print(f"{plural(len(results), 'sample')} {'is' if len(results) == 1 else 'are'} already finished")
        print_results(out, plan.backbone, results, brief)
    return RunOutcome.from_results(plan.path, results, kept=len(results), made=0)


def _open_memories(plan: Plan, out: Console) -> None:
    if memories := plan.system.memories.values():
        with Building(out) as watch:
            for memory in memories:
                memory.open(watch)


def _warn_of_changed(out: Console, clips: Snapshot) -> None:
    if changed := clips.find_changed():
        clips_are = "clip is" if len(changed) == 1 else "clips are"
        names = preview([one.name for one in changed], 3)
        warning = (
            f"{len(changed)} {clips_are} missing or changed since the run started ({names}), so samples that show "
            "them failed. Restore them, then retry the samples with only_failed=true"
        )
        out.print(escape(warning))
