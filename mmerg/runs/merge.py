"""Merges the shards of a run into the folder that one process would have written.

The shards remain. The run's manifest is removed first and written last, so a killed merge leaves no run and the same
command merges again."""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from mmerg.errors import RunError, preview
from mmerg.runs.config_diff import describe_changes
from mmerg.runs.folder import FRAMES, RESULTS, lock_folder, read_partial_results, remove_partial_files
from mmerg.runs.manifest import MANIFEST, Manifest, read_manifest
from mmerg.runs.result import Result, Results
from mmerg.runs.samples import SAMPLES, events_file
from mmerg.runs.shards import SHARDS, Shard, check_shard_count, list_shards, read_order
from mmerg.storage.files import make_private_folder, wrap_os_errors, write_atomically
from mmerg.storage.record import write_record


@dataclass(frozen=True)
class MergeSummary:
    """The result of a merge."""

    shards: int
    samples: int
    failed: int


@dataclass
class _Part:
    """A started shard. order: its samples by place in the corpus. lines: of finished samples."""

    shard: Shard
    path: Path
    manifest: Manifest
    order: dict[int, str] = field(default_factory=dict)
    lines: dict[str, bytes] = field(default_factory=dict)

    def read(self) -> None:
        """Raises RunError if a file cannot be read."""
        results = read_partial_results(self.path, self.manifest)
        self.order = read_order(self.path)
        done = (sample for sample in self.order.values() if sample in results and sample not in results.without_events)
        self.lines = {sample: results.lines[sample] for sample in done}

    def copy_files(self, run: Path) -> None:
        """Copies the events of finished samples, and the frames. Raises OSError."""
        for folder in (SAMPLES, FRAMES):
            make_private_folder(run / folder)
        for sample in self.lines:
            shutil.copy(events_file(self.path, sample), run / SAMPLES)
        for frame in (self.path / FRAMES).glob("*.jpg"):
            shutil.copy(frame, run / FRAMES)


def merge(run: Path) -> MergeSummary:
    """Merges the shards in `run`.

    Raises MmergError, with nothing changed, if a shard is missing, unfinished, being written, or has other settings, or
    if the run was also started without shards.
    """
    parts = _parts(run)
    manifest = _manifest(parts)
    with ExitStack() as opened:
        for part in parts:
            opened.enter_context(lock_folder(part.path))
            part.read()
        results = _in_corpus_order(parts)
        if missing := manifest.protocol.samples - len(results):
            raise _unfinished(run, parts, missing)
        opened.enter_context(lock_folder(run))
        _refuse_unsharded(run)
        with wrap_os_errors(run):
            (run / MANIFEST).unlink(missing_ok=True)
            remove_partial_files(run, f".{RESULTS}.")
            for part in parts:
                part.copy_files(run)
        write_atomically(run / RESULTS, results.lines.values(), durable=True)
        write_record(run / MANIFEST, manifest.with_digest(len(results)), durable=True)
    return MergeSummary(len(parts), len(results), sum(not result.ok for result in results.values()))


def _parts(run: Path) -> list[_Part]:
    """The started shards. Raises MmergError if there are none, or their numbers differ."""
    started = {shard: path for shard, path in list_shards(run).items() if (path / MANIFEST).exists()}
    if not started:
        hint = "run one with mmerg run … shard=1/4, then name the folder that contains shards/"
        raise RunError("there is no shard to merge", where=str(run / SHARDS), hint=hint)
    check_shard_count(run, next(iter(started)).total)
    return [_Part(shard, path, read_manifest(path)) for shard, path in started.items()]


def _manifest(parts: Sequence[_Part]) -> Manifest:
    """The shards' manifest, with the starts of all. Raises RunError if they differ."""
    first = parts[0].manifest
    for part in parts:
        if differs := describe_changes(first, part.manifest):
            what = f"shards {parts[0].shard} and {part.shard} differ: {'; '.join(differs)}"
            raise RunError(what, where=str(part.path), hint="move the wrong shard away and run it again")
    starts = sorted((start for part in parts for start in part.manifest.sessions), key=lambda start: start.at)
    return first.model_copy(update={"settings": {**first.settings, "shard": None}, "sessions": tuple(starts)})


def _in_corpus_order(parts: Sequence[_Part]) -> Results[Result]:
    """All finished results."""
    lines = {sample: line for part in parts for sample, line in part.lines.items()}
    order = {place: sample for part in parts for place, sample in part.order.items()}
    return Results(Result, lines).select(order[place] for place in sorted(order))


def _unfinished(run: Path, parts: Sequence[_Part], missing: int) -> RunError:
    """The error for missing samples; it names the shards to run."""
    done, total = {part.shard for part in parts if len(part.lines) == len(part.order)}, parts[0].shard.total
    again = [shard for number in range(1, total + 1) if (shard := Shard(number, total)) not in done]
    again = again or [part.shard for part in parts]  # the shards are whole, but not all of the run
    names = preview([str(shard) for shard in again])
    hint = f"run them again without limit: mmerg run … shard={again[0]}"
    return RunError(f"{missing} samples are not finished, in shards {names}", where=str(run / SHARDS), hint=hint)


def _refuse_unsharded(run: Path) -> None:
    """Raises RunError if the run was also started without shards, and so may have other results."""
    if (run / MANIFEST).exists() and any("shard" not in start.how for start in read_manifest(run).sessions):
        what = "the run was also started without shards and may have results that no shard has"
        raise RunError(what, where=str(run), hint=f"to merge anyway, move {MANIFEST} away")
