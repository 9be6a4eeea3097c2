"""Prefetching of clips: samples that share a file decode it once."""

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Lock

import pytest

from mmerg.corpora.dialogue import Clip, Dialogue, Sample, Turn, cut_sample
from mmerg.engine.keyframes import ClipPrefetcher, KeyframeSampler, group_clips_by_file
from mmerg.engine.state import State
from mmerg.errors import Failure, SampleError
from mmerg.experiment.build import build_keyframe_sampler
from mmerg.frames.picture import from_jpeg
from mmerg.frames.store import Frame, FrameStore
from mmerg.settings.model import FramesSettings
from tests.engine.parts import merg
from tests.frames.clips import FPS, code, numbered

SECONDS = 5
SETTINGS = FramesSettings(per_clip=1, long_side=160)
TWO = (Turn("a", "3"), Turn("b", "4"))


def talk(film: Path, seconds: int = SECONDS) -> Dialogue:
    """Turns of 1.5 seconds, one each second, so that each overlaps the next."""
    turns = (Turn("ab"[n % 2], f"turn {n}", "joy", Clip(film, n, n + 1.5), n, n + 1.5) for n in range(seconds))
    return Dialogue("talk", tuple(turns))


def all_samples(dialogue: Dialogue) -> list[Sample]:
    return [cut_sample(dialogue, target, ("joy",)) for target in range(1, len(dialogue.turns))]


class CountingStore(FrameStore):
    """A frame store that counts the decoding passes of each clip."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.decodings: Counter[str] = Counter()
        self.lock = Lock()

    def remember(self, taken_from: str, frames: Sequence[Frame]) -> None:
        with self.lock:
            self.decodings[taken_from] += 1
        super().remember(taken_from, frames)


def initial_state(sampler: KeyframeSampler, sample: Sample) -> State:
    return sampler.initial_state(sample.scene, sample.dropped, vision=True, max_images=8, emit=lambda event: None)


def sampler(store: FrameStore, samples: Sequence[Sample]) -> KeyframeSampler:
    return KeyframeSampler(SETTINGS, store, ClipPrefetcher(group_clips_by_file(samples, 2)))


def spoil(film: Path) -> None:
    """Make the film undecodable without a change of size and time."""
    status = film.stat()
    film.write_bytes(b"\0" * status.st_size)
    os.utime(film, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return numbered(tmp_path_factory.mktemp("film") / "film.avi", SECONDS * FPS, "MJPG")


@pytest.fixture
def film(recorded: Path, tmp_path: Path) -> Path:
    """A copy, which a test may spoil."""
    return Path(shutil.copy(recorded, tmp_path))


def test_the_plan_has_each_clip_once_and_only_shared_files() -> None:
    film, other = Path("film.avi"), Path("other.avi")
    one, two, three = Clip(film, 0, 1), Clip(film, 1, 2), Clip(film, 2, 3)
    turns = (Turn("a", "1", clip=one), Turn("b", "2", clip=two), Turn("a", "3", clip=Clip(other)), Turn("b", "4"))
    samples = [
        cut_sample(Dialogue("d", (*turns, Turn("a", "5", clip=three))), 4, ()),
        cut_sample(Dialogue("d", turns), 2, ()),
        cut_sample(Dialogue("d", turns), 2, ()),
    ]
    assert group_clips_by_file(samples, 9) == {film: (one, two)}
    assert group_clips_by_file(samples, 2) == {film: (one, two)}
    assert group_clips_by_file(samples, 1) == {}
    assert group_clips_by_file(samples, 0) == {}


def test_the_first_sample_extracts_all_clips_of_a_file(film: Path, tmp_path: Path) -> None:
    samples = all_samples(talk(film))
    apart = [initial_state(KeyframeSampler(SETTINGS, FrameStore(tmp_path / "apart")), sample) for sample in samples]
    together = sampler(FrameStore(tmp_path / "together"), samples)
    last = initial_state(together, samples[-1])
    spoil(film)
    assert [initial_state(together, sample) for sample in samples] == apart
    assert last == apart[-1]
    for sample, state in zip(samples, apart, strict=True):
        assert state.keyframes
        assert sample.target
        assert sample.target.start is not None
        seen = [code(from_jpeg(image.data)) for image in state.images]
        assert max(seen) < sample.target.start * FPS


def test_parallel_samples_decode_a_file_once(film: Path, tmp_path: Path) -> None:
    samples = all_samples(talk(film))
    store = CountingStore(tmp_path / "frames")
    together = sampler(store, samples)
    ready = Barrier(4)

    def work(sample: Sample) -> State:
        ready.wait(60)
        return initial_state(together, sample)

    with ThreadPoolExecutor(4) as threads:
        states = list(threads.map(work, samples[:4]))
    assert all(state.keyframes for state in states)
    assert set(store.decodings.values()) == {1}
    assert len(store.decodings) == len(group_clips_by_file(samples, 2)[film])


def test_a_file_removed_since_the_start_fails_its_sample(film: Path, tmp_path: Path) -> None:
    """A file that was missing from the start only costs its turn the frames."""
    own = Dialogue("own", (Turn("a", "1", clip=Clip(film)), Turn("b", "2", clip=Clip(tmp_path / "never.mp4")), *TWO))
    samples = [*all_samples(talk(film))[-2:], cut_sample(own, 2, ("joy",))]
    frames = FramesSettings(per_clip=1, long_side=160, seen_by="all")
    together = build_keyframe_sampler(frames, merg(), tmp_path, samples)
    seen = initial_state(together, samples[0])
    assert seen.keyframes
    film.rename(tmp_path / "elsewhere.avi")
    for sample in samples:
        with pytest.raises(SampleError, match="a clip has disappeared since the run started") as caught:
            initial_state(together, sample)
        assert (caught.value.failure, str(film) in caught.value.where) == (Failure.CLIP_GONE, True)
        assert "run the same command again" in caught.value.hint
    assert not initial_state(build_keyframe_sampler(frames, merg(), tmp_path, samples), samples[0]).keyframes
    film.write_bytes(b"another film")
    with pytest.raises(SampleError, match="a clip has changed since the run started"):
        initial_state(together, samples[0])
    (tmp_path / "elsewhere.avi").rename(film)
    assert initial_state(together, samples[0]) == seen
