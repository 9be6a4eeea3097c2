"""Draw a talking cartoon face: people, expressions and one frame of one person at one moment.

Everything is drawn with OpenCV's antialiased polygons on a canvas of 480x600, head on, then moved as a whole.
Knows nothing of dialogues or files. Colours are BGR, lengths pixels of the canvas, up is positive in `Expression`.

    head = Head(PEOPLE["Maya"]).draw(EXPRESSIONS["joy"], blink=0.0, talk=0.5, seconds=1.2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

Colour = tuple[int, int, int]
Points = npt.NDArray[np.float64]
Pixels = npt.NDArray[Any]

WIDTH, HEIGHT = 480, 600
X, Y = 240, 300  # the middle of the face
EYE_X, EYE_Y = 50, 278
BROW_Y, NOSE_Y, MOUTH_Y = 240, 350, 392
SUBPIXEL = 4  # fractional bits of a coordinate


@dataclass(frozen=True)
class Person:
    """How somebody looks. `hair_style` is short, long, bun or curly."""

    skin: Colour
    hair: Colour
    hair_style: str
    shirt: Colour
    iris: Colour
    lips: Colour
    glasses: bool = False
    beard: bool = False
    broad: float = 1.0


@dataclass(frozen=True)
class Expression:
    """What an emotion does to a face; all zero and ones is a face at rest."""

    brow_raise: float = 0.0
    brow_inner: float = 0.0  # inner ends up (worry) or down (anger)
    eye_open: float = 1.0
    squint: float = 0.0  # lower lid up, 0 to 1
    gaze_down: float = 0.0
    smile: float = 0.0  # corners of the mouth up
    mouth_open: float = 0.0
    mouth_width: float = 1.0
    teeth: float = 0.0
    sneer: float = 0.0  # upper lip up
    wrinkle: float = 0.0  # nose and forehead, 0 to 1
    flush: float = 0.0
    pale: float = 0.0
    tears: float = 0.0
    sweat: float = 0.0
    tilt: float = 0.0  # degrees
    lower: float = 0.0  # head down
    sway: float = 4.0  # how far the head moves
    pace: float = 0.5  # how often, per second
    tremble: float = 0.0

    def towards(self, other: Expression, share: float) -> Expression:
        """This face, `share` (0 to 1) of the way to another."""
        return Expression(
            *(getattr(self, f.name) * (1 - share) + getattr(other, f.name) * share for f in fields(Expression))
        )


EXPRESSIONS = {
    "neutral": Expression(smile=6),
    "joy": Expression(brow_raise=7, eye_open=0.92, squint=0.5, smile=24, mouth_open=20, mouth_width=1.22, teeth=1,
                      flush=0.55, sway=9, pace=1.3, tilt=3),
    "sadness": Expression(brow_raise=2, brow_inner=17, eye_open=0.72, gaze_down=5, smile=-17, mouth_width=0.86,
                          tears=1, flush=0.15, tilt=-4, lower=12, sway=4, pace=0.35),
    "concern": Expression(brow_raise=4, brow_inner=11, eye_open=0.92, smile=-4, tilt=4, lower=4, pace=0.4),
    "anger": Expression(brow_raise=-11, brow_inner=-16, eye_open=0.82, squint=0.3, smile=-14, mouth_open=11,
                        mouth_width=1.05, teeth=1, wrinkle=1, flush=1, sway=10, pace=1.9, lower=4),
    "fear": Expression(brow_raise=15, brow_inner=15, eye_open=1.38, smile=-9, mouth_open=17, mouth_width=1.0,
                       teeth=0.6, pale=1, sweat=1, tremble=2.5, sway=3, pace=0.8, lower=-3),
    "surprise": Expression(brow_raise=24, eye_open=1.45, smile=2, mouth_open=38, mouth_width=0.66, sway=6, pace=0.9,
                           lower=-8),
    "disgust": Expression(brow_raise=-9, brow_inner=-7, eye_open=0.62, squint=0.8, smile=-15, mouth_open=5,
                          mouth_width=0.92, sneer=11, wrinkle=0.9, tilt=6, sway=5, pace=0.7, lower=-2),
}  # fmt: skip


class Layer:
    """A picture with premultiplied alpha, so that antialiased edges blend with whatever lies below."""

    def __init__(self, width: int = WIDTH, height: int = HEIGHT) -> None:
        self.image: Pixels = np.zeros((height, width, 3), np.uint8)
        self.alpha: Pixels = np.zeros((height, width), np.uint8)

    def copy(self) -> Layer:
        twin = Layer(1, 1)
        twin.image, twin.alpha = self.image.copy(), self.alpha.copy()
        return twin

    def fill(self, points: Points, colour: Sequence[float]) -> None:
        corners = [np.round(points * 2**SUBPIXEL).astype(np.int32)]
        cv2.fillPoly(self.image, corners, tuple(colour), cv2.LINE_AA, SUBPIXEL)
        cv2.fillPoly(self.alpha, corners, (255,), cv2.LINE_AA, SUBPIXEL)

    def stroke(self, points: Points, width: float, colour: Sequence[float]) -> None:
        """A line that thins out towards both ends."""
        along = np.gradient(points, axis=0)
        normal = np.stack([-along[:, 1], along[:, 0]], 1) / np.maximum(
            np.linalg.norm(along, axis=1, keepdims=True), 1e-6
        )
        half = width / 2 * np.sqrt(np.clip(np.sin(np.linspace(0.12, np.pi - 0.12, len(points))), 0, 1))[:, None]
        self.fill(np.concatenate([points + normal * half, (points - normal * half)[::-1]]), colour)

    def shade(self, points: Points, colour: Sequence[float], strength: float, blur: float) -> None:
        """Tint the part inside `points`, softly."""
        if strength <= 0.01:
            return
        margin = int(3 * blur) + 2
        low = np.maximum(points.min(0).astype(int) - margin, 0)
        high = np.minimum(points.max(0).astype(int) + margin, (self.alpha.shape[1], self.alpha.shape[0]))
        window = np.s_[low[1] : high[1], low[0] : high[0]]
        mask: Pixels = np.zeros(self.alpha[window].shape, np.float32)
        cv2.fillPoly(mask, [np.round((points - low) * 2**SUBPIXEL).astype(np.int32)], (1.0,), cv2.LINE_AA, SUBPIXEL)
        mask = (cv2.GaussianBlur(mask, (0, 0), blur) * strength)[..., None]
        cover = self.alpha[window].astype(np.float32)[..., None] / 255
        tinted = self.image[window] * (1 - mask) + np.asarray(colour, np.float32) * mask * cover
        self.image[window] = np.clip(tinted, 0, 255).astype(np.uint8)

    def within(self, points: Points, drawn: Layer) -> None:
        """Put the part of `drawn` that lies inside `points` on top."""
        mask: Pixels = np.zeros(self.alpha.shape, np.uint8)
        cv2.fillPoly(mask, [np.round(points * 2**SUBPIXEL).astype(np.int32)], (255,), cv2.LINE_AA, SUBPIXEL)
        share = mask.astype(np.float32)[..., None] / 255
        clear = 1 - share * drawn.alpha.astype(np.float32)[..., None] / 255
        self.image = np.clip(self.image * clear + drawn.image * share, 0, 255).astype(np.uint8)
        self.alpha = np.maximum(self.alpha, np.minimum(mask, drawn.alpha))

    def over(self, top: Layer) -> None:
        clear = 1 - top.alpha.astype(np.float32)[..., None] / 255
        self.image = np.clip(self.image * clear + top.image, 0, 255).astype(np.uint8)
        self.alpha = np.maximum(self.alpha, top.alpha)


def oval(x: float, y: float, half_x: float, half_y: float, power: float = 2.0) -> Points:
    """A closed oval; a power above 2 makes it squarer."""
    angle = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    shape = np.stack([np.cos(angle), np.sin(angle)], 1)
    points: Points = np.array([x, y]) + np.sign(shape) * np.abs(shape) ** (2 / power) * np.array([half_x, half_y])
    return points


def smooth(points: Sequence[tuple[float, float]], closed: bool = False) -> Points:
    """A curve (Catmull-Rom) through the points."""
    knots = np.array(points, float)
    ends = (knots[-1:], knots[:2]) if closed else (knots[:1], knots[-1:])
    knots = np.concatenate([ends[0], knots, ends[1]])
    t = np.linspace(0, 1, 10, endpoint=False)[:, None]
    parts = []
    for a, b, c, d in zip(knots, knots[1:], knots[2:], knots[3:], strict=False):
        parts.append(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3))
    return np.concatenate(parts if closed else [*parts, knots[-2:-1]])


def mix(a: Sequence[float], b: Sequence[float], share: float) -> Colour:
    blue, green, red = (int(x * (1 - share) + y * share) for x, y in zip(a, b, strict=True))
    return blue, green, red
