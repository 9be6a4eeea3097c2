"""The merge of a run's shards into the folder that one process would have written.

The shards stay. The run's manifest is removed first and written last, so that a killed merge leaves no run, and the
same command merges again.
"""

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from mmerg.errors import RunError, preview
from mmerg.runs.config_diff import describe_changes
from mmerg.runs.folder import FRAMES, RESULTS, lock_folder, read_partial_results, remove_partial_files
from mmerg.runs.manifest import MANIFEST, Manifest, read_manifest
from mmerg.runs.result import Result, Results
from mmerg.runs.samples import SAMPLES
from mmerg.runs.shards import SHARDS, Shard, check_shard_count, list_shards, read_order
from mmerg.storage.files import make_private_folder, wrap_os_errors, write_atomically
from mmerg.storage.record import write_record


def merge(run: Path) -> Results[Result]:
    """Merges the shards in `run`, and returns all results. Raises MmergError, with nothing changed, if a shard is
    missing, unfinished, being written, or has other settings, or if the run was also started without shards."""
    shards = {shard: path for shard, path in list_shards(run).items() if (path / MANIFEST).exists()}
    if not shards:
        hint = "run one with mmerg run … shard=1/4, then name the folder that contains shards/"
        raise RunError("there is no shard to merge", where=str(run / SHARDS), hint=hint)
    check_shard_count(run, next(iter(shards)).total)
    manifests = {shard: read_manifest(path) for shard, path in shards.items()}
    manifest = _merge_manifests(manifests, shards)
    with ExitStack() as locked:
        for path in shards.values():
            locked.enter_context(lock_folder(path))
        results = _merge_results(run, manifests, shards)
        locked.enter_context(lock_folder(run))
        _refuse_unsharded(run)
        with wrap_os_errors(run):
            (run / MANIFEST).unlink(missing_ok=True)
            remove_partial_files(run, RESULTS)
            for path in shards.values():
                _copy_files(path, run)
        write_atomically(run / RESULTS, results.lines.values(), durable=True)
        write_record(run / MANIFEST, manifest.with_digest(len(results)), durable=True)
    return results


def _merge_manifests(manifests: Mapping[Shard, Manifest], shards: Mapping[Shard, Path]) -> Manifest:
    """Merges the manifests, with the starts of all shards. Raises RunError if they differ."""
    (first_shard, first), *_ = manifests.items()
    for shard, manifest in manifests.items():
        if differs := describe_changes(first, manifest):
            what = f"shards {first_shard} and {shard} differ: {'; '.join(differs)}"
            raise RunError(what, where=str(shards[shard]), hint="move the wrong shard away and run it again")
    starts = sorted((start for manifest in manifests.values() for start in manifest.sessions), key=lambda one: one.at)
    return first.model_copy(update={"settings": {**first.settings, "shard": None}, "sessions": tuple(starts)})


def _merge_results(run: Path, manifests: Mapping[Shard, Manifest], shards: Mapping[Shard, Path]) -> Results[Result]:
    """Merges all results, in corpus order. Raises RunError, which names the shards to run, if samples are missing."""
    order: dict[int, str] = {}
    finished: dict[str, bytes] = {}
    total = next(iter(shards)).total
    unfinished = [shard for number in range(1, total + 1) if (shard := Shard(number, total)) not in shards]
    for shard, path in shards.items():
        results, samples = read_partial_results(path, manifests[shard]), read_order(path)
        lines = {id: results.lines[id] for id in results.finished}
        if not lines.keys() >= set(samples.values()):
            unfinished.append(shard)
        order |= samples
        finished |= lines
    merged = Results(Result, finished).select(order[place] for place in sorted(order))
    missing = next(iter(manifests.values())).protocol.samples - len(merged)
    if missing:
        again = sorted(unfinished) or list(shards)  # each shard is whole, but the run lacks samples
        what = f"{missing} samples are not finished, in shards {preview(list(map(str, again)))}"
        hint = f"run them again without limit: mmerg run … shard={again[0]}"
        raise RunError(what, where=str(run / SHARDS), hint=hint)
    return merged


def _copy_files(shard: Path, run: Path) -> None:
    """Copies the events and the frames. Raises OSError."""
    for folder, pattern in ((SAMPLES, "*.jsonl"), (FRAMES, "*.jpg")):
        make_private_folder(run / folder)
        for file in (shard / folder).glob(pattern):
            shutil.copy(file, run / folder)


def _refuse_unsharded(run: Path) -> None:
    """Raises RunError if the run was also started without shards, and so may have other results."""
    if (run / MANIFEST).exists() and any("shard" not in start.how for start in read_manifest(run).sessions):
        what = "the run was also started without shards and may have results that no shard has"
        raise RunError(what, where=str(run), hint=f"to merge anyway, move {MANIFEST} away")
