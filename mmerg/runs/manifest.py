"""`manifest.json`, which describes the settings, engine and inputs of a run; and references to runs.

manifest = read_manifest(Path("runs/meld-merg-qwen3.5-27b-1a2b3c4d"))
manifest.corpus.name, manifest.backbone, manifest.setting("system.max_iterations")    # "meld", "qwen3.5-27b", 2
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field

from mmerg.backends.protocol import SHOWN_DIGEST, Engine
from mmerg.errors import RunError
from mmerg.runs.events import Count
from mmerg.runs.shards import SHARDS
from mmerg.settings.kinds import Plain
from mmerg.settings.tree import get_path
from mmerg.storage.files import describe_error, get_name
from mmerg.storage.record import Record

MANIFEST = "manifest.json"
DRY = "dry"  # the backend that calls no model
IMPORTED = "import"  # the backend of imported replies
AGAIN = "rename or remove the folder, then run the same command again: finished calls come from the completion cache"


class Split(Record):
    name: str
    split: str


class Corpus(Split):
    """The evaluated corpus: its name and split, its label set, and the reader's notes."""

    labels: tuple[str, ...]
    notes: dict[str, Any] = Field(default_factory=dict)


class ProtocolSection(Record):
    """The result of the protocol: the number of samples and dialogues, and of excluded ones by reason (`skipped`)."""

    description: str
    samples: Count
    dialogues: Count
    skipped: dict[str, Count] = Field(default_factory=dict)


class MemorySection(Record):
    """A memory of exemplars. skipped: the number of turns that are no entries, by reason."""

    corpus: Split
    entries: Count
    skipped: dict[str, Count]
    top_k: Count
    embedder: str
    digest: str


class Session(Record):
    """A start of the run. how: the settings that do not affect results."""

    at: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    git_commit: str | None = None
    how: dict[str, Any] = Field(default_factory=dict)


class BaseManifest(Record):
    """The fields of every manifest."""

    format: Literal[2] = 2
    identity: dict[str, str]  # see `mmerg.runs.identity`
    engine: Engine
    settings: Plain = Field(default_factory=dict)  # of the first start
    sessions: tuple[Session, ...] = ()
    records: Count | None = None  # their number; None until a start ends
    digest: str = ""  # of all fields but `sessions`, `name` and `tags`

    def with_digest(self, records: int | None = None) -> Self:
        """Returns the manifest with the number of records and its digest."""
        manifest = self.model_copy(update={"records": records})
        fields = manifest.model_dump(mode="json", exclude_defaults=True, exclude={"digest", "sessions", "name", "tags"})
        digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]
        return manifest.model_copy(update={"digest": digest})

    def setting(self, path: str, default: Any = None) -> Any:
        """Returns the setting at a dotted path; `default` if it is missing or null."""
        value = get_path(self.settings, path)
        return default if value is None else value


class Manifest(BaseManifest):
    """The manifest of a run."""

    corpus: Corpus
    protocol: ProtocolSection
    memories: dict[str, MemorySection] = Field(default_factory=dict)  # by the symbol of their source
    name: str = ""
    tags: tuple[str, ...] = ()

    @property
    def imported(self) -> bool:
        """True if the replies were imported, so that their passes, calls, tokens and times are unknown."""
        return self.engine.backend == IMPORTED

    @property
    def custom_name(self) -> str:
        """The name and tags that the user set (`name=`, `tags=`); "" if there are none."""
        return " ".join(filter(None, (self.name, *self.tags)))

    @property
    def system(self) -> str:
        return str(self.setting("system.name", "–"))

    @property
    def backbone(self) -> str:
        """The name of the model that replied; "dry run" if none did."""
        return "dry run" if self.engine.backend == DRY else str(self.setting("backbone.name", "–"))


class JudgedRun(Record):
    run: str
    identity: dict[str, str]
    engine: Engine


class JudgingManifest(BaseManifest):
    """The manifest of a judging, with the number of items, and of excluded ones by reason (`skipped`)."""

    judged: tuple[JudgedRun, ...]
    items: Count
    skipped: dict[str, Count]


@dataclass(frozen=True)
class RunRef:
    path: Path
    manifest: Manifest

    @property
    def run(self) -> str:
        return get_name(self.path)


def read_manifest(path: Path) -> Manifest:
    """Reads the manifest of a run. Raises RunError, which names the wrong field, if it is missing or invalid."""
    manifest = read_any_manifest(path)
    if isinstance(manifest, Manifest):
        return manifest
    names = ", ".join(judged.run for judged in manifest.judged)
    hint = f"its scores are in judgement.json; name the judged run instead: {names}"
    raise RunError("this folder holds a judgement, not a run", where=str(path), hint=hint)


def read_any_manifest(path: Path) -> Manifest | JudgingManifest:
    """Reads the manifest of a run or judging. Raises RunError if it is missing or invalid, or was changed."""
    file = path / MANIFEST
    try:
        content = json.loads(file.read_bytes())
        is_judging = isinstance(content, dict) and "judged" in content
        manifest = (JudgingManifest if is_judging else Manifest).model_validate(content)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _missing_run_error(path) from error
    except (OSError, ValueError) as error:
        what = f"the manifest is damaged or of another version of mmerg: {describe_error(error)}"
        raise RunError(what, where=str(file), hint=AGAIN) from error
    if manifest.with_digest(manifest.records) != manifest:
        what, hint = "this manifest was changed after the run wrote it", "restore it, or run again in a new folder"
        raise RunError(what, where=str(file), hint=hint)
    return manifest


def read_run_refs(paths: Sequence[Path]) -> list[RunRef]:
    """Reads the manifests of runs. Raises RunError if a folder has no run, or if two runs have the same name."""
    first: dict[str, Path] = {}
    for path in paths:
        name = path.resolve().name
        if before := first.get(name):
            what, hint = "two runs have the same name", "name each run once, or rename one of them"
            raise RunError(what, where=f"{before} and {path}", hint=hint)
        first[name] = path
    return [RunRef(path, read_manifest(path)) for path in paths]


def _missing_run_error(path: Path) -> RunError:
    """Builds the error for a folder without a manifest. It suggests runs in the folder or beside it."""
    if (path / SHARDS).is_dir():
        what, hint = "its shards are not merged yet", f"merge them: mmerg merge {path}"
    else:
        what = f"it has no {MANIFEST}" if path.exists() else "there is no such folder"
        folders = [path] if path.exists() else [path.parent / "runs", path.parent]
        runs = {run.name: str(run) for folder in folders for run in list_runs(folder)}
        near = get_close_matches(path.name, runs, 3) or list(runs)[:3]
        hint = f"name a run folder: {' '.join(runs[name] for name in near)}" if near else "see `ls runs/`"
    return RunError(f"this is not a run folder: {what}", where=str(path), hint=hint)


def list_runs(folder: Path) -> list[Path]:
    """Lists the run folders in a folder, the latest first."""
    files = sorted(folder.glob(f"*/{MANIFEST}"), key=lambda file: file.stat().st_mtime, reverse=True)
    return [file.parent for file in files]


def shorten_digest(digest: object) -> str:
    """Returns the first digits of a digest or commit, with its suffix, such as `-dirty`."""
    digits, hyphen, rest = str(digest).partition("-")
    return f"{digits[:SHOWN_DIGEST]}{hyphen}{rest}"
