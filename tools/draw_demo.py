"""Draw the demo corpus: dialogues.jsonl, its clips and its README, into mmerg/corpora/demo.

    python tools/draw_demo.py [--out FOLDER] [--seed 7] [--clips-of DIALOGUE]

The same seed gives the same dialogues and the same pictures. Removes nothing: clips of another name stay.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from demo_face import EXPRESSIONS, Layer, Pixels, X
from demo_head import Head
from demo_place import BIG, onto, shoulders, wall
from demo_script import PEOPLE, PLACES, TALKS, Say, Talk

SIZE = (320, 240)
FPS = 12
NECK = (X, 500)  # the head turns about this point of its canvas
OUT = Path(__file__).parents[1] / "mmerg" / "corpora" / "demo"

README = """# Demo corpus

Five short dialogues with drawn clips, so that mmerg can be tried without a download. The words were written and the
faces drawn for this project by `tools/draw_demo.py` (seed {seed}); no person, film or dataset is shown or quoted.
Licensed under Apache-2.0 with the rest of the code.

`dialogues.jsonl` is in the layout of a folder dataset (docs/datasets.md): {turns} turns, {clips} clips, 320x240 at
12 frames a second. `fine_talk.mp4` holds three turns of one dialogue, the hidden reply among them. The other replies
and one turn of `fine` have no clip. Where Leo says that he is fine, his face says otherwise.
"""


@dataclass(frozen=True)
class Shot:
    """One turn in front of the camera: who, where, with which face, for how many seconds."""

    say: Say
    place: str
    side: float


class Rhythm:
    """When somebody blinks, moves and opens the mouth; drawn once a shot from the seed."""

    def __init__(self, rng: np.random.Generator, seconds: float) -> None:
        self.blinks = np.cumsum(rng.uniform(1.1, 2.2, 4)) - 0.5
        self.phase = rng.uniform(0, 2 * np.pi, 5)
        self.rate = rng.uniform(2.6, 3.4)
        self.seconds = seconds

    def blink(self, t: float) -> float:
        return float(np.clip(1.4 - np.abs(self.blinks - t).min() / 0.075, 0, 1))

    def talk(self, t: float) -> float:
        syllables = np.sin(2 * np.pi * self.rate * t + self.phase[0]) + 0.5 * np.sin(9.1 * t + self.phase[1])
        return float(np.clip(syllables, 0, 1)) * (0.15 < t < self.seconds - 0.3)

    def wave(self, number: int, pace: float, t: float) -> float:
        return float(np.sin(2 * np.pi * pace * t + self.phase[number]))


def frames(shot: Shot, rng: np.random.Generator) -> Iterator[Pixels]:
    """The shot's pictures, BGR 320x240: the face grows from rest into its expression and talks."""
    person, say = PEOPLE[shot.say.speaker], shot.say
    head, rhythm, background = Head(person), Rhythm(rng, say.seconds), wall(PLACES[shot.place], shot.side)
    full = EXPRESSIONS[say.face or say.emotion]
    for number in range(round(say.seconds * FPS)):
        t = number / FPS
        face = EXPRESSIONS["neutral"].towards(full, min(1.0, 0.45 + t / 0.8))
        shake = rng.normal(0, face.tremble, 2)
        x = BIG[0] * shot.side + face.sway * rhythm.wave(2, face.pace, t) + shake[0]
        y = 398 + face.lower + 0.6 * face.sway * rhythm.wave(3, face.pace * 1.3, t) + shake[1]
        turn = face.tilt + 0.35 * face.sway * rhythm.wave(4, face.pace * 0.8, t)
        picture = shoulders(background, BIG[0] * shot.side + (x - BIG[0] * shot.side) * 0.4, 392, person.shirt)
        drawn = head.draw(face, rhythm.blink(t), rhythm.talk(t), t)
        yield cv2.resize(onto(picture, placed(drawn, x, y, turn)), SIZE, interpolation=cv2.INTER_AREA)


def placed(head: Layer, x: float, y: float, turn: float, scale: float = 0.86) -> Layer:
    """The head with its neck at (x, y) of the picture, turned by `turn` degrees."""
    matrix = cv2.getRotationMatrix2D(NECK, turn, scale)
    matrix[:, 2] += np.array([x - NECK[0], y - NECK[1]])
    layer = Layer(1, 1)
    layer.image = cv2.warpAffine(head.image, matrix, BIG, flags=cv2.INTER_LINEAR)
    layer.alpha = cv2.warpAffine(head.alpha, matrix, BIG, flags=cv2.INTER_LINEAR)
    return layer


def reels(talk: Talk) -> dict[str, list[Shot]]:
    """The shots by clip file; turns of one reel share one."""
    files: dict[str, list[Shot]] = {}
    for number, say in enumerate(talk.turns, start=1):
        if say.seconds:
            files.setdefault(f"{talk.id}_{say.reel or number}.mp4", []).append(Shot(say, *talk.where[say.speaker]))
    return files


def line(talk: Talk) -> str:
    """The dialogue as a line of dialogues.jsonl."""
    turns: list[dict[str, str | float]] = []
    clock: dict[str, float] = {}
    for number, say in enumerate(talk.turns, start=1):
        turn: dict[str, str | float] = {"speaker": say.speaker, "text": say.text, "emotion": say.emotion}
        if say.seconds:
            turn["clip"] = name = f"{talk.id}_{say.reel or number}.mp4"
        if say.reel:
            turn["start"] = clock.get(name, 0.0)
            turn["end"] = clock[name] = clock.get(name, 0.0) + say.seconds
        turns.append(turn)
    return json.dumps({"id": talk.id, "turns": turns}, ensure_ascii=False)


def film(path: Path, shots: list[Shot], seed: list[int]) -> None:
    """Encode the shots one after another. Raises SystemExit where OpenCV cannot write mp4."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), FPS, SIZE)
    if not writer.isOpened():
        raise SystemExit(f"this OpenCV cannot write {path}; use the opencv-python-headless wheel")
    rng = np.random.default_rng(seed)
    for shot in shots:
        for picture in frames(shot, rng):
            writer.write(picture)
    writer.release()


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the demo corpus.")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--clips-of", choices=[talk.id for talk in TALKS], help="draw the clips of one dialogue only")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    cv2.setNumThreads(1)
    for number, talk in enumerate(TALKS):
        for index, (name, shots) in enumerate(reels(talk).items()):
            if options.clips_of in {None, talk.id}:
                film(options.out / name, shots, [options.seed, number, index])
    turns, clips = sum(len(talk.turns) for talk in TALKS), sum(len(reels(talk)) for talk in TALKS)
    (options.out / "dialogues.jsonl").write_text("".join(line(talk) + "\n" for talk in TALKS), encoding="utf-8")
    readme = README.format(seed=options.seed, turns=turns, clips=clips)
    (options.out / "README.md").write_text(readme, encoding="utf-8")


if __name__ == "__main__":
    main()
