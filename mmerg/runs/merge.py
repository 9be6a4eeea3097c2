"""Puts the shards of a run together: the run folder then holds what one process would have written.

A first pass notes where each sample's line lies; then the lines are copied in corpus order, so that memory does not
grow with the replies. Events and frames are links to the shards' files, or copies where links cannot be. The manifest
of an earlier merge goes first, and a folder without is no run: a merge that was broken off is made again. The shards
stay as they are, and nobody else writes them meanwhile.

    merge(Path("runs/meld-merg-qwen3.5-27b-1a2b3c4d")).samples
"""

import json
import os
import resource
import shutil
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from mmerg.errors import RunError, some
from mmerg.runs.folder import FRAMES, RESULTS, hold, remove_parts
from mmerg.runs.manifest import MANIFEST, Manifest, changes, read_manifest
from mmerg.runs.samples import SAMPLES, file_name
from mmerg.runs.shards import SHARDS, Shard, read_order, shards_in
from mmerg.storage.files import private_folder, replacing, why, writing
from mmerg.storage.record import write_record

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
        of = f"{self.shards} shard{'s' * (self.shards != 1)}, {self.samples} sample{'s' * (self.samples != 1)}"
        parts = [f"{self.failed} failed"] * (self.failed > 0) + [f"{self.missing} missing"] * (self.missing > 0)
        return f"{of} ({', '.join(parts)})" if parts else of


@dataclass(frozen=True)
class _Part:
    """A shard that is there."""

    shard: Shard
    path: Path
    manifest: Manifest

    def again(self, what: str, name: str = "") -> RunError:
        """What is wrong with the shard, or a file of it, which running it again mends."""
        return RunError(what, where=str(self.path / name), hint=_AGAIN.format(self.shard))

    def lines(self, file: BinaryIO) -> Iterator[tuple[str, tuple[int, bool]]]:
        """Of each result its sample, where its line begins, and whether it failed; a last line that is cut off is
        passed over. Raises RunError where another is no result."""
        begin = number = 0
        try:
            for number, line in enumerate(file, start=1):  # noqa: B007 - an error names it
                if line.endswith(b"\n"):
                    result = json.loads(line)
                    yield str(result["id"]), (begin, result["status"] == "failed")
                begin += len(line)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self.again(f"line {number} is no result: remove it", RESULTS) from error


@dataclass
class _Index:
    """By place in the corpus: the number of the shard that has the sample (0: none), and where its line begins there
    (-1: it is not finished). lacking: how many samples each shard has not finished."""

    owners: "array[int]"
    begins: "array[int]"
    failed: int = 0
    lacking: dict[Shard, int] = field(default_factory=dict)

    def add(self, part: _Part, file: BinaryIO) -> None:
        """Note a shard's own samples."""
        names = set(os.listdir(part.path / SAMPLES))  # noqa: PTH208 - of 50,000 files, names alone
        lines = dict(part.lines(file))
        for place, sample in read_order(part.path):
            if not 0 <= place < len(self.owners) or self.owners[place]:
                what = f"{sample} is in another shard, too, or is no sample"
                raise RunError(what, where=str(part.path), hint="move away the shard that does not belong here")
            self.owners[place] = part.shard.number
            if sample in lines and file_name(sample) in names:
                self.begins[place], failed = lines[sample]
                self.failed += failed
            else:
                self.lacking[part.shard] = self.lacking.get(part.shard, 0) + 1


def merge(run: Path, partial: bool = False) -> Merged:
    """Puts the shards in `run` together. partial: with what is there, though shards or samples are missing.

    Raises RunError, with nothing changed, where one is missing, half done, being written, or made with other settings;
    where a sample is in two; and where the folder holds what no shard does.
    """
    _allow_open_files()
    parts = _parts(run)
    merged = _manifest(parts)
    samples = merged.protocol.samples
    index = _Index(array("l", [0]) * samples, array("q", [-1]) * samples)
    with ExitStack() as opened:
        files = {}
        for part in parts:
            opened.enter_context(hold(part.path))
            for name in (RESULTS, SAMPLES, FRAMES):
                if not (part.path / name).exists():
                    raise part.again("this is gone", name)
            try:
                files[part.shard.number] = opened.enter_context((part.path / RESULTS).open("rb"))
            except OSError as error:
                raise part.again(f"the results cannot be read: {why(error)}", RESULTS) from error
            index.add(part, files[part.shard.number])
        if not partial:
            _refuse_unfinished(parts, index)
        opened.enter_context(hold(run))
        finished = [place for place, begin in enumerate(index.begins) if begin >= 0]
        _refuse_others(run, merged, len(finished))
        with writing(run):
            remove_parts(run, f".{RESULTS}.")
            with replacing(run / RESULTS) as file:
                for place in finished:
                    source = files[index.owners[place]]
                    source.seek(index.begins[place])
                    file.write(source.readline())
                file.flush()
                os.fsync(file.fileno())
                (run / MANIFEST).unlink(missing_ok=True)
                _link_all(run, parts, index)
        write_record(run / MANIFEST, merged, durable=True)
    return Merged(len(parts), len(finished), index.failed, samples - len(finished))


def _allow_open_files() -> None:
    """Two for each shard, of which there may be thousands: as many as this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # a system without a limit may take no such number
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


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


def _manifest(parts: Sequence[_Part]) -> Manifest:
    """The run's manifest: that of any of its shards, with the starts of all. Raises RunError where they differ."""
    first = parts[0].manifest
    for part in parts:
        if part.manifest.setting("shard") != str(part.shard):
            what = f"this folder holds shard {part.manifest.setting('shard', '–')}, not {part.shard}"
            raise RunError(what, where=str(part.path), hint="give it its name back")
        others = [name for name in _SAME if getattr(first, name) != getattr(part.manifest, name)]
        if differs := changes(first, part.manifest) or others:
            what = f"shards {parts[0].shard} and {part.shard} were not made with the same: {'; '.join(differs)}"
            raise RunError(what, where=str(part.path), hint="move away what does not belong, and run that shard again")
    starts = sorted((start for part in parts for start in part.manifest.sessions), key=lambda start: start.at)
    return first.model_copy(update={"settings": {**first.settings, "shard": None}, "sessions": tuple(starts)})


def _refuse_unfinished(parts: Sequence[_Part], index: _Index) -> None:
    """Raises RunError where shards or samples are missing. A shard without samples may be absent."""
    begun, of_all = {part.shard for part in parts}, parts[0].shard.of_all
    lacking = [f"{count} of shard {shard}" for shard, count in index.lacking.items()]
    again, *_ = index.lacking or [Shard(1, of_all)]
    if none := index.owners.count(0):
        absent = [one for number in range(1, of_all + 1) if (one := Shard(number, of_all)) not in begun]
        lacking.append(f"{none} of the shards {some(list(map(str, absent)))}, which are missing")
        again = absent[0] if absent else again
    if lacking:
        what, hint = "samples are not finished", "--partial merges what is there, as after `limit`"
        raise RunError(
            f"{what}: {some(lacking)}", where=str(parts[0].path.parent), hint=f"{_AGAIN.format(again)}; {hint}"
        )


def _refuse_others(run: Path, merged: Manifest, samples: int) -> None:
    """Raises RunError where the folder is a run that holds what the shards do not."""
    if not (run / MANIFEST).exists():
        return
    there = read_manifest(run)
    with (run / RESULTS).open("rb") as file:
        lines = sum(1 for _ in file)
    what = ""
    if changed := changes(there, merged):
        what = f"the run was merged of others: {'; '.join(changed)}"
    elif any("shard" not in start.how for start in there.sessions):
        what = "a run without shards was begun or went on here, and may hold what no shard does"
    elif lines > samples:
        what = f"the run has {lines} samples, and its shards {samples}"
    if what:
        hint = f"to merge all the same, move {MANIFEST}, {RESULTS} and {SAMPLES} away"
        raise RunError(what, where=str(run), hint=hint)


def _link_all(run: Path, parts: Sequence[_Part], index: _Index) -> None:
    """Link the frames of the shards, and the events of what they finished."""
    for name in (SAMPLES, FRAMES):
        private_folder(run / name)
    for part in parts:
        for name in os.listdir(part.path / FRAMES):  # noqa: PTH208
            _link(f"{part.path}/{FRAMES}/{name}", f"{run}/{FRAMES}/{name}")
        for place, sample in read_order(part.path):
            if index.begins[place] >= 0:
                name = file_name(sample)
                _link(f"{part.path}/{SAMPLES}/{name}", f"{run}/{SAMPLES}/{name}")


def _link(source: str, target: str) -> None:
    """Make `target` the file `source`."""
    try:
        os.link(source, target)
    except FileExistsError:
        if not os.path.samefile(source, target):  # noqa: PTH121
            os.unlink(target)  # noqa: PTH108 - of an earlier merge, or a copy
            _link(source, target)
    except OSError:  # the file system has no links
        shutil.copyfile(source, target)
