"""One run, from its settings to how it ended; `run.py` is its command.

Steps: plan, open the backend, run the items, report.
"""

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
from mmerg.experiment.memory_usage import measure_memory
from mmerg.experiment.plan import Plan, plan_run
from mmerg.experiment.work import describe_nothing, describe_wanted, is_new, pending, refusal, run_items
from mmerg.runs.events import Emit
from mmerg.runs.folder import Run, read_so_far
from mmerg.runs.identity import CLIPS
from mmerg.runs.manifest import Manifest, read_manifest
from mmerg.runs.memory_usage import write_memory_usage
from mmerg.runs.result import Ended, Result, Results
from mmerg.runs.shards import keep_number, write_order
from mmerg.settings.model import RunSettings
from mmerg.storage.files import Snapshot


def launch(settings: RunSettings, *, brief: bool = False, row: str = "") -> Iterator[Ended]:
    """Runs what the settings say, once per repeat, and yields how each run ended. brief: without the replies. row: of a
    sweep, for the folder's name. Raises MmergError if nothing can run; with only_failed, after the others, for repeats
    that were never started."""
    repeats = list(plan_run(settings, row).repeats(settings.repeats))
    new = [plan for plan in repeats if plan.only_failed and is_new(plan.path)]
    for plan in (plan for plan in repeats if plan not in new):
        ended = run_plan(plan, console(), brief)
        print(f"run: {printable(str(plan.path))}")  # noqa: T201 - the last line is for programs to read: no wrapping
        yield ended
    if new:
        raise refusal(new[0].settings, new[0].identity, new[0].run, len(new))


def run_plan(plan: Plan, out: Console, brief: bool = False) -> Ended:
    """Runs a plan. Raises MmergError if it cannot run, or has to stop."""
    _prepare_shard(plan)
    clips = Snapshot.of(clip_files(plan.samples.corpus))
    wanted, asked = plan.samples.wanted, _asked(plan)
    then = None if is_new(plan.path) else read_manifest(plan.path)
    before = read_so_far(plan.path, then) if then else Results(Result)
    if then and _is_finished(plan, clips, then, before):
        return _print_finished(plan, out, then, before, brief)
    if then and plan.only_failed:
        asked = describe_wanted(wanted, before)
    with ExitStack() as opened:
        pool, engine = plan.replies.open(then.engine if then else None)
        opened.enter_context(closing(pool))
        if auditor := plan.system.auditor:
            auditor.check_engine(engine, "auditor")
        announce(out, plan, asked, engine)
        for host, why in pool.down().items():
            out.print(escape(f"host {host} is skipped for now: {why}"))
        _open_memories(plan, out)
        manifest = plan.manifest(clips, engine)
        for memory in manifest.memories.values():
            out.print(escape(describe_memory(memory)))
        with Run(plan.path, manifest) as run:
            todo = pending(wanted, run.results, plan.only_failed)
            experiment = plan.experiment(engine, todo)

            def work(sample: Sample, backend: Backend, emit: Emit) -> Result:
                return experiment.sample(sample, backend, emit, run.keep_frame)

            progress = run_items(run, wanted, todo, work, pool, out, plan.system.sources.values())
            run.seal(plan.samples.ids)
            if progress.made and (usage := measure_memory(plan.backbone.server, plan.backbone.model)):
                write_memory_usage(plan.path, usage)
            results = run.results.only(sample.id for sample in wanted).values()
            print_results(out, plan.backbone, results, brief)
            _warn_of_changed(out, clips)
            return Ended.of(plan.path, results, progress.kept, progress.made)


def _prepare_shard(plan: Plan) -> None:
    """Raises ConfigError if the run was split into another number of shards. Writes the shard's list of samples."""
    if shard := plan.folder.shard:
        keep_number(plan.run, shard.of_all)
        places = enumerate(plan.samples.selection.samples)
        write_order(plan.path, ((place, one.id) for place, one in places if shard.holds(one.dialogue_id)))


def _asked(plan: Plan) -> str:
    of_shard = f" of shard {plan.folder.shard}" if plan.folder.shard else ""
    return f"{len(plan.samples.wanted)} selected{of_shard}"


def _is_finished(plan: Plan, clips: Snapshot, then: Manifest, before: Results[Result]) -> bool:
    whole = plan.only_failed or (then.records == len(before) and before.sealed(plan.samples.ids))
    same = then.identity.get(CLIPS) == clips.digest()
    return whole and same and not pending(plan.samples.wanted, before, plan.only_failed)


def _print_finished(plan: Plan, out: Console, then: Manifest, before: Results[Result], brief: bool) -> Ended:
    wanted = plan.samples.wanted
    results = before.only(sample.id for sample in wanted).values()
    if plan.only_failed:
        out.print(describe_nothing(wanted, before))
    else:
        announce(out, plan, f"{len(results)} selected", then.engine)
        out.print(f"{plural(len(results), 'sample')} {'is' if len(results) == 1 else 'are'} already finished")
        print_results(out, plan.backbone, results, brief)
    return Ended.of(plan.path, results, kept=len(results), made=0)


def _open_memories(plan: Plan, out: Console) -> None:
    if memories := plan.system.memories.values():
        with Building(out) as watch:
            for memory in memories:
                memory.open(plan.samples.wanted, watch)


def _warn_of_changed(out: Console, clips: Snapshot) -> None:
    if changed := clips.changed():
        clips_are = "clip is" if len(changed) == 1 else "clips are"
        names = preview([one.name for one in changed], 3)
        warning = (
            f"{len(changed)} {clips_are} missing or changed since the run started ({names}), so samples that show "
            "them failed. Restore them, then retry the samples with only_failed=true"
        )
        out.print(escape(warning))
