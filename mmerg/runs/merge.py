"""Puts the shards of a run together: the run folder then holds what one process would have written.

A first pass notes where each sample's line lies; then results are copied in corpus order, some thousand at a time, so
that memory and open files do not grow with the shards. Events and frames are links to the shards' files, or copies
where links cannot be. Once all was read, the manifest of an earlier merge goes, and a folder without is no run: a merge
that was broken off is made again. The shards stay as they are.

    merge(Path("runs/meld-merg-qwen3.5-27b-1a2b3c4d")).samples
"""

from __future__ import annotations

import json
import os
import shutil
from array import array
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mmerg.errors import RunError, some
from mmerg.runs.folder import FRAMES, RESULTS, changes, hold
from mmerg.runs.manifest import MANIFEST, Manifest, read_manifest
from mmerg.runs.samples import ENDING, SAMPLES, file_name
from mmerg.runs.shards import SHARDS, Shard, read_order, shards_in
from mmerg.storage.files import PART, open_regular, private_folder, replacing, why, write_whole, writing

_AT_ONCE = 10_000  # lines that are held in memory
_SAME = ("engine", "corpus", "protocol", "memories", "name", "tags")  # of a manifest, beside its identity
_AGAIN = "run it again: mmerg run … shard={}, which goes on where it stands"


@dataclass(frozen=True)
class Merged:
    """What was put together. missing: samples of the protocol that no shard finished."""

    shards: int
    samples: int
    failed: int
    missing: int

    @property
    def code(self) -> int:
        """The exit code: 0 all fine, 1 some samples failed or are missing."""
        return 1 if self.failed or self.missing else 0

    def __str__(self) -> str:
        """3 shards, 24 samples (1 failed)."""
        told = ", ".join(f"{count} {name}" for name in ("failed", "missing") if (count := getattr(self, name)))
        of = f"{self.shards} shard{'s' * (self.shards != 1)}, {self.samples} sample{'s' * (self.samples != 1)}"
        return f"{of} ({told})" if told else of


@dataclass(frozen=True)
class _Part:
    """A shard that is there."""

    shard: Shard
    path: Path
    manifest: Manifest

    def lines(self) -> Iterator[tuple[str, tuple[int, bool]]]:
        """Of each result its sample, where its line begins, and whether it failed; of several of a sample the last
        counts. A last line that is cut off is passed over. Raises RunError where another is no result."""
        begin = number = 0
        try:
            with open_regular(self.path / RESULTS) as file:
                for number, line in enumerate(file, start=1):  # noqa: B007 - told below
                    if not line.endswith(b"\n"):
                        return
                    result = json.loads(line)
                    yield str(result["id"]), (begin, result["status"] == "failed")
                    begin += len(line)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            what, hint = f"line {number} is no result", f"remove that line; {_AGAIN.format(self.shard)}"
            raise RunError(what, where=str(self.path / RESULTS), hint=hint) from error
        except OSError as error:
            what, hint = f"the results cannot be read: {why(error)}", f"move them away; {_AGAIN.format(self.shard)}"
            raise RunError(what, where=str(self.path / RESULTS), hint=hint) from error


@dataclass
class _Found:
    """What was found in the shards. owners, begins: by place in the corpus, the number of the shard that has the sample
    (0: none), and where its line begins there (-1: it is not finished). lacking: the samples that each shard has not
    finished. states: each shard's results as they were read."""

    owners: array[int]
    begins: array[int]
    failed: int = 0
    lacking: dict[Shard, list[str]] = field(default_factory=dict)
    states: dict[Shard, tuple[int, ...]] = field(default_factory=dict)

    @contextmanager
    def held(self, part: _Part) -> Iterator[None]:
        """Nobody else writes the shard. Raises RunError where somebody does, or did since it was first held."""
        with writing(part.path):
            handle = hold(part.path / RESULTS)
        try:
            now = os.fstat(handle)
            state = now.st_ino, now.st_size, now.st_mtime_ns
            if self.states.setdefault(part.shard, state) != state:
                raise RunError("it was written while it was merged", where=str(part.path), hint="merge again")
            yield
        finally:
            os.close(handle)


def merge(run: Path, partial: bool = False) -> Merged:
    """Puts the shards in `run` together. partial: with what is there, though shards or samples are missing.

    Raises RunError, with nothing changed, where one is missing, half done, being written, or made with other settings;
    where a sample is in two; and where the folder holds what no shard does.
    """
    parts = _parts(run)
    merged = _manifest(parts)
    found = _look(parts, merged.protocol.samples, partial)
    if found.lacking and not partial:
        [shard, lacking], *_ = found.lacking.items()
        count = sum(map(len, found.lacking.values()))
        what = f"{count} samples of {len(found.lacking)} shards are not finished, of shard {shard} {some(lacking, 3)}"
        hint = f"{_AGAIN.format(shard)}; --partial merges what is there, as after `limit`"
        raise RunError(what, where=str(run), hint=hint)
    with writing(run):
        handle = hold(run / RESULTS)
    try:
        samples = sum(begin >= 0 for begin in found.begins)
        _refuse_others(run, merged, samples)
        _write(run, parts, found)
        write_whole(run / MANIFEST, merged.text(), durable=True)
    finally:
        os.close(handle)
    return Merged(len(parts), samples, found.failed, merged.protocol.samples - samples)


def _parts(run: Path) -> list[_Part]:
    """The shards that were begun. Raises RunError where there are none, or of several numbers."""
    begun = {shard: path for shard, path in shards_in(run).items() if (path / MANIFEST).exists()}
    if not begun:
        hint = "mmerg run … shard=1/4 makes one; give the folder in which shards/ lies"
        raise RunError("there is no shard to merge", where=str(run / SHARDS), hint=hint)
    numbers = sorted({shard.of_all for shard in begun})
    if len(numbers) > 1:
        what = f"shards of {' and of '.join(map(str, numbers))} lie side by side"
        raise RunError(what, where=str(run / SHARDS), hint="move away those that do not belong together")
    return [_Part(shard, path, read_manifest(path)) for shard, path in begun.items()]


def _manifest(parts: list[_Part]) -> Manifest:
    """The run's manifest: that of any of its shards, with the starts of all. Raises RunError where they differ."""
    first = parts[0].manifest
    for part in parts:
        if part.manifest.setting("shard") != str(part.shard):
            what = f"this folder holds shard {part.manifest.setting('shard', '–')}, not {part.shard}"
            raise RunError(what, where=str(part.path), hint="give it its name back")
        differs = changes(first.identity, part.manifest.identity) or ", ".join(
            name for name in _SAME if getattr(first, name) != getattr(part.manifest, name)
        )
        if differs:
            what = f"shards {parts[0].shard} and {part.shard} were not made with the same: {differs}"
            raise RunError(what, where=str(part.path), hint="move away what does not belong, and run that shard again")
    starts = sorted((start for part in parts for start in part.manifest.sessions), key=lambda start: start.at)
    return first.model_copy(update={"settings": {**first.settings, "shard": None}, "sessions": tuple(starts)})


def _refuse_others(run: Path, merged: Manifest, samples: int) -> None:
    """Raises RunError where the folder holds a run that is not of these shards alone, or of more samples: those would
    be lost. samples: how many the shards have finished."""
    if not (run / MANIFEST).exists():
        return
    there = read_manifest(run)
    with open_regular(run / RESULTS) as file:
        lines = sum(1 for _ in file)
    what = ""
    if changed := changes(there.identity, merged.identity):
        what = f"the run was merged of others: {changed}"
    elif any("shard" not in start.how for start in there.sessions):
        what = "a run without shards was begun or went on here, and may hold what no shard does"
    elif lines > samples:
        what = f"the run has {lines} samples, and its shards {samples}"
    if what:
        hint = f"to merge all the same, move {MANIFEST}, {RESULTS} and {SAMPLES} away"
        raise RunError(what, where=str(run), hint=hint)


def _look(parts: list[_Part], samples: int, partial: bool) -> _Found:
    """Raises RunError where a sample is in two shards, or they do not make up the protocol's samples, or a file is
    damaged. A shard without samples may be absent."""
    found = _Found(array("l", [0]) * samples, array("q", [-1]) * samples)
    for part in parts:
        with found.held(part):
            _look_into(part, found)
    begun, of_all = {part.shard for part in parts}, parts[0].shard.of_all
    absent = [str(one) for number in range(1, of_all + 1) if (one := Shard(number, of_all)) not in begun]
    none = found.owners.count(0)
    if none and not (absent and partial):
        what, hint = f"{none} of {samples} samples are in no shard", "run each shard again: what it has finished stays"
        if absent:
            what = f"{len(absent)} of {of_all} shards are missing: {some(absent)}"
            hint = f"mmerg run … shard={absent[0]} makes it; --partial merges what is there"
        raise RunError(what, where=str(parts[0].path.parent), hint=hint)
    return found


def _look_into(part: _Part, found: _Found) -> None:
    """Notes where the lines of a shard's own samples lie, and which lack a line or events."""
    for folder in (part.path / SAMPLES, part.path / FRAMES):
        if not folder.is_dir():
            raise RunError("this folder is gone", where=str(folder), hint=_AGAIN.format(part.shard))
    names = set(os.listdir(part.path / SAMPLES))  # noqa: PTH208 - of 50,000 files, names alone
    lines = dict(part.lines())
    lacking = []
    for place, sample in read_order(part.path):
        is_one = 0 <= place < len(found.owners)
        if not is_one or found.owners[place] not in (0, part.shard.number):
            what = f"{sample} is in another shard, too" if is_one else f"{sample} is no sample"
            raise RunError(what, where=str(part.path), hint="move away the shard that does not belong here")
        found.owners[place] = part.shard.number
        if sample in lines and file_name(sample) + ENDING in names:
            found.begins[place], failed = lines[sample]
            found.failed += failed
        else:
            lacking.append(sample)
    if lacking:
        found.lacking[part.shard] = lacking


def _write(run: Path, parts: list[_Part], found: _Found) -> None:
    """Writes the results, links events and frames."""
    with writing(run):
        for left in run.glob(f".{RESULTS}.*{PART}"):  # of a killed process
            left.unlink()
        with replacing(run / RESULTS) as file:
            for begin in range(0, len(found.owners), _AT_ONCE):
                file.writelines(_lines(parts, found, begin))
            file.flush()
            os.fsync(file.fileno())
            for part in parts:
                with found.held(part):
                    pass  # what was copied is what was looked at
            (run / MANIFEST).unlink(missing_ok=True)
            for name in (SAMPLES, FRAMES):
                private_folder(run / name)
            for part in parts:
                with found.held(part):
                    _link_all(part, run, found)


def _lines(parts: list[_Part], found: _Found, begin: int) -> list[bytes]:
    """So many finished lines from the place `begin` on, in corpus order; one file after the other is opened."""
    lines: dict[int, bytes] = {}
    places: dict[int, list[int]] = defaultdict(list)
    for place, at in enumerate(found.begins[begin : begin + _AT_ONCE], start=begin):
        if at >= 0:
            lines[place] = b""
            places[found.owners[place]].append(place)
    for part in parts:
        with open_regular(part.path / RESULTS) as file:
            for place in places[part.shard.number]:
                file.seek(found.begins[place])
                lines[place] = file.readline()
    return list(lines.values())


def _link_all(part: _Part, run: Path, found: _Found) -> None:
    """The frames of a shard, and the events of what it finished."""
    for name in os.listdir(part.path / FRAMES):  # noqa: PTH208
        _link(f"{part.path}/{FRAMES}/{name}", f"{run}/{FRAMES}/{name}")
    for place, sample in read_order(part.path):
        if found.begins[place] >= 0:
            name = f"{SAMPLES}/{file_name(sample)}{ENDING}"
            _link(f"{part.path}/{name}", f"{run}/{name}")


def _link(source: str, target: str) -> None:
    """Has `target` be the file `source`."""
    try:
        os.link(source, target)
    except FileExistsError:
        if not os.path.samefile(source, target):  # noqa: PTH121
            os.unlink(target)  # noqa: PTH108 - of an earlier merge, or a copy
            _link(source, target)
    except OSError:  # the file system has no links
        shutil.copyfile(source, target)
