"""`manifest.json`: what a run was made with, written and read as one class; and the runs that commands are given.

manifest = read_manifest(Path("runs/meld-merg-qwen3.5-27b-1a2b3c4d"))
manifest.corpus.name, manifest.backbone, manifest.setting("system.max_iterations")    # "meld", "qwen3.5-27b", 2
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, InstanceOf, ValidationError

from mmerg.backends.protocol import SHOWN_DIGEST, Engine
from mmerg.errors import RunError
from mmerg.runs.events import Count
from mmerg.runs.samples import SAMPLES
from mmerg.runs.shards import SHARDS
from mmerg.settings.identity import at
from mmerg.settings.kinds import Plain
from mmerg.settings.model import JudgeSettings, RunSettings
from mmerg.storage.files import open_regular, why
from mmerg.storage.record import Record

MANIFEST, REPORT = "manifest.json", ".mmerg-report"  # what a run and a report are known by
FORMAT = 2
DRY = "dry"  # the backend that asks no model
IMPORTED = "import"  # the backend of replies that another system wrote
AGAIN = "rename or remove the folder and run the same again: its calls come from the reply cache"
_FEW = 3

Word = InstanceOf[str]  # pydantic's own type refuses a lone surrogate, which names from file systems may hold


def _checked(settings: Plain) -> Plain:
    """What is set is of the settings' types. Older manifests may lack some and have others."""
    try:
        (JudgeSettings if "judge" in settings else RunSettings).model_validate(settings)
    except ValidationError as error:
        wrong = [one for one in error.errors() if one["type"] not in ("missing", "extra_forbidden")]
        if wrong:
            raise ValidationError.from_exception_data(error.title, cast("Any", wrong)) from error
    return settings


class Split(Record):
    name: Word
    split: Word


class Corpus(Split):
    """Which dialogues, their label set, and what the reader noted."""

    labels: tuple[Word, ...]
    notes: dict[Word, Any] = Field(default_factory=dict)


class ProtocolSection(Record):
    """What the protocol came to: its n, and why dialogues were left out."""

    description: Word
    samples: Count
    dialogues: Count
    left_out: dict[Word, Count] = Field(default_factory=dict)


class MemorySection(Record):
    """Where exemplars come from."""

    corpus: Split
    entries: Count
    left_out: dict[Word, Count]
    top_k: Count
    embedder: Word
    digest: Word


class Session(Record):
    """A start of the run. how: settings that decide no result."""

    at: Word = ""
    versions: dict[Word, Word] = Field(default_factory=dict)
    git_commit: Word | None = None
    how: dict[Word, Any] = Field(default_factory=dict)


class Started(Record):
    """What any manifest says. identity: digests, which decide who may go on in the folder."""

    format: Literal[2] = 2
    identity: dict[Word, Word]
    engine: Engine
    settings: Annotated[Plain, AfterValidator(_checked)] = Field(default_factory=dict)
    sessions: tuple[Session, ...] = ()

    def text(self) -> str:
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"

    def setting(self, path: str, default: Any = None) -> Any:
        """The setting at a dotted path; `default` where there is none or it is null."""
        found = at(self.settings, path)
        return default if found is None else found


class Manifest(Started):
    """The manifest of a run. memories: where exemplars come from, by symbol. name and tags are the user's."""

    corpus: Corpus
    protocol: ProtocolSection
    memories: dict[Word, MemorySection] = Field(default_factory=dict)
    name: Word = ""
    tags: tuple[Word, ...] = ()

    @property
    def imported(self) -> bool:
        """Whether another system wrote the replies: nothing is known of passes, calls, tokens and times."""
        return self.engine.backend == IMPORTED

    @property
    def system(self) -> str:
        return str(self.setting("system.name", "–"))

    @property
    def backbone(self) -> str:
        """Who is said to have replied: of a dry run no model."""
        return "dry run" if self.engine.backend == DRY else str(self.setting("backbone.name", "–"))


class Judged(Record):
    run: Word
    identity: dict[Word, Word]
    engine: Engine


class JudgingManifest(Started):
    """The manifest of a judging: of which runs, how many items, and what was left out."""

    judged: tuple[Judged, ...]
    items: Count
    left_out: dict[Word, Count]


def read_manifest(path: Path) -> Manifest:
    """The manifest of the run in folder `path`. Raises RunError where it is none, and names the key at fault."""
    found = read_any_manifest(path)
    if isinstance(found, Manifest):
        return found
    names = ", ".join(one.run for one in found.judged)
    hint = f"its figures are in judgement.json; give the run that was judged: {names}"
    raise RunError("this is the folder of a judging, not a run", where=str(path), hint=hint)


def read_any_manifest(path: Path) -> Manifest | JudgingManifest:
    """The same, also of a judging."""
    file = path / MANIFEST
    try:
        with open_regular(file) as opened:
            content = json.loads(opened.read().decode())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _no_run(path) from error
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"the manifest cannot be read: {why(error)}", where=str(file)) from error
    if not isinstance(content, dict):
        raise RunError("the manifest is not one of a run: it is no JSON object", where=str(file))
    if (made := content.get("format", 1)) != FORMAT:
        what = f"this folder was made by another version of mmerg (format {made!r:.20}, not {FORMAT})"
        raise RunError(what, where=str(file), hint=AGAIN)
    try:
        return (JudgingManifest if "judged" in content else Manifest).model_validate(content)
    except ValidationError as error:
        raise RunError(f"the manifest is damaged: {why(error)}", where=str(file), hint=AGAIN) from error


def short(digest: object) -> str:
    """The first digits of a digest or commit, with what stands behind a hyphen, as in `…-dirty`."""
    digits, hyphen, rest = str(digest).partition("-")
    return f"{digits[:SHOWN_DIGEST]}{hyphen}{rest}"


@dataclass(frozen=True)
class About:
    """A run folder and its manifest: what must stand beside every figure of the run."""

    path: Path
    manifest: Manifest

    @property
    def run(self) -> str:
        return self.path.resolve().name  # also of "."


def check_runs(paths: Sequence[Path]) -> list[About]:
    """The runs in these folders. Raises RunError where one is none, or is given twice, by whatever paths."""
    seen: dict[Path, Path] = {}
    for path in paths:
        if before := seen.get(path.resolve()):
            raise RunError("a run is given twice", where=f"{before} and {path}", hint="give each run once")
        seen[path.resolve()] = path
    return [About(path, read_manifest(path)) for path in paths]


def read_abouts(paths: Sequence[Path]) -> list[About]:
    """The same. Raises RunError also where two have the same name, as nothing could tell them apart."""
    found: dict[str, About] = {}
    for about in check_runs(paths):
        if (before := found.setdefault(about.run, about)) is not about:
            where = f"{before.path} and {about.path}"
            raise RunError(f"two runs are called {about.run}", where=where, hint="rename the folder of one of them")
    return list(found.values())


def _no_run(path: Path) -> RunError:
    """What a folder without a manifest is, as far as can be seen, and what to give instead."""
    runs = [str(file.parent) for file in sorted(path.glob(f"*/{MANIFEST}")) if _looks_like_one(file.parent)]
    around = next((str(above) for above in path.absolute().parents if _looks_like_one(above)), "")
    what, hint = "it has no manifest.json", "see `ls runs/`"
    if not path.exists():
        what = "there is no such folder"
    elif (path / SHARDS).is_dir():
        what, hint = "its shards are not merged yet", f"mmerg merge {path}"
    elif runs:
        what = "it holds runs"
        hint = f"give one of them, or several: {' '.join(runs[:_FEW])}{' …' if len(runs) > _FEW else ''}"
    elif (path / REPORT).exists():
        what, hint = "it is a report", f"give the run that it was made of: {around or 'its folder has a manifest.json'}"
    elif around:
        what, hint = "it is a part of one", f"give the whole: {around}"
    elif path.is_file():
        what = "it is a file"
    return RunError(f"this is not a run folder: {what}", where=str(path), hint=hint)


def _looks_like_one(folder: Path) -> bool:
    """Others call a file manifest.json, too."""
    return (folder / MANIFEST).is_file() and (folder / SAMPLES).is_dir()
