"""What a manifest must be like for those who read it, and what a folder is that has none.

A manifest may be of an older version, and so lack a part; a part that is there is whole and of the right kind, so that
nobody who reads it meets a text where a number should be. What of it decides nothing here is not looked at.

    checked(json.loads(text), file)    # RunError that names the key
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from mmerg.errors import RunError
from mmerg.runs.lines import why

REPORT = ".mmerg-report"  # what a report's folder is known by
AGAIN = "run it again with this version: its calls come from the cache"
_FEW = 3
_DIGITS = 12


def _text(value: Any) -> Any:
    """Not pydantic's own: that refuses a lone surrogate, which names from file systems may hold."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is no text")  # noqa: TRY004 - as pydantic takes it
    return value


Word = Annotated[Any, BeforeValidator(_text)]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Engine(_Part):
    backend: Word
    version: Word
    model: Word
    digest: Word


class _Read(_Part):
    name: Word
    split: Word


class _Corpus(_Read):
    labels: list[Word]


class _Protocol(_Part):
    told: Word
    samples: Count
    targets: Word | None = None


class _Memory(_Part):
    corpus: _Read
    entries: Count
    top_k: Count
    left_out: dict[Word, Count]


class _Dataset(_Part):
    name: Word = ""
    split: Word | None = None
    variant: Word | None = None
    sessions: list[Word | int] | None = None


class _Stage(_Part):
    sees: list[Word] | None = None


class _System(_Part):
    name: Word = ""
    stages: dict[Word, _Stage] = {}
    vocabulary: dict[Word, list[Word]] | None = None
    max_iterations: Count | None = None
    without: list[Word] | None = None
    organization: Word | None = None
    final_selection: Word | None = None


class _Named(_Part):
    name: Word = ""


class _Exemplars(_Part):
    top_k: Count | None = None


class _Targets(_Part):
    emotions: Word | list[Word] | None = None


class _Config(_Part):
    dataset: _Dataset = _Dataset()
    system: _System = _System()
    backbone: _Named = _Named()
    memory: _Exemplars | None = None
    protocol: _Targets | None = None
    seed: int | None = None


class _Manifest(_Part):
    identity: dict[Word, Word]
    engine: _Engine
    corpus: _Corpus | None = None
    protocol: _Protocol | None = None
    memory: _Memory | None = None
    config: _Config = _Config()
    versions: dict[Word, Any] = {}


def checked(content: Any, file: Path) -> dict[str, Any]:
    """The manifest that was read from `file`. Raises RunError where it is none, naming the key."""
    if not isinstance(content, dict):
        raise RunError("the manifest is not one of a run: it is no JSON object", where=str(file))
    try:
        _Manifest.model_validate(content)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        what = f"the manifest is not one of this version: {place}: {why(error).removeprefix('Value error, ')}"
        raise RunError(what, where=str(file), hint=AGAIN) from error
    return content


def needed(manifest: Mapping[str, Any], parts: Sequence[str], path: Path) -> None:
    """Raises RunError where the `checked` manifest in `path` is a judging's, or lacks one of `parts`, named by their
    dotted paths."""
    refuse_judging(manifest, path)
    for part in parts:
        *above, last = part.split(".")
        if not reduce(node, above, manifest).get(last):
            raise RunError(f"the manifest has no {part}", where=str(path), hint=AGAIN)


def node(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a manifest that has parts, empty where it is not there."""
    found = parent.get(name)
    return found if isinstance(found, Mapping) else {}


def words(value: Any) -> list[str]:
    """What a part lists, none where it is no list."""
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def short(value: Any) -> str:
    """The first digits of a digest or commit, and what stands behind a hyphen, as in `…-dirty`."""
    digits, hyphen, rest = str(value).partition("-")
    return f"{digits[:_DIGITS]}{hyphen}{rest}"


def refuse_judging(manifest: Mapping[str, Any], path: Path) -> None:
    """Raises RunError for the folder of a judging, which has verdicts on a run and no replies of its own."""
    if "judged" not in manifest:
        return
    judged = manifest["judged"].get("runs") if isinstance(manifest["judged"], dict) else None
    names = [str(one.get("run")) for one in judged if isinstance(one, dict)] if isinstance(judged, list) else []
    raise RunError(
        "this is the folder of a judging, not a run",
        where=str(path),
        hint=f"its figures are in judgement.json; give the run that was judged: {', '.join(names) or 'unknown'}",
    )


def no_run(path: Path) -> RunError:
    """What to say of a folder without a manifest: what it is, as far as that can be seen, and what to give instead."""
    files = sorted(path.glob("*/manifest.json"))
    runs = [str(file.parent) for file in files if _looks_like_one(file.parent)]
    around = next((str(above) for above in path.absolute().parents if _looks_like_one(above)), "")
    what, hint = "it has no manifest.json", "see `ls runs/`"
    if not path.exists():
        what = "there is no such folder"
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
    return (folder / "manifest.json").is_file() and (folder / "trace.jsonl").is_file()
