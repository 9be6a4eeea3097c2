"""The parts of a run, built from their settings. Only this module instantiates a `_target_`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.reading import read_corpus
from mmerg.engine.keyframes import ClipPrefetcher, KeyframeSampler, group_clips_by_file, snapshot_clips
from mmerg.frames.store import FrameStore
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import DatasetSettings, FramesSettings, MemorySourceSettings
from mmerg.systems.instantiate import instantiate
from mmerg.systems.system import System


def make(node: ClassSpec, **more: Any) -> Any:
    """Makes the object that a node with a `_target_` describes. Raises ConfigError if that fails."""
    return instantiate(ClassSpec.model_validate({**node.plain(), **more}), "configuration")


def load_corpus(dataset: DatasetSettings | MemorySourceSettings, where: str = "dataset", **more: Any) -> Corpus:
    """Loads a corpus. where: the settings of `dataset`. more: further arguments of the reader."""
    reader = ClassSpec.model_validate({**dataset.reader.plain(), **more})
    return read_corpus(instantiate(reader, f"{where}.reader"))


def build_keyframe_sampler(
    settings: FramesSettings, system: System, cache_dir: Path, samples: Sequence[Sample] = ()
) -> KeyframeSampler:
    """Builds the sampler of keyframes. It decodes a file with clips of several `samples` once, and opens no clip that
    no agent sees."""
    frames = settings if system.sees("V") else settings.model_copy(update={"last_turns": 0})
    prefetcher = ClipPrefetcher(
        group_clips_by_file(samples, frames.last_turns), snapshot_clips(samples, frames.last_turns)
    )
    return KeyframeSampler(frames, FrameStore(cache_dir / "frames"), prefetcher)
