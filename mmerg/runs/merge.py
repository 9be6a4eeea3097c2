"""Puts the shards of a run together: the run folder then holds what one process would have written.

Results are streamed in corpus order, a line a shard in memory; events and frames are links to the shards' files, or
copies where the file system has no links. Until all is there the folder has no manifest, and so is no run: a merge that
was broken off is made again. The shards stay as they are.

    merge(Path("runs/meld-merg-qwen3.5-27b-1a2b3c4d")).samples
"""

from __future__ import annotations

import heapq
import json
import os
import re
import shutil
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from mmerg.errors import RunError, some
from mmerg.runs.folder import FRAMES, RESULTS, changes, hold, read_run_results
from mmerg.runs.manifest import MANIFEST, Manifest, read_manifest
from mmerg.runs.samples import ENDING, SAMPLES, file_name
from mmerg.runs.shards import SHARDS, Shard, read_order, shards_in
from mmerg.storage.files import PART, open_regular, private_folder, replacing, write_whole, writing

_HEAD = re.compile(rb'\{"id": ("(?:[^"\\]|\\.)*"), "status": "(ok|failed)", .*\}\n', re.DOTALL)
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


@dataclass(frozen=True)
class _Place:
    """A sample's place in the corpus, and its line; None where it is not finished."""

    place: int
    sample: str
    line: bytes | None
    failed: bool = False


@dataclass(frozen=True)
class _Part:
    """A shard that is there."""

    shard: Shard
    path: Path
    manifest: Manifest

    def places(self, sealed: bool) -> Iterator[_Place]:
        """All samples that are its own, in their order. sealed: its results are in order, as at a run's end; else they
        are put in order here. Raises RunError where a line is no result, or in no place of a sealed shard."""
        stored = self._sealed() if sealed else self._ordered()
        found = next(stored, None)
        for place, sample in read_order(self.path):
            if found and found[0] == sample:
                yield _Place(place, *found)
                found = next(stored, None)
            else:
                yield _Place(place, sample, None)
        if found:
            what, hint = f"it holds {found[0]}, which is not where it belongs", _AGAIN.format(self.shard)
            raise RunError(what, where=str(self.path / RESULTS), hint=hint)

    def _sealed(self) -> Iterator[tuple[str, bytes, bool]]:
        with open_regular(self.path / RESULTS) as file:
            for number, line in enumerate(file, start=1):
                if not (found := _HEAD.fullmatch(line)):
                    what, hint = f"line {number} is no result", _AGAIN.format(self.shard)
                    raise RunError(what, where=str(self.path / RESULTS), hint=hint)
                yield json.loads(found[1]), line, found[2] == b"failed"

    def _ordered(self) -> Iterator[tuple[str, bytes, bool]]:
        results = read_run_results(self.path)
        for sample in (sample for _, sample in read_order(self.path)):
            if sample in results and sample not in results.lost:
                yield sample, results.lines[sample], results[sample].status == "failed"


def merge(run: Path, partial: bool = False) -> Merged:
    """Puts the shards in `run` together. partial: with what is there, though shards or samples are missing.

    Raises RunError, with nothing changed, where one is missing, half done, being written, or made with other settings;
    where a sample is in two; and where the folder holds what no shard does.
    """
    parts = _parts(run, partial)
    merged = _manifest(parts)
    _refuse_others(run, merged)
    with ExitStack() as held:
        for folder in (run, *(part.path for part in parts)):
            with writing(folder):
                held.callback(os.close, hold(folder / RESULTS))
        sealed, lacking = _checked(parts, merged.protocol.samples)
        if lacking and not partial:
            raise _half(run, lacking)
        with writing(run):
            (run / MANIFEST).unlink(missing_ok=True)
        samples, failed = _write(run, parts, sealed)
        write_whole(run / MANIFEST, merged.text(), durable=True)
    return Merged(len(parts), samples, failed, merged.protocol.samples - samples)


def _parts(run: Path, partial: bool) -> list[_Part]:
    """The shards that were begun. Raises RunError where they are of several numbers, or some are missing."""
    begun = {shard: path for shard, path in shards_in(run).items() if (path / MANIFEST).exists()}
    if not begun:
        hint = "mmerg run … shard=1/4 makes one; give the folder in which shards/ lies"
        raise RunError("there is no shard to merge", where=str(run / SHARDS), hint=hint)
    numbers = sorted({shard.of_all for shard in begun})
    if len(numbers) > 1:
        what = f"shards of {' and of '.join(map(str, numbers))} lie side by side"
        raise RunError(what, where=str(run / SHARDS), hint="move away those that do not belong together")
    absent = [number for number in range(1, numbers[0] + 1) if Shard(number, numbers[0]) not in begun]
    if absent and not partial:
        what = f"{len(absent)} of {numbers[0]} shards are missing: {some([f'{one}/{numbers[0]}' for one in absent])}"
        hint = f"mmerg run … shard={absent[0]}/{numbers[0]} makes it; --partial merges what is there"
        raise RunError(what, where=str(run / SHARDS), hint=hint)
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


def _refuse_others(run: Path, merged: Manifest) -> None:
    """Raises RunError where the folder holds a run that is not of these shards alone: its samples would be lost."""
    if not (run / MANIFEST).exists():
        return
    there = read_manifest(run)
    what = ""
    if changed := changes(there.identity, merged.identity):
        what = f"the run was merged of others: {changed}"
    elif any("shard" not in start.how for start in there.sessions):
        what = "a run without shards was begun or went on here, and may hold what no shard does"
    if what:
        hint = f"to merge all the same, move {MANIFEST}, {RESULTS} and {SAMPLES} away"
        raise RunError(what, where=str(run), hint=hint)


def _checked(parts: list[_Part], samples: int) -> tuple[dict[Shard, bool], dict[Shard, list[str]]]:
    """Which shards are sealed, and the samples that each has not finished. Raises RunError where a sample is in two
    shards, or all of them do not make up the protocol's samples, or a file is damaged."""
    owner = array("l", bytes(array("l").itemsize * samples))  # by place: the number of its shard
    sealed: dict[Shard, bool] = {}
    lacking: dict[Shard, list[str]] = {}
    for part in parts:
        try:
            found, sealed[part.shard] = _unfinished(part, owner, sealed=True), True
        except RunError:  # it was broken off, or is damaged: then this raises, too
            found, sealed[part.shard] = _unfinished(part, owner, sealed=False), False
        if found:
            lacking[part.shard] = found
    if len(parts) == parts[0].shard.of_all and (none := owner.count(0)):
        what = f"{none} of {samples} samples are in no shard"
        raise RunError(what, where=str(parts[0].path.parent), hint="remove the shards, and run them again")
    return sealed, lacking


def _unfinished(part: _Part, owner: array[int], *, sealed: bool) -> list[str]:
    """The samples of a shard without a line or without events; notes which places are its own."""
    names = set(os.listdir(part.path / SAMPLES))  # noqa: PTH208 - of 50,000 files, names alone
    found = []
    for one in part.places(sealed):
        if one.place >= len(owner) or owner[one.place] not in (0, part.shard.number):
            what = f"{one.sample} is in another shard, too" if one.place < len(owner) else f"{one.sample} is no sample"
            raise RunError(what, where=str(part.path), hint="move away the shard that does not belong here")
        owner[one.place] = part.shard.number
        if one.line is None or file_name(one.sample) + ENDING not in names:
            found.append(one.sample)
    return found


def _half(run: Path, lacking: dict[Shard, list[str]]) -> RunError:
    shard, samples = next(iter(lacking.items()))
    count = sum(map(len, lacking.values()))
    what = f"{count} samples of {len(lacking)} shards are not finished, of shard {shard} {some(samples, 3)}"
    return RunError(what, where=str(run), hint=f"{_AGAIN.format(shard)}; --partial merges what is there")


def _write(run: Path, parts: list[_Part], sealed: dict[Shard, bool]) -> tuple[int, int]:
    """Links events and frames, writes the results; how many samples, and how many of them failed."""
    count = failed = 0
    with writing(run):
        for name in (SAMPLES, FRAMES):
            private_folder(run / name)
        for left in run.glob(f".{RESULTS}.*{PART}"):  # of a killed process
            left.unlink()
        for part in parts:
            for name in os.listdir(part.path / FRAMES):  # noqa: PTH208
                _link(part.path / FRAMES / name, run / FRAMES / name)
        streams = [_tagged(part, number, sealed[part.shard]) for number, part in enumerate(parts)]
        with replacing(run / RESULTS) as file:
            for _, number, one in heapq.merge(*streams, key=itemgetter(0)):
                name = f"{SAMPLES}/{file_name(one.sample)}{ENDING}"
                if one.line and _link(f"{parts[number].path}/{name}", f"{run}/{name}"):
                    file.write(one.line)
                    count += 1
                    failed += one.failed
            file.flush()
            os.fsync(file.fileno())
    return count, failed


def _tagged(part: _Part, number: int, sealed: bool) -> Iterator[tuple[int, int, _Place]]:
    return ((one.place, number, one) for one in part.places(sealed))


def _link(source: str | Path, target: str | Path) -> bool:
    """Has `target` be the file `source`; False where that is not there."""
    while True:
        try:
            os.link(source, target)
        except FileExistsError:
            if os.path.samefile(source, target):  # noqa: PTH121
                return True
            os.unlink(target)  # noqa: PTH108 - of an earlier merge, or a copy
        except FileNotFoundError:
            return False
        except OSError:  # the file system has no links
            shutil.copyfile(source, target)
            return True
        else:
            return True
