"""One check of a corpus, from settings to an exit code; `mmerg/data.py` is its command."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from mmerg.checking.clips import HARMLESS, Flaw, Wanted, ended_clips, examine, listed, wanted_clips
from mmerg.checking.report import BadClip, Clips, Part, Report, part, targets
from mmerg.checking.tables import tables
from mmerg.console.progress import Bar
from mmerg.console.terminal import console, escape, plural, printable
from mmerg.corpora.dialogue import Clip, Corpus, Sample
from mmerg.corpora.protocols import chosen, select
from mmerg.corpora.published import known_bad
from mmerg.corpora.reading import read_corpus
from mmerg.engine.look import Looker, shuffle_clips
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.wiring import looker_of, make, prepared_sources, prompts_of
from mmerg.settings.model import DataSettings
from mmerg.sources.exemplars import Exemplars
from mmerg.storage.files import write_whole
from mmerg.systems.system import System


def check_data(settings: DataSettings) -> int:
    """Checks what the settings say: 0 sound, 1 something is wrong. Raises MmergError where it cannot be read."""
    system = prompts_of(settings).system
    out = console()
    reader = make(settings.dataset.reader)
    corpus = read_corpus(reader, settings.dataset.labels)
    selection = select(corpus, settings.protocol)
    selection = replace(selection, samples=shuffle_clips(selection.samples, settings.frames))
    to_draw = chosen(selection.samples, settings.ids, settings.limit)
    looker = looker_of(settings, system)
    last_turns = settings.frames.last_turns

    own, clips = wanted_clips(corpus), None
    flaws: dict[Clip, Flaw] = {}
    if own or corpus.notes.get("clips_missing"):
        wanted = [*own, *ended_clips(own, selection.samples, last_turns)]
        if settings.clips == "list":
            flaws = listed(wanted)
        else:
            with Bar(out, "clips") as bar:
                flaws = examine(wanted, looker.settings, looker.store, bar.at)
        clips = _clips(corpus, own, flaws, settings.clips, settings.dataset.root)
    useless = {clip: flaw.reason for clip, flaw in flaws.items() if flaw.reason not in HARMLESS}
    taken = targets(settings.protocol, selection, corpus, last_turns, useless)
    report = Report(part(corpus), clips, taken, *_memory(settings, system, corpus))

    for table in tables(report):
        out.print(table, soft_wrap=isinstance(table, Text))
    # Two folders of one name are two corpora: the digest of their files tells them apart.
    name = f"{corpus.name}-{corpus.split}-{corpus.fingerprint[:8]}.json"
    path = Path(settings.out or Path(settings.runs) / ".checks" / name)
    write_whole(path, report.to_json())
    problems = report.problems()
    for problem in problems:
        out.print(escape(f"✗ {problem}"), soft_wrap=True)
    if clips and not clips.turns:  # mostly they were not downloaded, or lie elsewhere
        only = "; to check the words alone: dataset.reader.clips=false" if hasattr(reader, "clips") else ""
        hint = f"no clip was found: docs/datasets.md says where they are looked for under dataset.root{only}"
        out.print(escape(f"next: {hint}"), soft_wrap=True)
    out.print(plural(len(problems), "problem") if problems else "sound")
    if settings.sheet:
        _sheet(path.with_suffix(".html"), settings, corpus, to_draw, looker)
    print(f"report: {printable(str(path))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 1 if problems else 0


def _clips(
    corpus: Corpus, wanted: Sequence[Wanted], flaws: Mapping[Clip, Flaw], looked: str, root: str | None
) -> Clips:
    """What is to be said of the corpus's clips; a file is named by its path under `root`, or its name alone where it is
    elsewhere."""
    roots = [Path(root), Path(root).resolve()] if root else []
    turns: dict[tuple[str, Flaw], list[str]] = {}  # many may share a file
    for turn, file in corpus.absent.items():
        turns.setdefault((file or turn, Flaw("missing", "there is no such file")), []).append(turn)
    for one in wanted:
        if flaw := flaws.get(one.clip):
            path = one.clip.path
            name = next((path.relative_to(place) for place in roots if path.is_relative_to(place)), path.name)
            turns.setdefault((str(name), flaw), []).extend(one.turns)
    known = known_bad(corpus.name, corpus.split)
    bad = [
        BadClip(name, tuple(of), *flaw, known.get(Path(name).stem) == flaw.reason, flaw.reason in HARMLESS)
        for (name, flaw), of in turns.items()
    ]
    return Clips(
        looked=looked,
        files=len({one.clip.path for one in wanted}),
        turns=sum(len(one.turns) for one in wanted),
        of=sum(len(dialogue.turns) for dialogue in corpus.dialogues),
        missing=corpus.notes.get("clips_missing", 0),
        bad=bad,
    )


def _memory(settings: DataSettings, system: System, corpus: Corpus) -> tuple[Part | None, str]:
    """The corpus that exemplars come from, if a run would use one; or why a run could not."""
    try:
        sources = prepared_sources(settings, system, corpus).values()
    except (CorpusError, ConfigError) as error:
        stops = "a run would stop here: " if isinstance(error, ConfigError) else ""
        return None, stops + "; ".join(filter(None, (error.what, error.where, error.hint)))
    corpora = [source.source for source in sources if isinstance(source, Exemplars)]
    return part(corpora[0]) if corpora else None, ""


def _sheet(path: Path, settings: DataSettings, corpus: Corpus, samples: Sequence[Sample], looker: Looker) -> None:
    """Write the contact sheet; its path is printed."""
    from mmerg.checking.sheet import contact_sheet, spread

    drawn = spread(samples, settings.sheet)
    if not drawn:
        print("no sheet: there is no sample to draw")  # noqa: T201
        return
    keys = ("last_turns", "max_frames", "per_clip", "method", "long_side")
    how = ", ".join(f"{key} {getattr(settings.frames, key)}" for key in keys)
    title = f"{corpus.name} {corpus.split}: what {len(drawn)} of {len(samples)} samples show the model ({how})"
    write_whole(path, contact_sheet(title, drawn, looker, settings.backbone.max_images))
    print(f"sheet: {printable(str(path))}")  # noqa: T201
