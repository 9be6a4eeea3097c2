"""One check of a corpus, from a composed config to an exit code; `mmerg/data.py` is its command.

Reads top to bottom: the corpus, its clips, the protocol's samples, the memory's corpus, the report, the contact sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from mmerg.checking.clips import HARMLESS, Wanted, ended_clips, examine, listed, wanted_clips
from mmerg.checking.report import BadClip, Clips, Part, Report, merged, part, targets
from mmerg.checking.tables import tables
from mmerg.console.bar import Bar
from mmerg.console.terminal import console, escape, plural, shown
from mmerg.corpora.dialogue import Clip, Corpus, Sample
from mmerg.corpora.protocols import chosen
from mmerg.corpora.published import known_bad
from mmerg.corpora.reading import read_corpus
from mmerg.engine.look import Looker
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.wiring import looker_of, make, prepared_sources, prompts_of, protocol_of
from mmerg.settings.model import DataSettings
from mmerg.sources.exemplars import Prepared
from mmerg.storage.files import write_whole
from mmerg.systems.system import System


def check_data(settings: DataSettings) -> int:
    """Checks what the settings say: 0 sound, 1 something is wrong. Raises MmergError where it cannot be read."""
    system = prompts_of(settings).system
    out = console()
    reader = make(settings.dataset.reader)
    corpus = read_corpus(reader, settings.dataset.labels)
    protocol = protocol_of(settings.protocol)
    selection = protocol.select(corpus)
    shown_samples = chosen(selection.samples, settings.ids, settings.limit)
    looker = looker_of(settings, system)

    last_turns = settings.frames.last_turns
    clips, useless = _clips(out, settings, corpus, ended_clips(corpus, selection.samples, last_turns), looker)
    taken = targets(protocol, selection, corpus, last_turns, useless)
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
        _sheet(path.with_suffix(".html"), settings, corpus, shown_samples, looker)
    print(f"report: {shown(str(path))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 1 if problems else 0


def _clips(
    out: Console, settings: DataSettings, corpus: Corpus, ended: Sequence[Wanted], looker: Looker
) -> tuple[Clips | None, dict[Clip, str]]:
    """What is to be said of the corpus's clips (None: the reader looks for none); and which of them, and of those
    `ended` for a sample, give no frames, and why."""
    wanted = wanted_clips(corpus)
    missing = corpus.notes.get("clips_missing", 0)
    if not wanted and not missing:
        return None, {}
    if settings.clips == "list":
        flaws = listed([*wanted, *ended])
    else:
        with Bar(out, "clips") as bar:
            flaws = examine([*wanted, *ended], looker.settings, looker.store, bar.at)
    own, known, root = {one.clip for one in wanted}, known_bad(corpus.name, corpus.split), settings.dataset.root

    def bad(name: str, turns: tuple[str, ...], reason: str, what: str) -> BadClip:
        return BadClip(name, turns, reason, what, known.get(Path(name).stem) == reason, reason in HARMLESS)

    gone = [bad(file or turn, (turn,), "missing", "there is no such file") for turn, file in corpus.absent.items()]
    found = [bad(_name(one.clip.path, root), one.turns, one.reason, one.what) for one in flaws if one.clip in own]
    clips = Clips(
        looked=settings.clips,
        files=len({one.clip.path for one in wanted}),
        turns=sum(len(one.turns) for one in wanted),
        of=sum(len(dialogue.turns) for dialogue in corpus.dialogues),
        missing=missing,
        bad=merged([*gone, *found]),
    )
    return clips, {flaw.clip: flaw.reason for flaw in flaws if flaw.costs_frames}


def _name(path: Path, root: str | None) -> str:
    """The path under the dataset's folder, or the file's name where that is elsewhere."""
    places = [Path(root), Path(root).resolve()] if root else []
    return str(next((path.relative_to(place) for place in places if path.is_relative_to(place)), path.name))


def _memory(settings: DataSettings, system: System, corpus: Corpus) -> tuple[Part | None, str, str]:
    """The corpus that exemplars come from, if a run would use one; or why it cannot be read; or why a run would refuse
    it."""
    try:
        sources = prepared_sources(settings, system, corpus).values()
    except (CorpusError, ConfigError) as error:
        told = "; ".join(filter(None, (error.what, error.where, error.hint)))
        return (None, told, "") if isinstance(error, CorpusError) else (None, "", told)
    corpora = [source.corpus for source in sources if isinstance(source, Prepared)]
    return part(corpora[0]) if corpora else None, "", ""


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
    print(f"sheet: {shown(str(path))}")  # noqa: T201
