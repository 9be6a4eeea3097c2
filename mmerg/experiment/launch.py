"""One run, from a composed config to how it ended; `run.py` is its command.

Reads top to bottom: corpus and samples, hosts and engine, the run folder, samples in flight, the tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rich.console import Console

from mmerg.backends.protocol import Backend, Engine
from mmerg.console.progress import Building
from mmerg.console.run_tables import Summary, describe_memory, failures
from mmerg.console.terminal import console, escape, plural, printable
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.protocols import Selection, chosen, describe, select
from mmerg.corpora.reading import clip_files
from mmerg.engine.look import shuffle_clips
from mmerg.engine.prompts import Prompts
from mmerg.engine.sources import Source
from mmerg.errors import CorpusError, some
from mmerg.experiment import wiring
from mmerg.experiment.memory_usage import measure_memory
from mmerg.experiment.work import DRY_RUN, carry_out, describe_nothing, describe_wanted, is_new, pending, refusal
from mmerg.runs.events import Emit
from mmerg.runs.folder import Run, read_results
from mmerg.runs.identity import CLIPS, ENGINE, MEMORY, Digests, combined, engine_text, run_digests
from mmerg.runs.manifest import DRY, Manifest, read_manifest
from mmerg.runs.memory_usage import write_memory_usage
from mmerg.runs.result import Ended, Result, Results
from mmerg.runs.shards import Shard, keep_number, write_order
from mmerg.settings.kinds import folder_name
from mmerg.settings.model import RunSettings
from mmerg.sources.exemplars import Exemplars
from mmerg.storage.files import Snapshot


@dataclass(frozen=True)
class Task:
    """What a run is made of before anybody is asked: the samples of a corpus that are wanted, and who is to answer."""

    settings: RunSettings
    corpus: Corpus
    selection: Selection
    wanted: Sequence[Sample]
    prompts: Prompts
    sources: Mapping[str, Source]

    @classmethod
    def of(cls, settings: RunSettings) -> Task:
        """Raises MmergError where the corpus cannot be read, leaves no sample, or settings do not fit each other."""
        corpus = wiring.corpus_of(settings.dataset)
        selection = select(corpus, settings.protocol)
        selection = replace(selection, samples=shuffle_clips(selection.samples, settings.frames))
        if not selection.samples:
            raise CorpusError(
                f"the protocol leaves no sample: {describe(settings.protocol, selection)}",
                where=f"dataset={corpus.name}, {len(corpus.dialogues)} dialogues",
                hint="see mmerg run --cfg job -p protocol",
            )
        wanted = chosen(selection.samples, settings.ids, settings.limit)
        if settings.shard:
            shard = Shard.of(settings.shard)
            wanted = [sample for sample in wanted if shard.holds(sample.dialogue_id)]
        prompts = wiring.prompts_of(settings)
        sources = wiring.prepared_sources(settings, prompts.system, corpus)
        return cls(settings, corpus, selection, wanted, prompts, sources)

    @cached_property
    def identity(self) -> Digests:
        """The parts of the run's identity that are known before a model is asked."""
        sources = self.sources
        readers = {name: one.embedder if isinstance(one, Exemplars) else one for name, one in sources.items()}
        prompts = self.prompts
        plain = self.settings.plain()
        return run_digests(plain, self.corpus.fingerprint, prompts.system, prompts.digests(), sources, readers)

    @property
    def path(self) -> Path:
        """The folder that is written: the run's, or that of a shard within."""
        return Shard.of(self.settings.shard).folder(self.run) if self.settings.shard else self.run

    @cached_property
    def run(self) -> Path:
        """The run's folder: of another name for whatever decides results, wherever files lie."""
        settings = self.settings
        answered_by = DRY if settings.backend.name == DRY else folder_name(settings.backbone.name)
        names = [settings.name] if settings.name else [settings.dataset.name, settings.system.name, answered_by]
        mark = combined(self.identity)[:8]
        return Path(settings.runs) / "-".join([*names, *settings.tags, mark])


def run_all(settings: RunSettings) -> int:
    """The exit code of the run, or the worst of its repeats."""
    return max(ended.code for ended in launch(settings))


def launch(settings: RunSettings, *, brief: bool = False) -> Iterator[Ended]:
    """Runs what the settings say, once a repeat, and yields how each ended; brief: without the replies. Raises
    MmergError where nothing can be run; once the others ended, for repeats never begun whose failures are asked for."""
    task = Task.of(settings)
    wiring.refuse_idle_seeds(settings, task.prompts.system)
    seeds = range(settings.seed, settings.seed + settings.repeats)
    repeats = [replace(task, settings=settings.model_copy(update={"seed": seed})) for seed in seeds]
    new = [repeat for repeat in repeats if settings.only_failed and is_new(repeat.path)]
    for repeat in (repeat for repeat in repeats if repeat not in new):
        ended = _run(repeat, console(), brief)
        print(f"run: {printable(str(repeat.path))}")  # noqa: T201 - the last line is for programs to read: no wrapping
        yield ended
    if new:
        raise refusal(new[0].settings.plain(), new[0].identity, new[0].run, len(new))


def _run(task: Task, out: Console, brief: bool) -> Ended:
    path, settings, wanted = task.path, task.settings, task.wanted
    asked = f"{len(wanted)} wanted now{f' of shard {settings.shard}' * (settings.shard is not None)}"
    clips = Snapshot.of(clip_files(task.corpus))
    if settings.shard:
        shard = Shard.of(settings.shard)
        keep_number(task.run, shard.of_all)
        places = enumerate(task.selection.samples)
        write_order(path, ((place, one.id) for place, one in places if shard.holds(one.dialogue_id)))
    known = None
    if not is_new(path):
        manifest, before = read_manifest(path), read_results(path)
        known = manifest.engine
        whole = settings.only_failed or before.sealed(sample.id for sample in task.selection.samples)
        same = manifest.identity.get(CLIPS) == clips.digest()
        if whole and same and not pending(wanted, before, settings.only_failed):
            return _print_finished(task, out, before, known, brief)
        if settings.only_failed:
            asked = describe_wanted(wanted, before)
    with ExitStack() as opened:
        # File systems that machines share break SQLite's locks: each shard has replies of its own.
        asking = settings.model_copy(update={"cache_dir": str(path)}) if settings.shard else settings
        pool, engine = wiring.answering(asking, known)
        opened.enter_context(closing(pool))
        _announce(out, task, asked, engine)
        for host, why in pool.down().items():
            out.print(escape(f"host {host} is left out for now: {why}"))
        memories = {symbol: source for symbol, source in task.sources.items() if isinstance(source, Exemplars)}
        if memories:
            with Building(out) as watch:
                for source in memories.values():
                    source.open(wanted, watch)
        manifest = _manifest(task, clips, engine, memories)
        for memory in manifest.memories.values():
            out.print(escape(describe_memory(memory)))
        with Run(path, manifest) as run:
            todo = pending(wanted, run.results, settings.only_failed)
            experiment = wiring.experiment_of(settings, task.prompts, engine, task.sources, todo)

            def work(sample: Sample, backend: Backend, emit: Emit) -> Result:
                return experiment.sample(sample, backend, emit, run.keep_frame)

            progress = carry_out(run, wanted, todo, work, pool, out, task.sources.values())
            run.seal([sample.id for sample in task.selection.samples])
            if progress.made and (usage := measure_memory(settings)):
                write_memory_usage(path, usage)
            results = run.results.only(sample.id for sample in wanted).values()
            _print_tables(out, settings, results, brief)
            if changed := clips.changed():
                clips_are = "clip is" if len(changed) == 1 else "clips are"
                names = some([one.name for one in changed], 3)
                warning = (
                    f"{len(changed)} {clips_are} gone or changed since the run began ({names}): samples that were to "
                    "show them failed. Put them back, and the same command with only_failed=true does those again"
                )
                out.print(escape(warning))
            return Ended.of(path, results, progress.kept, progress.made)


def _print_finished(task: Task, out: Console, before: Results[Result], engine: Engine, brief: bool) -> Ended:
    """Prints a run in which nothing is left to do from what it has written: no server is asked."""
    results = before.only(sample.id for sample in task.wanted).values()
    if task.settings.only_failed:
        out.print(describe_nothing(task.wanted, before))
    else:
        _announce(out, task, f"{len(results)} wanted now", engine)
        out.print(f"{plural(len(results), 'sample')} {'is' if len(results) == 1 else 'are'} finished already")
        _print_tables(out, task.settings, results, brief)
    return Ended.of(task.path, results, kept=len(results), made=0)


def _print_tables(out: Console, settings: RunSettings, results: Collection[Result], brief: bool) -> None:
    """The run's tables; brief, as in a sweep of many runs, without the replies."""
    summary = Summary(results)
    out.print(summary.counted if brief else summary.replies())
    for line in (summary.kept_back, *summary.notes()):
        if line:
            out.print(escape(line))
    if failed := failures(summary.failed):
        out.print(failed)
    if settings.backend.name == DRY:
        out.print(DRY_RUN.format("replies"))
    elif settings.backbone.note and not brief:
        out.print(escape(settings.backbone.note))


def _manifest(task: Task, clips: Snapshot, engine: Engine, memories: Mapping[str, Exemplars]) -> Manifest:
    plain = task.settings.plain()
    for symbol, source in task.sources.items():
        plain["sources"][symbol] |= getattr(source, "facts", {})  # of the files that it names
    return wiring.manifest_of(
        task.corpus,
        task.settings.protocol,
        task.selection,
        identity={
            **task.identity,
            CLIPS: clips.digest(),
            ENGINE: engine_text(engine),
            **{f"{MEMORY}{symbol}": memory.memory.digest for symbol, memory in memories.items()},
        },
        engine=engine,
        memories={symbol: memory.section() for symbol, memory in memories.items()},
        settings=plain,
        name=task.settings.name or "",
        tags=task.settings.tags,
        sessions=(wiring.session_of(task.settings),),
    )


def _announce(out: Console, task: Task, asked: str, engine: Engine) -> None:
    corpus, settings = task.corpus, task.settings
    out.print(escape(f"{corpus.name} {corpus.split}: {plural(len(corpus.dialogues), 'dialogue')}{corpus.noted}"))
    out.print(escape(f"protocol: {describe(settings.protocol, task.selection)}; {asked}"))
    out.print(escape(f"{engine.in_words}, seed {settings.seed}"))
    for line in _remarks(task, engine):
        out.print(escape(line))


def _remarks(task: Task, engine: Engine) -> Iterator[str]:
    """What agents could be given and are not, and how to set that."""
    corpus, settings, dataset, system = task.corpus, task.settings, task.settings.dataset, task.prompts.system
    if system.sees("V") and not engine.vision:
        yield "this model has no eyes: it gets measured frame descriptions in place of the images"
    turns = (turn for sample in task.wanted for turn in sample.scene.history[-settings.frames.last_turns :])
    if system.sees("V") and corpus.absent and not any(turn.clip for turn in turns):
        such = next((f", not even {file}" for file in corpus.absent.values() if file), "")
        command = f"mmerg data dataset={dataset.name} dataset.root={dataset.root or '…'}"
        yield (
            f"no clip was found{such}: the samples go on as text alone. Put the clips (of MELD its folder MELD.Raw) "
            f"under dataset.root; {command} lists what is missing"
        )
    named = dataset.memory and dataset.memory.reader.plain().get("root", "given")
    if system.sees("M") and "M" not in task.sources and not named:
        how = "memory=minilm " + ("dataset.memory.root=…" if dataset.memory else "and a reader as dataset.memory")
        yield f"exemplars are off, as dataset={dataset.name} names no dialogues for them: {how} switches them on"
    lacks = {symbol: getattr(source, "missing", lambda _: "")(task.wanted) for symbol, source in task.sources.items()}
    for what in dict.fromkeys(filter(None, lacks.values())):
        yield f"sources {', '.join(symbol for symbol in lacks if lacks[symbol] == what)}: {what}"
