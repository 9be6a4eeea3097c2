"""Compares the time to extract keyframes with the time that `ffmpeg -f null` takes to decode the same clips.

The clips have 1280x720 pixels, 25 frames per second and 3 to 5 s (a textured scene that pans, with cuts). They are
H.264 if an `ffmpeg` with libx264 is on PATH, else MPEG-4 part 2 as OpenCV writes it. The variants, in turn in each
round:

    base  `ffmpeg -i CLIP -f null -`, including the start of the process; without ffmpeg, OpenCV's `read()`
    1     `extract` for each clip by itself, 4 frames per clip, each time with a new store
    2     `extract` for two clips at a time, as in a run: the clips of a sample's last two turns
    10    `extract` for ten clips at a time

Several clips are decoded in a thread each, a single clip by all cores.

    python benchmarks/keyframes.py --clips 10 --rounds 5
"""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.parts import divide, measure, parse_options, print_results, run_in_turn
from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.picture import cv2
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings

WIDTH, HEIGHT, FPS = 1280, 720, 25
FFMPEG = shutil.which("ffmpeg")


def make_clip(path: Path, seed: int) -> None:
    """Writes a clip: a window that glides over a coarse picture, with a new picture about every 1.5 seconds."""
    rng = np.random.default_rng(seed)
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*"mp4v"), FPS, (WIDTH, HEIGHT))
    for number in range(FPS * (3 + seed % 3)):
        shift = number % 38
        if shift == 0:
            coarse = rng.integers(0, 256, (120, 200, 3), dtype=np.uint8)
            scene = cv2.resize(coarse, (WIDTH + 160, HEIGHT + 80), interpolation=cv2.INTER_CUBIC)
        writer.write(scene[shift * 2 : shift * 2 + HEIGHT, shift * 4 : shift * 4 + WIDTH])
    writer.release()
    if FFMPEG:
        encoded = path.with_suffix(".h264.mp4")
        command = [FFMPEG, "-v", "quiet", "-y", "-i", str(path), "-c:v", "libx264", str(encoded)]
        if subprocess.run(command, check=False).returncode == 0:
            encoded.replace(path)


def decode(paths: Sequence[Path]) -> None:
    """Decodes every frame and discards it: the base."""
    for path in paths:
        if FFMPEG:
            subprocess.run([FFMPEG, "-v", "error", "-i", str(path), "-f", "null", "-"], check=True)
            continue
        capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
        while capture.read()[0]:
            pass
        capture.release()


def extract_keyframes(paths: Sequence[Path], at_once: int) -> None:
    """Extracts 4 keyframes per clip into a new store, for `at_once` clips at a time."""
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(paths), at_once):
            clips = [Clip(path) for path in paths[first : first + at_once]]
            for frames in extract(clips, FramesSettings(), FrameStore(Path(folder))):
                if isinstance(frames, ClipError):
                    raise frames


def main() -> None:
    options = parse_options(__doc__, clips=10, rounds=5)
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / f"clip{number}.mp4" for number in range(options.clips)]
        for seed, path in enumerate(paths):
            make_clip(path, seed)
        extract_keyframes(paths[:1], 1)  # fills caches and imports modules
        works = {"base": partial(decode, paths)}
        works |= {str(count): partial(extract_keyframes, paths, count) for count in (1, 2, 10)}
        usages = run_in_turn({name: partial(measure, work) for name, work in works.items()}, options.rounds)
    ms = {name: [1000 * usage.wall / options.clips for usage in rounds] for name, rounds in usages.items()}
    base = "ffmpeg" if FFMPEG else "OpenCV's read()"
    ratios = {f"{name} at once, to {base}": divide(ms[name], ms["base"]) for name in ms if name != "base"}
    print_results(options, {f"{base}, ms per clip": ms["base"], **ratios})


if __name__ == "__main__":
    main()
