"""How long keyframes take, against decoding the same clips with `ffmpeg -f null`.

The clips are 1280x720 at 25 frames a second, 3 to 5 s long (a textured scene that pans, with cuts): H.264 where an
`ffmpeg` with libx264 is on the PATH, else MPEG-4 part 2 as OpenCV writes it. Compared, in turn within each round:

    base  `ffmpeg -i CLIP -f null -`, process start included; without ffmpeg, OpenCV's `read()` of every frame
    1     `extract` of each clip alone, 4 frames a clip, a fresh store each time
    2     the same two clips at a time, as a run takes them: those of a sample's last two turns
    10    the same with as many in one call

Clips at once are decoded by a thread each, one clip alone by all cores.

    python benchmarks/keyframes.py --clips 10 --rounds 5
"""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.parts import alternating, options, publish, ratio, taken
from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.picture import cv2
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings

WIDTH, HEIGHT, FPS = 1280, 720, 25
FFMPEG = shutil.which("ffmpeg")


def make_clip(path: Path, seed: int) -> None:
    """A window that glides over a rough picture, a new picture about every second and a half."""
    rng = np.random.default_rng(seed)
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*"mp4v"), FPS, (WIDTH, HEIGHT))
    for number in range(FPS * (3 + seed % 3)):
        at = number % 38
        if at == 0:
            rough = rng.integers(0, 256, (120, 200, 3), dtype=np.uint8)
            scene = cv2.resize(rough, (WIDTH + 160, HEIGHT + 80), interpolation=cv2.INTER_CUBIC)
        writer.write(scene[at * 2 : at * 2 + HEIGHT, at * 4 : at * 4 + WIDTH])
    writer.release()
    encoded = path.with_suffix(".h264.mp4")
    if (
        FFMPEG
        and not subprocess.run(
            [FFMPEG, "-v", "quiet", "-y", "-i", str(path), "-c:v", "libx264", str(encoded)], check=False
        ).returncode
    ):
        encoded.replace(path)


def decode(paths: Sequence[Path]) -> None:
    """The base: every frame decoded and thrown away."""
    for path in paths:
        if FFMPEG:
            subprocess.run([FFMPEG, "-v", "error", "-i", str(path), "-f", "null", "-"], check=True)
            continue
        capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
        while capture.read()[0]:
            pass
        capture.release()


def take(paths: Sequence[Path], at_once: int) -> None:
    """Extract 4 keyframes a clip into a fresh store."""
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(paths), at_once):
            clips = [Clip(path) for path in paths[first : first + at_once]]
            for found in extract(clips, FramesSettings(), FrameStore(Path(folder))):
                if isinstance(found, ClipError):
                    raise found


def main() -> None:
    """Make clips, time them, print."""
    given = options(__doc__, clips=10, rounds=5)
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / f"clip{number}.mp4" for number in range(given.clips)]
        for seed, path in enumerate(paths):
            make_clip(path, seed)
        take(paths[:1], 1)  # imports, caches
        works = {"base": partial(decode, paths)} | {str(many): partial(take, paths, many) for many in (1, 2, 10)}
        found = alternating({name: partial(taken, work) for name, work in works.items()}, given.rounds)
    ms = {name: [1000 * one.wall / given.clips for one in rounds] for name, rounds in found.items()}
    base = "ffmpeg" if FFMPEG else "OpenCV's read()"
    ratios = {f"{name} at once, to {base}": ratio(each, ms["base"]) for name, each in ms.items() if name != "base"}
    publish(given, {f"{base}, ms a clip": ms["base"], **ratios})


if __name__ == "__main__":
    main()
