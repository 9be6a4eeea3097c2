"""How long keyframes take, against decoding the same clips with `ffmpeg -f null`.

The clips are 1280x720 at 25 frames a second, 3 to 5 s long (a textured scene that pans, with cuts): H.264 where an
`ffmpeg` with libx264 is on the PATH, else MPEG-4 part 2 as OpenCV writes it. Compared, in turn within each round:

    base  `ffmpeg -i CLIP -f null -`, process start included; without ffmpeg, cv2 `read()` of every frame
    grab  cv2 `grab()` of every frame and nothing else: the floor under any way of looking at a whole clip
    one   `extract` of each clip alone, 4 frames a clip, a fresh store each time
    two   the same two clips at a time, as a run takes them: those of a sample's last two turns
    all   the same with all clips in one call

Clips at once are decoded by a thread each, one clip alone by all cores.

    python benchmarks/keyframes.py --clips 10 --rounds 5
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.parts import alternating, options, publish, ratio, seconds, spread
from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.picture import cv2
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings

WIDTH, HEIGHT, FPS = 1280, 720, 25


def make_clip(path: Path, seed: int, ffmpeg: str | None) -> str:
    """A window that glides over a rough picture, a new picture about every second and a half. Gives the codec."""
    rng = np.random.default_rng(seed)
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*"mp4v"), FPS, (WIDTH, HEIGHT))
    scene = np.zeros((0, 0, 3), np.uint8)
    for number in range(FPS * (3 + seed % 3)):
        at = number % 38
        if at == 0:
            rough = rng.integers(0, 256, (120, 200, 3), dtype=np.uint8)
            scene = cv2.resize(rough, (WIDTH + 160, HEIGHT + 80), interpolation=cv2.INTER_CUBIC)
        writer.write(scene[at * 2 : at * 2 + HEIGHT, at * 4 : at * 4 + WIDTH])
    writer.release()
    encoded = path.with_suffix(".h264.mp4")
    command = [ffmpeg or "", "-v", "quiet", "-y", "-i", str(path), "-c:v", "libx264", "-preset", "medium", str(encoded)]
    if not ffmpeg or subprocess.run(command, check=False).returncode:
        return "mpeg4"
    encoded.replace(path)
    return "h264"


def decode(path: Path, ffmpeg: str | None) -> None:
    """The base: every frame decoded and thrown away."""
    if ffmpeg:
        subprocess.run([ffmpeg, "-v", "error", "-i", str(path), "-f", "null", "-"], check=True)
    else:
        grab(path, read=True)


def grab(path: Path, *, read: bool = False) -> None:
    """The floor: every frame decoded, none converted (or with `read` all)."""
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    while capture.read()[0] if read else capture.grab():
        pass
    capture.release()


def take(paths: Sequence[Path], scratch: Path) -> None:
    """Extract 4 keyframes a clip into a store of its own."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        found = extract([Clip(path) for path in paths], FramesSettings(), FrameStore(Path(folder)))
    for one in found:
        if isinstance(one, ClipError):
            raise one


def main() -> None:
    """Make clips, time them, print."""
    given = options(__doc__, clips=10, rounds=5)
    ffmpeg = shutil.which("ffmpeg")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        paths = [scratch / f"clip{number}.mp4" for number in range(given.clips)]
        codecs = {make_clip(path, seed, ffmpeg) for seed, path in enumerate(paths)}

        def taking(at_once: int) -> float:
            return sum(seconds(partial(take, paths[i : i + at_once], scratch)) for i in range(0, len(paths), at_once))

        take(paths[:1], scratch)  # imports, caches
        rounds = alternating(
            {
                "base": lambda: sum(seconds(partial(decode, path, ffmpeg)) for path in paths),
                "grab": lambda: sum(seconds(partial(grab, path)) for path in paths),
                "one": lambda: taking(1),
                "two": lambda: taking(2),
                "all": lambda: taking(len(paths)),
            },
            given.rounds,
        )
    each = {name: spread([1000 * row[name] / given.clips for row in rounds]) for name in rounds[0]}
    ratios = {name: ratio(rounds, name, "base") for name in each}
    base = "ffmpeg" if ffmpeg else "cv2 read"
    lines = [f"{given.clips} clips of {'/'.join(codecs)}, 720p: milliseconds a clip, ratio to {base}"]
    lines += [f"  {name:<6}{each[name].median:6.0f}   {ratios[name]}" for name in each]
    publish(lines, {"benchmark": "keyframes", "base": base, "ms_a_clip": each, "ratio": ratios} | vars(given))


if __name__ == "__main__":
    main()
