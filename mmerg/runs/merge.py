"""The merge of a run's shards into the folder that one process would have written.

The shards stay. The run's manifest is removed first and written last, so that a killed merge leaves no run, and the
same command merges again.
"""

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
    shards: int
    samples: int
    failed: int


@dataclass
class _StartedShard:
    """A shard with a run. order: its samples by their place in the corpus. lines: the results of finished samples."""

    shard: Shard
    path: Path
    manifest: Manifest
    order: dict[int, str] = field(default_factory=dict)
    lines: dict[str, bytes] = field(default_factory=dict)

    def read(self) -> None:
        """Reads the order and the finished results. Raises RunError if a file cannot be read."""
        results = read_partial_results(self.path, self.manifest)
        self.order = read_order(self.path)
        finished = results.keys() - results.without_events
        self.lines = {sample: results.lines[sample] for sample in self.order.values() if sample in finished}

    def copy_files(self, run: Path) -> None:
        """Copies the events of finished samples, and the frames. Raises OSError."""
        for folder in (SAMPLES, FRAMES):
            make_private_folder(run / folder)
        for sample in self.lines:
            shutil.copy(events_file(self.path, sample), run / SAMPLES)
        for frame in (self.path / FRAMES).glob("*.jpg"):
            shutil.copy(frame, run / FRAMES)


def merge(run: Path) -> MergeSummary:
    """Merges the shards in `run`. Raises MmergError, with nothing changed, if a shard is missing, unfinished, being
    written, or has other settings, or if the run was also started without shards."""
    shards = _load_shards(run)
    manifest = _merge_manifests(shards)
    with ExitStack() as opened:
        for started in shards:
            opened.enter_context(lock_folder(started.path))
            started.read()
        results = _merge_results(shards)
        if missing := manifest.protocol.samples - len(results):
            raise _unfinished_error(run, shards, missing)
        opened.enter_context(lock_folder(run))
        _refuse_unsharded(run)
        with wrap_os_errors(run):
            (run / MANIFEST).unlink(missing_ok=True)
            remove_partial_files(run, f".{RESULTS}.")
            for started in shards:
                started.copy_files(run)
        write_atomically(run / RESULTS, results.lines.values(), durable=True)
        write_record(run / MANIFEST, manifest.with_digest(len(results)), durable=True)
    return MergeSummary(len(shards), len(results), sum(not result.ok for result in results.values()))


def _load_shards(run: Path) -> list[_StartedShard]:
    """Loads the started shards. Raises MmergError if there are none, or if the run was split into different numbers."""
    started = {shard: path for shard, path in list_shards(run).items() if (path / MANIFEST).exists()}
    if not started:
        hint = "run one with mmerg run … shard=1/4, then name the folder that contains shards/"
        raise RunError("there is no shard to merge", where=str(run / SHARDS), hint=hint)
    check_shard_count(run, next(iter(started)).total)
    return [_StartedShard(shard, path, read_manifest(path)) for shard, path in started.items()]


def _merge_manifests(shards: Sequence[_StartedShard]) -> Manifest:
    """Merges the manifests, with the starts of all shards. Raises RunError if they differ."""
    first = shards[0].manifest
    for started in shards:
        if differs := describe_changes(first, started.manifest):
            what = f"shards {shards[0].shard} and {started.shard} differ: {'; '.join(differs)}"
            raise RunError(what, where=str(started.path), hint="move the wrong shard away and run it again")
    starts = sorted((start for started in shards for start in started.manifest.sessions), key=lambda start: start.at)
    return first.model_copy(update={"settings": {**first.settings, "shard": None}, "sessions": tuple(starts)})


def _merge_results(shards: Sequence[_StartedShard]) -> Results[Result]:
    """Merges all finished results, in corpus order."""
    lines = {sample: line for started in shards for sample, line in started.lines.items()}
    order = {place: sample for started in shards for place, sample in started.order.items()}
    return Results(Result, lines).select(order[place] for place in sorted(order))


def _unfinished_error(run: Path, shards: Sequence[_StartedShard], missing: int) -> RunError:
    """Builds the error for missing samples. It names the shards to run."""
    total = shards[0].shard.total
    finished = {started.shard for started in shards if len(started.lines) == len(started.order)}
    again = [shard for number in range(1, total + 1) if (shard := Shard(number, total)) not in finished]
    again = again or [started.shard for started in shards]  # each shard is whole, but the run lacks samples
    names = preview([str(shard) for shard in again])
    hint = f"run them again without limit: mmerg run … shard={again[0]}"
    return RunError(f"{missing} samples are not finished, in shards {names}", where=str(run / SHARDS), hint=hint)


def _refuse_unsharded(run: Path) -> None:
    """Raises RunError if the run was also started without shards, and so may have other results."""
    if (run / MANIFEST).exists() and any("shard" not in start.how for start in read_manifest(run).sessions):
        what = "the run was also started without shards and may have results that no shard has"
        raise RunError(what, where=str(run), hint=f"to merge anyway, move {MANIFEST} away")
