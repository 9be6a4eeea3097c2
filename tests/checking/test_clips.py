"""Clips that give no frames, and spans outside the picture."""

from pathlib import Path

from mmerg.checking.clips import find_bad_clips, find_doubtful_spans
from mmerg.corpora.dialogue import Clip, Corpus, Dialogue, Turn
from mmerg.corpora.protocols import select
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings
from tests.configs import build_protocol
from tests.frames.clips import numbered


def test_the_clips_of_the_last_turns_are_examined(tmp_path: Path) -> None:
    clip, text = numbered(tmp_path / "clip.mp4", 50), tmp_path / "text.mp4"
    text.write_bytes(b"no film " * 99)
    clips = [
        Clip(tmp_path / "ignored.mp4"),
        Clip(clip),
        Clip(text),
        Clip(clip, 3.0, 4.0),
        Clip(tmp_path / "missing.mp4"),
    ]
    turns = tuple(Turn("Ana", "Words.", clip=clip) for clip in (*clips, None))
    corpus = Corpus("mine", "all", (), (Dialogue("d", turns),), "0")
    steps: list[tuple[int, int]] = []
    samples = select(corpus, build_protocol("last")).samples
    store = FrameStore(tmp_path / "frames")
    bad = find_bad_clips(samples, [], FramesSettings(last_turns=4), store, lambda *step: steps.append(step))
    assert {clip: error.reason for clip, error in bad.items()} == {
        clips[2]: "unreadable",
        clips[3]: "outside",
        clips[4]: "missing",
    }
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_spans_outside_the_picture_are_doubtful() -> None:
    """The picture starts 2 s after the sound."""
    spans = [(0.0, 2.0), (0.0, 2.5), (4.0, 5.5), (4.0, 6.5), (5.0, 5.5), (None, 9.0), (None, None)]
    turns = tuple(Turn("Ana", "Words.", clip=Clip(Path("a.mp4"), *span)) for span in spans)
    corpus = Corpus("mine", "all", (), (Dialogue("d", turns),), "0")
    doubtful = find_doubtful_spans(corpus, {Path("a.mp4"): (2.0, 5.0)})
    assert [(clip.start, clip.end) for clip in doubtful] == [(0.0, 2.0), (4.0, 6.5), (5.0, 5.5)]
