"""The check of a corpus, from settings to an exit code. The command is `mmerg/data.py`."""

from pathlib import Path

from rich.text import Text

from mmerg.checking.clips import find_bad_clips, find_doubtful_spans, find_long_clips, read_times
from mmerg.checking.report import Section, check_clips, check_counts, check_targets
from mmerg.console.progress import Bar
from mmerg.console.terminal import console, escape, plural
from mmerg.corpora.protocols import select
from mmerg.experiment.build import build_keyframe_sampler, load_corpus
from mmerg.experiment.plan import plan_prompts
from mmerg.experiment.sources import build_sources
from mmerg.settings.model import RunSettings
from mmerg.sources.exemplars import Exemplars


def check_data(settings: RunSettings) -> int:
    """Prints the contents of the corpus and the problems. Returns 0 if there are none, else 1. Raises MmergError if the
    corpus or its memory cannot be read, or if a run would refuse the memory."""
    system, cache_dir, out = plan_prompts(settings).system, Path(settings.cache_dir), console()
    corpus = load_corpus(settings.dataset)
    selection = select(corpus, settings.protocol)
    sections = [check_counts(corpus)]
    sources = build_sources(settings.sources, settings.dataset.memory, system, corpus, cache_dir)
    sections += [_check_memory(source) for source in sources.values() if isinstance(source, Exemplars)][:1]

    sampler = build_keyframe_sampler(settings.frames, system, cache_dir)
    with Bar(out, "lengths of clips") as bar:
        times = read_times(corpus, bar.report)
    doubtful = find_doubtful_spans(corpus, times)
    with Bar(out, "clips") as bar:
        bad = find_bad_clips(selection.samples, doubtful, sampler.settings, sampler.store, bar.report)
    sections += [
        check_targets(settings.protocol, selection, corpus, settings.frames.last_turns, bad),
        check_clips(corpus, bad, find_long_clips(corpus, times), settings.dataset.root),
    ]
    for line in (line for section in sections for line in section.shown):
        out.print(line, soft_wrap=isinstance(line, Text))
    problems = [problem for section in sections for problem in section.problems]
    for problem in problems:
        out.print(escape(f"✗ {problem}"), soft_wrap=True)
    if corpus.absent and not any(turn.clip for dialogue in corpus.dialogues for turn in dialogue.turns):
        can_omit = "clips" in settings.dataset.reader.plain()
        only = "; to check only the words: dataset.reader.clips=false" if can_omit else ""
        hint = f"no clip was found: docs/datasets.md shows where to put them under dataset.root{only}"
        out.print(escape(f"next: {hint}"), soft_wrap=True)
    out.print(plural(len(problems), "problem") if problems else "sound: the corpus, and every clip that a sample shows")
    return 1 if problems else 0


def _check_memory(source: Exemplars) -> Section:
    problems, shown = check_counts(source.source, "memory")
    return Section([*problems, *source.find_foreign_text()], shown)
