"""One run, from a composed config to how it ended; `run.py` is its command.

Reads top to bottom: corpus and samples, hosts and engine, the run folder, samples in flight, the tables.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from mmerg.backends.protocol import Backend, Engine
from mmerg.console.bar import Building
from mmerg.console.run_tables import Summary, describe_memory, failures
from mmerg.console.terminal import console, escape, plural, shown
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.protocols import Protocol, Selection, chosen
from mmerg.corpora.reading import clip_files
from mmerg.engine.sample import Experiment
from mmerg.engine.sources import Source
from mmerg.errors import CorpusError
from mmerg.experiment.only_failed import is_new, refusal, told_nothing, told_wanted
from mmerg.experiment.sweep import in_sweep
from mmerg.experiment.wiring import (
    corpus_of,
    experiment_of,
    git_commit,
    looker_of,
    opened_sources,
    pool_of,
    prepared_sources,
    prompts_of,
    protocol_of,
    refuse_idle_repeats,
    sampling_of,
    versions,
)
from mmerg.experiment.work import carry_out, pending
from mmerg.runs.ended import Ended
from mmerg.runs.events import Emit
from mmerg.runs.folder import Run, read_results
from mmerg.runs.manifest import Corpus as CorpusSection
from mmerg.runs.manifest import Manifest, MemorySection, ProtocolSection, Session
from mmerg.runs.result import Result
from mmerg.settings.compose import resolve
from mmerg.settings.identity import how, identity_hash
from mmerg.sources.exemplars import Exemplars
from mmerg.storage.snapshot import Snapshot
from mmerg.systems.system import System
from mmerg.systems.target import digest_of


def launch(config: DictConfig) -> Iterator[Ended]:
    """Runs what `config` says, once a repeat, and tells how each ended. Raises MmergError where nothing can be run, and
    for repeats of which there is nothing to take up once the others have ended."""
    plain = resolve(config)
    refuse_idle_repeats(plain)
    repeats = [{**plain, "seed": seed} for seed in range(plain["seed"], plain["seed"] + plain["repeats"])]
    new = [repeat for repeat in repeats if plain["only_failed"] and is_new(_folder(repeat))]
    for repeat in repeats:
        if repeat not in new:
            yield _run(repeat, console())
    if new:
        raise refusal(new[0], _folder(new[0]), len(new))


def _run(plain: dict[str, Any], out: Console) -> Ended:
    path = _folder(plain)
    corpus = corpus_of(plain)
    protocol = protocol_of(plain)
    selection = protocol.select(corpus)
    if not selection.samples:
        raise CorpusError(
            f"the protocol leaves no sample: {protocol.describe(selection)}",
            where=f"dataset={corpus.name}, {len(corpus.dialogues)} dialogues",
            hint="see python -m mmerg.run --cfg job -p protocol",
        )
    wanted = chosen(selection.samples, plain["ids"], plain["limit"])
    asked = f"{len(wanted)} wanted now"
    if plain["only_failed"]:
        before = read_results(path)
        if not pending(wanted, before, only_failed=True):
            out.print(told_nothing(wanted, before))
            kept = before.only(sample.id for sample in wanted)
            return _ended(path, Ended.of(path, kept.values(), kept=len(kept), made=0))
        asked = told_wanted(wanted, before)
    prompts, sampling = prompts_of(plain), sampling_of(plain)
    prepared = prepared_sources(plain, prompts.system, corpus)

    with closing(pool_of(plain)) as pool:
        engine = pool.describe()
        _announce(out, plain, corpus, f"{protocol.describe(selection)}; {asked}", engine, prompts.system)
        if blind := _told_blind(plain, prompts.system, corpus, wanted):
            out.print(escape(blind))
        for host, why in pool.down().items():
            out.print(escape(f"host {host} is left out for now: {why}"))
        sources: dict[str, Source] = {}
        if prepared:
            with Building(out) as watch:
                sources = opened_sources(prepared, wanted, watch)
        for memory in _memories(sources).values():
            out.print(escape(describe_memory(memory)))
        experiment = experiment_of(plain, prompts, sampling, engine, sources)
        clips = Snapshot.of(clip_files(corpus))
        with Run(path, _manifest(plain, corpus, clips, protocol, selection, experiment)) as run:
            todo = pending(wanted, run.finished, plain["only_failed"])
            working = replace(experiment, looker=looker_of(plain, prompts.system, todo))

            def work(sample: Sample, backend: Backend, emit: Emit) -> Result:
                return working.sample(sample, backend, emit, run.keep_frame)

            progress = carry_out(run, wanted, todo, work, pool, out)
            run.seal([sample.id for sample in selection.samples])
            results = run.results.only(sample.id for sample in wanted).values()
            _tell(out, plain, results)
            if changed := clips.changed():
                out.print(escape(_describe_changed(changed)))
            ended = Ended.of(path, results, progress.kept, progress.made)
    return _ended(path, ended)


def _ended(path: Path, ended: Ended) -> Ended:
    """`ended`, told."""
    print(f"run: {shown(str(path))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return ended


def _tell(out: Console, plain: Mapping[str, Any], results: Collection[Result]) -> None:
    """The run's tables; in a sweep, whose members are many, without the replies."""
    summary = Summary(results)
    out.print(summary.counted if in_sweep() else summary.replies())
    for line in (summary.kept_back, *summary.notes()):
        if line:
            out.print(escape(line))
    if failed := failures(summary.failed):
        out.print(failed)
    if plain["backbone"]["note"] and not in_sweep():
        out.print(escape(plain["backbone"]["note"]))


def _folder(plain: Mapping[str, Any]) -> Path:
    parts = [plain[part]["name"] for part in ("dataset", "system", "backbone")]
    return Path(plain["runs"]) / "-".join([*parts, identity_hash(dict(plain))[:8]])


def _describe_changed(clips: Sequence[Path]) -> str:
    """Which clips are not as they were when the run began."""
    files = "clip is" if len(clips) == 1 else "clips are"
    some = ", ".join(path.name for path in clips[:3]) + (", …" if len(clips) > 3 else "")
    return (
        f"{len(clips)} {files} gone or changed since the run began ({some}): samples that were to show them failed. "
        "Put them back, and the same command with only_failed=true does those again"
    )


def _manifest(
    plain: dict[str, Any],
    corpus: Corpus,
    clips: Snapshot,
    protocol: Protocol,
    selection: Selection,
    experiment: Experiment,
) -> Manifest:
    return Manifest(
        identity={
            "config": identity_hash(dict(plain)),
            "corpus": corpus.fingerprint,
            "clips": clips.digest(),
            "engine": json.dumps(experiment.engine.model_dump(mode="json"), sort_keys=True),
            "prompts": experiment.prompts.digest(),
            "sources": " ".join(f"{symbol}={digest_of(source)}" for symbol, source in experiment.sources.items())
            or "none",
        },
        engine=experiment.engine,
        corpus=CorpusSection(name=corpus.name, split=corpus.split, labels=corpus.labels, notes=dict(corpus.notes)),
        protocol=ProtocolSection(
            description=protocol.describe(selection),
            samples=len(selection.samples),
            dialogues=len(corpus.dialogues),
            left_out=dict(selection.left_out),
        ),
        memories=_memories(experiment.sources),
        settings=dict(plain),
        sessions=(Session(versions=versions(), git_commit=git_commit(), how=how(dict(plain))),),
    )


def _memories(sources: Mapping[str, Source]) -> dict[str, MemorySection]:
    found = {symbol: source for symbol, source in sources.items() if isinstance(source, Exemplars)}
    return {symbol: MemorySection.model_validate(source.section()) for symbol, source in found.items()}


def _announce(
    out: Console, plain: Mapping[str, Any], corpus: Corpus, protocol: str, engine: Engine, system: System
) -> None:
    notes = "".join(f", {name} {count}" for name, count in corpus.notes.items())
    out.print(escape(f"{corpus.name} {corpus.split}: {plural(len(corpus.dialogues), 'dialogue')}{notes}"))
    out.print(escape(f"protocol: {protocol}"))
    out.print(escape(f"{engine.model} on {engine.backend} {engine.version}, seed {plain['seed']}"))
    if not engine.vision and system.sees("V"):
        out.print("this model has no eyes: it gets measured frame descriptions in place of the images")


def _told_blind(plain: Mapping[str, Any], system: System, corpus: Corpus, wanted: Sequence[Sample]) -> str:
    """That a run is of text alone against what it was set to; "" where a clip is there, the corpus names none for any
    turn, or no agent looks at frames."""
    last = plain["frames"]["last_turns"]
    looked_at = (turn.clip for sample in wanted for turn in sample.scene.history[-last:])
    if not corpus.absent or any(looked_at) or not system.sees("V"):
        return ""
    name, root = plain["dataset"]["name"], plain["dataset"].get("root", "…")
    such = next((f", not even {file}" for file in corpus.absent.values() if file), "")
    return (
        f"no clip was found{such}: the samples go on as text alone. Put the clips (of MELD its folder MELD.Raw) under "
        f"dataset.root; python -m mmerg.data dataset={name} dataset.root={root} lists what is missing"
    )
