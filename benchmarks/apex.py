"""Measures how often keyframes show an expression of half a second in drawn clips.

In a clip of 3 to 6 s a face talks, blinks and sways; the light changes, somebody walks behind, the picture is noisy.
Once the face looks surprised, angry, glad or sad for 0.4 to 0.8 s. The results count the clips with a keyframe in that
time, for each method with `--frames` keyframes per clip, and how the apex was selected (by the face or by motion).

    python benchmarks/apex.py --clips 100 --frames 2
"""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.parts import parse_options, print_results
from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.extract import extract
from mmerg.frames.picture import Picture, cv2
from mmerg.frames.store import FrameStore
from mmerg.settings.model import FramesSettings

FPS, SIZE = 25, (480, 270)
# Rise of the brows, opening of the mouth and rise of its corners, as parts of the face's height; width of the eyes.
LOOKS = {
    "surprise": (0.06, 0.16, 0.0, 1.5),
    "anger": (-0.04, 0.0, -0.05, 0.8),
    "joy": (0.02, 0.06, 0.07, 1.0),
    "sadness": (0.03, 0.0, -0.07, 0.9),
}
Colour = tuple[int, ...]


def draw_clip(path: Path, seed: int) -> tuple[float, float]:
    """Draws a clip and returns the seconds at which the expression begins and ends."""
    rng = np.random.default_rng(seed)
    width, height = SIZE
    count, lasts = int(rng.integers(3 * FPS, 6 * FPS)), int(rng.integers(2 * FPS // 5, 4 * FPS // 5))
    begins = int(rng.integers(0, count - lasts))
    brows, opened, corners, eyes = list(LOOKS.values())[seed % len(LOOKS)]
    tall = rng.uniform(0.3, 0.6) * height
    x, y = rng.uniform(0.3, 0.7) * width, rng.uniform(0.45, 0.6) * height
    skin = tuple(int(v) for v in np.array((140, 175, 215)) * rng.uniform(0.6, 1.1))
    room = cv2.resize(rng.integers(40, 210, (12, 20, 3), np.uint8), SIZE, interpolation=cv2.INTER_CUBIC)
    noise = rng.normal(0, 6, (5, height, width, 3))
    blinks = {int(first) + n for first in rng.integers(0, count, 2) for n in range(3)}
    phase = rng.uniform(0, 6, 4)
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*"mp4v"), FPS, SIZE)
    for n in range(count):
        t, along = n / FPS, (n - begins) / lasts
        on = float(np.clip(5 * min(along, 1 - along), 0, 1))
        speech = max(0.0, np.sin(9 * t + phase[0]) * np.sin(2.3 * t + phase[1])) * 0.07
        image = room.copy()
        walker = int((x + width * 0.4 + t * 50 * (-1) ** seed) % width)
        cv2.rectangle(image, (walker, height // 4), (walker + 40, height), (90, 60, 50), -1)
        middle = x + 0.06 * tall * np.sin(1.3 * t + phase[2]), y + 0.04 * tall * np.sin(1.9 * t + phase[3])
        wide = 0.0 if n in blinks else 1 + (eyes - 1) * on
        draw_face(image, *middle, tall, skin, brows * on, speech * (1 - on) + opened * on, corners * on, wide)
        light = 1 + 0.08 * np.sin(0.9 * t + phase[1])
        writer.write(np.clip(image * light + noise[n % 5], 0, 255).astype(np.uint8))
    writer.release()
    return begins / FPS, (begins + lasts) / FPS


def draw_face(
    image: Picture,
    x: float,
    y: float,
    tall: float,
    skin: Colour,
    brows: float,
    opened: float,
    corners: float,
    eyes: float,
) -> None:
    """Draws a face with a height of `tall` pixels around (x, y). The other arguments are those of LOOKS."""

    def ellipse(
        across: float, down: float, wide: float, high: float, colour: Colour, ends: tuple[int, int] | None = None
    ) -> None:
        middle = round(16 * (x + across * tall)), round(16 * (y + down * tall))
        axes = max(1, round(16 * wide * tall)), max(1, round(16 * high * tall))
        thick = max(2, round(0.035 * tall)) if ends else -1
        cv2.ellipse(image, middle, axes, 0, *(ends or (0, 360)), colour, thick, cv2.LINE_AA, 4)

    shadow, brown = (tuple(int(part * value) for value in skin) for part in (0.7, 0.35))
    ellipse(0, -0.12, 0.41, 0.46, (40, 50, 60))  # hair
    ellipse(0, 0, 0.37, 0.5, skin)
    for side in (-0.16, 0.16):
        ellipse(side, -0.1, 0.09, 0.06, shadow)
        ellipse(side, -0.1, 0.065, 0.035 * eyes, (235, 235, 235))
        ellipse(side, -0.1, 0.03, 0.033 * eyes, (30, 30, 40))
        ellipse(side, -0.16 - brows, 0.1, 0.03, brown, (190, 350))
    ellipse(0, 0.08, 0.05, 0.035, shadow)
    if abs(corners) > 0.01 and opened < 0.03:
        ellipse(0, 0.26 - corners, 0.14, 1.2 * abs(corners), (60, 60, 150), (10, 170) if corners > 0 else (190, 350))
    else:
        ellipse(0, 0.26, 0.12 + corners, 0.012 + opened / 2, (60, 60, 150))
        ellipse(0, 0.26, 0.1 + corners, opened / 2 - 0.008, (30, 20, 50))


def main() -> None:
    options = parse_options(__doc__, clips=100, frames=2)
    counts = dict.fromkeys(("apex", "representative", "uniform", "apex of a face", "apex of motion"), 0)
    with tempfile.TemporaryDirectory() as name:
        path, store = Path(name) / "talk.mp4", FrameStore(Path(name) / "frames")
        for seed in range(options.clips):
            begins, ends = draw_clip(path, seed)
            for method in ("apex", "representative", "uniform"):
                (frames,) = extract([Clip(path)], FramesSettings(method=method, per_clip=options.frames), store)
                if isinstance(frames, ClipError):
                    raise frames
                counts[method] += any(begins <= frame.time < ends for frame in frames)
                for role in {frame.role for frame in frames} & counts.keys():
                    counts[role] += 1
    print_results(options, counts)


if __name__ == "__main__":
    main()
