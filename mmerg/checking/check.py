"""One check of a corpus, from a composed config to an exit code; `mmerg/data.py` is its command.

Reads top to bottom: the corpus, its clips, the protocol's samples, the memory's corpus, the report, the contact sheet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from rich.console import Console
from rich.text import Text

from mmerg.checking.clips import HARMLESS, Wanted, ended_clips, examine, listed, wanted_clips
from mmerg.checking.counts import counted
from mmerg.checking.report import BadClip, Clips, Part, Report, merged
from mmerg.checking.tables import tables
from mmerg.checking.targets import official_samples, targets
from mmerg.console.bar import Bar
from mmerg.console.terminal import console, escape, shown
from mmerg.corpora.dialogue import Clip, Corpus, Sample
from mmerg.corpora.protocols import chosen
from mmerg.corpora.published import expected, known_bad
from mmerg.corpora.reading import read_corpus
from mmerg.engine.look import Looker
from mmerg.errors import ConfigError, CorpusError, unwritable
from mmerg.experiment.wiring import looker_of, make, memory_corpus_of, prompts_of, protocol_of
from mmerg.settings.bounds import check
from mmerg.settings.compose import resolve
from mmerg.systems.system import System

MOST_ON_A_SHEET = 100  # samples; a picture of more can hardly be opened


def check_data(config: DictConfig) -> int:
    """Checks what `config` says: 0 sound, 1 something is wrong. Raises MmergError where it cannot be read."""
    plain = resolve(config)
    check(plain)
    _check_own(plain)
    system = prompts_of(plain).system
    out = console()
    reader = make(plain["dataset"]["reader"])
    corpus = read_corpus(reader, plain["dataset"]["labels"])
    protocol = protocol_of(plain)
    selection = protocol.select(corpus)
    shown_samples = chosen(selection.samples, plain["ids"], plain["limit"])
    looker = looker_of(plain)

    last_turns = plain["frames"]["last_turns"]
    clips, useless = _clips(out, plain, corpus, ended_clips(corpus, selection.samples, last_turns), looker)
    memory, unread, refused = _memory(plain, system, corpus)
    published = expected(corpus.name, corpus.split)
    n = official_samples(protocol, published, len(corpus.labels))
    report = Report(
        corpus=part(corpus),
        clips=clips,
        targets=targets(protocol, selection, corpus.labels, last_turns, useless, n),
        memory=memory,
        unread=unread,
        refused=refused,
    )
    for table in tables(report):
        out.print(table, soft_wrap=isinstance(table, Text))
    # Two folders of one name are two corpora: the digest of their files tells them apart.
    name = f"{corpus.name}-{corpus.split}-{corpus.fingerprint[:8]}.json"
    path = Path(plain["out"] or Path(plain["runs"]) / ".checks" / name)
    _write(path, report.to_json())
    problems = report.problems()
    for problem in problems:
        out.print(escape(f"✗ {problem}"), soft_wrap=True)
    if hint := _hint(plain, reader, report):
        out.print(escape(f"next: {hint}"), soft_wrap=True)
    out.print(f"{len(problems)} problem{'s' * (len(problems) > 1)}" if problems else "sound")
    if plain["sheet"]:
        _sheet(path.with_suffix(".png"), plain, corpus, shown_samples, looker)
    print(f"report: {shown(str(path))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 1 if problems else 0


def part(corpus: Corpus) -> Part:
    """A corpus against its official counts."""
    official = expected(corpus.name, corpus.split)
    counts = counted(corpus, official)
    source = official.source if official else None
    return Part(corpus.name, corpus.split, corpus.fingerprint, counts, source, dict(corpus.notes))


def _check_own(plain: Mapping[str, Any]) -> None:
    """Raises ConfigError for a value of this command's own settings that makes no sense."""
    if plain["clips"] not in ("open", "list"):
        raise ConfigError(f"clips is {plain['clips']!r}", where="configuration", hint="one of open, list")
    if not 0 <= plain["sheet"] <= MOST_ON_A_SHEET:
        hint = f"so many samples on the sheet, from 0 to {MOST_ON_A_SHEET}"
        raise ConfigError(f"sheet is {plain['sheet']!r}", where="configuration", hint=hint)
    if plain["out"] is not None and Path(plain["out"]).suffix != ".json":
        hint = "a file that ends in .json; the sheet goes beside it as .png"
        raise ConfigError(f"out is {plain['out']!r}", where="configuration", hint=hint)


def _clips(
    out: Console, plain: Mapping[str, Any], corpus: Corpus, ended: Sequence[Wanted], looker: Looker
) -> tuple[Clips | None, dict[Clip, str]]:
    """What is to be said of the corpus's clips (None: the reader looks for none); and which of them, and of those
    `ended` for a sample, give no frames, and why."""
    wanted = wanted_clips(corpus)
    missing = corpus.notes.get("clips_missing", 0)
    if not wanted and not missing:
        return None, {}
    files = {one.clip.path for one in wanted}
    if plain["clips"] == "list":
        flaws = listed([*wanted, *ended])
    else:
        with Bar(out, "clips") as bar:
            flaws = examine([*wanted, *ended], looker.settings, looker.store, bar.at)
    own = {one.clip for one in wanted}
    known = known_bad(corpus.name, corpus.split)
    bad = [
        _bad(file or turn, (turn,), "missing", "there is no such file", known) for turn, file in corpus.absent.items()
    ]
    root = plain["dataset"]["root"]
    bad += [
        _bad(_name(flaw.clip.path, root), flaw.turns, flaw.reason, flaw.what, known)
        for flaw in flaws
        if flaw.clip in own
    ]
    with_clip = sum(len(one.turns) for one in wanted)
    total = sum(len(dialogue.turns) for dialogue in corpus.dialogues)
    useless = {flaw.clip: flaw.reason for flaw in flaws if flaw.costs_frames}
    return Clips(plain["clips"], len(files), with_clip, total, missing, merged(bad)), useless


def _name(path: Path, root: str | None) -> str:
    """The path under the dataset's folder, or the file's name where that is elsewhere."""
    places = [Path(root), Path(root).resolve()] if root else []
    return str(next((path.relative_to(place) for place in places if path.is_relative_to(place)), path.name))


def _bad(name: str, turns: tuple[str, ...], reason: str, what: str, known: Mapping[str, str]) -> BadClip:
    return BadClip(name, turns, reason, what, known.get(Path(name).stem) == reason, reason in HARMLESS)


def _memory(plain: dict[str, Any], system: System, corpus: Corpus) -> tuple[Part | None, str, str]:
    """The corpus that exemplars come from, if a run would use one; or why it cannot be read; or why a run would refuse
    it."""
    try:
        source = memory_corpus_of(plain, system, corpus)
    except (CorpusError, ConfigError) as error:
        told = "; ".join(said for said in (error.what, error.where, error.hint) if said)
        return (None, told, "") if isinstance(error, CorpusError) else (None, "", told)
    return part(source) if source else None, "", ""


def _hint(plain: Mapping[str, Any], reader: object, report: Report) -> str:
    """What to do where no clip is there at all: mostly they were not downloaded, or lie elsewhere."""
    if report.clips is None or report.clips.turns:
        return ""
    words = "dataset.reader.clips=false" if "clips" in plain["dataset"]["reader"] else "+dataset.reader.clips=false"
    only = f"; to check the words alone: {words}" if hasattr(reader, "clips") else ""
    return f"no clip was found: docs/datasets.md says where they are looked for under dataset.root{only}"


def _sheet(path: Path, plain: Mapping[str, Any], corpus: Corpus, samples: Sequence[Sample], looker: Looker) -> None:
    """Draw and write the contact sheet; its path is printed."""
    from mmerg.checking.sheet import contact_sheet, png, spread

    drawn = spread(samples, plain["sheet"])
    if not drawn:
        print("no sheet: there is no sample to draw")  # noqa: T201
        return
    frames = plain["frames"]
    how = ", ".join(f"{key} {frames[key]}" for key in ("last_turns", "max_frames", "per_clip", "method", "long_side"))
    title = f"{corpus.name} {corpus.split}: what {len(drawn)} of {len(samples)} samples show the model ({how})"
    _write(path, png(contact_sheet(title, drawn, looker, plain["backbone"]["max_images"])))
    print(f"sheet: {shown(str(path))}")  # noqa: T201


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise unwritable(error, path) from error
