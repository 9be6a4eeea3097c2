"""How long a contact sheet takes, against decoding the clips on it; and how long a check of many small clips takes.

Makes 24 clips of 1280x720, 3 to 5 s long (as `benchmarks/keyframes.py` does), the last two turns of 12 samples, and
1,000 clips of 320x192, 2 s long. Then, in each round:

    decode  cv2 `grab()` of every frame of the 24 clips, two files at a time as a looker does: the floor
    frames  `extract` of the same clips into a fresh store, the two of a sample at a time: what a run pays for them
    sheet   the same by a contact sheet, which is drawn and made a PNG, too
    again   the sheet with the frames still in the store
    check   each of the 1,000 clips opened, its first frame decoded

Prints medians over rounds: seconds, and the ratios to decode in the same round, as text, then one
line of JSON. Times are this machine's; ratios carry over roughly.

    python benchmarks/sheet.py --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from benchmarks.keyframes import grab_all, make_clip, to_h264
from mmerg.checking.clips import Wanted, examine
from mmerg.checking.sheet import contact_sheet, png
from mmerg.corpora.dialogue import Clip, Dialogue, Sample, Turn, cut
from mmerg.engine.look import Looker
from mmerg.frames.extract import extract
from mmerg.frames.frame import FrameSettings
from mmerg.frames.picture import load_cv2
from mmerg.frames.store import FrameStore

SAMPLES, SMALL = 12, 1000
WORDS = "Oh no. I was so sure that this was the one, and now they tell me that it never was."


def small_clip(path: Path) -> None:
    """Two seconds of 320x192 in which nothing happens."""
    import numpy as np

    cv2 = load_cv2()
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*"mp4v"), 25, (320, 192))
    for number in range(50):
        writer.write(np.full((192, 320, 3), 100 + number, np.uint8))
    writer.release()


def sample(first: Path, second: Path) -> Sample:
    """A sample whose last two turns have these clips."""
    turns = (Turn("Ana", WORDS, clip=Clip(first)), Turn("Ben", WORDS, clip=Clip(second)), Turn("Ana", "Yes."))
    return cut(Dialogue(first.stem, turns), 2, ("joy",))


def one_round(pairs: list[tuple[Path, Path]], small: list[Path], scratch: Path) -> list[float]:
    """Seconds that decode, frames, sheet, again and check take."""
    clock = [perf_counter()]
    with ThreadPoolExecutor(2) as pool:
        for pair in pairs:
            list(pool.map(grab_all, pair))
    clock.append(perf_counter())
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        store = FrameStore(Path(folder))
        for pair in pairs:
            extract([Clip(path) for path in pair], FrameSettings(), store)
    clock.append(perf_counter())
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        looker = Looker(FrameSettings(), 8, 2, FrameStore(Path(folder)))
        for _ in range(2):
            png(contact_sheet("benchmark", [sample(*pair) for pair in pairs], looker, 8))
            clock.append(perf_counter())
        wanted = [Wanted(Clip(path), (path.stem,), 2.0, timed=True) for path in small]
        if flaws := examine(wanted, looker.settings, looker.store, lambda *_: None):
            raise RuntimeError(flaws[0].what)
        clock.append(perf_counter())
    return [after - before for before, after in pairwise(clock)]


def main() -> None:
    """Make clips, time them, print."""
    parser = argparse.ArgumentParser(description="Time contact sheets and the check of many clips.")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ffmpeg = shutil.which("ffmpeg")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        pairs = [(scratch / f"{number}a.mp4", scratch / f"{number}b.mp4") for number in range(SAMPLES)]
        codec = "mpeg4"
        for seed, path in enumerate(path for pair in pairs for path in pair):
            make_clip(path, seed)
            codec = "h264" if ffmpeg and to_h264(path, ffmpeg) else "mpeg4"
        small = [scratch / f"small{number}.mp4" for number in range(SMALL)]
        small_clip(small[0])
        for path in small[1:]:
            path.write_bytes(small[0].read_bytes())
        one_round(pairs[:1], small[:1], scratch)  # imports, caches
        rounds = [one_round(pairs, small, scratch) for _ in range(options.rounds)]
    names = ("decode", "frames", "sheet", "again", "check")
    seconds = {name: statistics.median(row[i] for row in rounds) for i, name in enumerate(names)}
    ratio = {name: statistics.median(row[i] / row[0] for row in rounds) for i, name in enumerate(names[:-1])}
    result = {
        "benchmark": "sheet",
        "samples": SAMPLES,
        "small_clips": SMALL,
        "rounds": options.rounds,
        "codec": codec,
        "cores": os.cpu_count(),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "ratio": {name: round(value, 3) for name, value in ratio.items()},
    }
    sys.stdout.write(
        f"{SAMPLES} samples with two clips of {codec}, 720p, medians of {options.rounds} rounds: seconds, ratio\n"
        + "".join(f"  {name:<8}{seconds[name]:7.2f}{ratio[name]:8.2f}\n" for name in names[:-1])
        + f"{SMALL} clips of 320x192 opened: {seconds['check']:.2f} s\n{json.dumps(result)}\n"
    )


if __name__ == "__main__":
    main()
