"""The parts of a run, built from their settings. Only this module instantiates a `_target_`."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.reading import read_corpus
from mmerg.engine.keyframes import ClipPrefetcher, KeyframeSampler, group_clips_by_file, snapshot_clips
from mmerg.engine.prompts import Prompts
from mmerg.frames.store import FrameStore
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import DatasetSettings, EmotionOf, FramesSettings, SystemSettings
from mmerg.systems.build import build_system
from mmerg.systems.instantiate import instantiate
from mmerg.systems.system import FramesSeenBy, System


def make(node: ClassSpec, **more: Any) -> Any:
    """Makes the object that a node with a `_target_` describes. Raises ConfigError if that fails."""
    return instantiate(ClassSpec.model_validate({**node.plain(), **more}), "configuration")


def load_corpus(dataset: DatasetSettings) -> Corpus:
    return read_corpus(make(dataset.reader), dataset.labels)


def build_prompts(
    system: SystemSettings, supplied: Collection[str], seen_by: FramesSeenBy, emotion_of: EmotionOf
) -> Prompts:
    """Builds the system with its templates. supplied: symbols of sources. Raises ConfigError if it is invalid."""
    return Prompts(build_system(system, sources=supplied).with_frames_shown_to(seen_by), emotion_of)


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
