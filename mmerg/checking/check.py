"""One check of a corpus, from settings to an exit code; `mmerg/data.py` is its command."""

import json
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from mmerg.checking.clips import Flaw, ended_clips, examine, long_clips, wanted_clips
from mmerg.checking.report import Section, bad_clips, check_clips, check_counts, check_targets
from mmerg.console.progress import Bar
from mmerg.console.terminal import console, escape, plural, printable
from mmerg.corpora.dialogue import Clip, Corpus
from mmerg.corpora.protocols import select
from mmerg.corpora.reading import read_corpus
from mmerg.engine.keyframes import shuffle_clips
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.build import build_keyframe_sampler, make
from mmerg.experiment.plan import plan_prompts
from mmerg.experiment.sources import build_sources
from mmerg.settings.commands import DataSettings
from mmerg.sources.exemplars import Exemplars
from mmerg.storage.files import write_output
from mmerg.systems.system import System


def check_data(settings: DataSettings) -> int:
    """Checks what the settings say: 0 sound, 1 something is wrong. Raises MmergError where it cannot be read."""
    system = plan_prompts(settings).system
    out = console()
    reader = make(settings.dataset.reader)
    corpus = read_corpus(reader, settings.dataset.labels)
    selection = select(corpus, settings.protocol)
    selection = replace(selection, samples=shuffle_clips(selection.samples, settings.frames))
    cache_dir = Path(settings.cache_dir)
    sampler = build_keyframe_sampler(settings.frames, system, cache_dir)
    last_turns = settings.frames.last_turns

    own = wanted_clips(corpus)
    flaws: dict[Clip, Flaw] | None = None
    clips = Section({}, [], [escape("clips: the reader reads none; samples have text only")])
    if own or corpus.notes.get("clips_missing"):
        with Bar(out, "clips") as bar:
            wanted = [*own, *ended_clips(own, selection.samples, last_turns)]
            flaws, seconds = examine(wanted, sampler.settings, sampler.store, bar.at)
        bad = bad_clips(corpus, own, flaws, settings.dataset.root)
        clips = check_clips(corpus, own, bad, long_clips(corpus, seconds))
    counts, memory = check_counts(corpus), _memory(settings, system, corpus)
    targets = check_targets(settings.protocol, selection, corpus, last_turns, flaws)

    for line in (*counts.shown, *memory.shown, *targets.shown, *clips.shown):
        out.print(line, soft_wrap=isinstance(line, Text))
    problems = [*counts.problems, *clips.problems, *targets.problems, *memory.problems]
    parts = {"corpus": counts, "clips": clips, "targets": targets, "memory": memory}
    facts = {name: part.facts or None for name, part in parts.items()} | {"problems": problems}
    # Two folders of one name are two corpora: the digest of their files tells them apart.
    name = f"{corpus.name}-{corpus.split}-{corpus.fingerprint[:8]}.json"
    path = Path(settings.out or Path(settings.runs) / ".checks" / name)
    write_output(path, json.dumps(facts, indent=1) + "\n")
    for problem in problems:
        out.print(escape(f"✗ {problem}"), soft_wrap=True)
    if flaws is not None and not own:  # mostly they were not downloaded, or lie elsewhere
        only = "; to check only the words: dataset.reader.clips=false" if hasattr(reader, "clips") else ""
        hint = f"no clip was found: docs/datasets.md shows where to put them under dataset.root{only}"
        out.print(escape(f"next: {hint}"), soft_wrap=True)
    out.print(plural(len(problems), "problem") if problems else "sound")
    print(f"report: {printable(str(path))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 1 if problems else 0


def _memory(settings: DataSettings, system: System, corpus: Corpus) -> Section:
    """The counts of the corpus that exemplars come from, if a run uses one, or why a run would stop there."""
    try:
        sources = build_sources(settings.sources, settings.dataset.memory, system, corpus, Path(settings.cache_dir))
    except (CorpusError, ConfigError) as error:
        stops = "a run would stop here: " if isinstance(error, ConfigError) else ""
        refused = stops + "; ".join(filter(None, (error.what, error.where, error.hint)))
        return Section({"refused": refused}, [f"memory: {refused}"], [])
    source = next((source for source in sources.values() if isinstance(source, Exemplars)), None)
    if source is None:
        return Section({}, [], [])
    part = check_counts(source.source, memory=True)
    problems, line = [*part.problems, *source.foreign()], escape(f"memory: {source.long_enough}")
    return replace(part, problems=problems, shown=[*part.shown, line])
