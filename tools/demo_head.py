"""Draw one head: hair, ears and skin once, then the features of one moment on top.

layer = Head(PEOPLE["Maya"]).draw(EXPRESSIONS["joy"], blink=0.0, talk=0.5, seconds=1.2)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from demo_face import (
    BROW_Y,
    EYE_X,
    EYE_Y,
    MOUTH_Y,
    NOSE_Y,
    Expression,
    Layer,
    Person,
    Points,
    X,
    Y,
    mix,
    oval,
    smooth,
)

WHITE, BLACK, MOUTH, TONGUE = (250, 250, 250), (25, 20, 20), (35, 15, 60), (95, 90, 190)
TEAR = (250, 225, 190)


class Head:
    """One person's head, its unchanging parts drawn once."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.shadow = mix(person.skin, (30, 25, 60), 0.42)
        self.light = mix(person.skin, WHITE, 0.35)
        self.below = self._skin()
        self.above = self._hair()

    def draw(self, face: Expression, blink: float, talk: float, seconds: float) -> Layer:
        """The head at one moment; `blink` and `talk` are 0 (open, silent) to 1 (shut, loudest)."""
        layer = self.below.copy()
        self._tone(layer, face)
        for side in (-1, 1):
            self._eye(layer, face, side, blink)
            self._brow(layer, face, side)
        self._nose(layer, face)
        self._mouth(layer, face, talk)
        layer.over(self.above)
        if self.person.glasses:
            self._glasses(layer)
        self._drops(layer, face, seconds)
        return layer

    def _outline(self, grow: float = 0.0) -> Points:
        broad = self.person.broad
        half = [(-112, -60), (-114, 10), (-100, 78), (-62, 132), (0, 152)]
        right = [(-x, y) for x, y in half[-2::-1]]
        top = [(92, -118), (0, -150), (-92, -118)]
        return smooth([(X + x * broad * (1 + grow), Y + y * (1 + grow)) for x, y in half + right + top], closed=True)

    def _skin(self) -> Layer:
        layer, person = Layer(), self.person
        dark_hair = mix(person.hair, BLACK, 0.35)
        if person.hair_style == "long":
            back = [(128, 0), (150, 120), (158, 250), (60, 262), (-60, 262), (-158, 250), (-150, 120), (-128, 0)]
            crown = [(-120, -100), (-70, -165), (0, -182), (70, -165), (120, -100)]
            layer.fill(smooth([(X + x, Y + y) for x, y in back + crown], closed=True), dark_hair)
        elif person.hair_style == "bun":
            layer.fill(oval(X, Y - 178, 58, 48), dark_hair)
            layer.fill(oval(X, Y - 60, 122, 118), dark_hair)
        elif person.hair_style == "curly":
            for angle in np.linspace(-0.5, np.pi + 0.5, 15):
                layer.fill(oval(X - 112 * np.cos(angle), Y - 48 - 112 * np.sin(angle), 36, 36), dark_hair)
        else:
            layer.fill(oval(X, Y - 62, 121, 112), dark_hair)
        for side in (-1, 1):
            ear = oval(X + side * 114 * person.broad, Y + 8, 20, 34)
            layer.fill(ear, mix(person.skin, self.shadow, 0.25))
            layer.shade(oval(X + side * 116 * person.broad, Y + 10, 9, 20), self.shadow, 0.7, 4)
        neck = [(-50, 90), (-52, 190), (-78, 232), (0, 256), (78, 232), (52, 190), (50, 90)]
        layer.fill(smooth([(X + x, Y + y) for x, y in neck], closed=True), mix(person.skin, self.shadow, 0.2))
        layer.shade(oval(X, Y + 150, 54, 38), self.shadow, 0.85, 10)
        layer.within(self._outline(), self._face())
        return layer

    def _face(self) -> Layer:
        layer, person = Layer(), self.person
        layer.fill(self._outline(grow=0.1), person.skin)
        for side in (-1, 1):
            layer.shade(oval(X + side * 108, Y + 40, 26, 130), self.shadow, 0.55, 18)
            layer.shade(oval(X + side * EYE_X, EYE_Y - 6, 38, 27), self.shadow, 0.62, 10)
            layer.shade(oval(X + side * 60, Y + 48, 30, 22), self.light, 0.75, 14)
        layer.shade(oval(X, Y + 150, 80, 22), self.shadow, 0.6, 12)
        layer.shade(oval(X, Y - 95, 62, 26), self.light, 0.55, 18)
        layer.shade(oval(X, Y + 126, 26, 14), self.light, 0.45, 9)
        layer.shade(oval(X, Y + 5, 11, 52), self.light, 0.85, 6)
        if person.beard:
            jaw = [
                (-108, 30),
                (-96, 82),
                (-60, 132),
                (0, 154),
                (60, 132),
                (96, 82),
                (108, 30),
                (74, 74),
                (0, 66),
                (-74, 74),
            ]
            layer.shade(smooth([(X + x, Y + y) for x, y in jaw], closed=True), person.hair, 0.85, 5)
        return layer

    def _hair(self) -> Layer:
        layer, person = Layer(), self.person
        fringes = {
            "short": [(-118, -30), (-100, -78), (-52, -98), (20, -92), (84, -100), (104, -70), (118, -30)],
            "long": [(-120, 10), (-104, -62), (-60, -92), (-18, -116), (40, -96), (98, -60), (120, 10)],
            "bun": [(-119, -26), (-98, -82), (-44, -112), (0, -118), (44, -112), (98, -82), (119, -26)],
            "curly": [(-116, -30), (-96, -84), (-50, -96), (-6, -108), (44, -96), (94, -84), (116, -30)],
        }
        crown = [(126, -70), (104, -136), (50, -172), (0, -178), (-50, -172), (-104, -136), (-126, -70)]
        layer.fill(smooth([(X + x, Y + y) for x, y in fringes[person.hair_style] + crown], closed=True), person.hair)
        if person.hair_style == "curly":
            for angle in np.linspace(0.25, np.pi - 0.25, 11):
                layer.fill(oval(X - 98 * np.cos(angle), Y - 52 - 86 * np.sin(angle), 27, 24), person.hair)
        shine = mix(person.hair, WHITE, 0.4)
        layer.shade(
            smooth([(X - 80, Y - 120), (X - 30, Y - 150), (X + 30, Y - 152), (X + 10, Y - 138)], closed=True),
            shine,
            0.7,
            7,
        )
        for offset in (-62, -24, 20, 62):
            strand = smooth([(X + offset, Y - 160), (X + offset * 1.25 - 6, Y - 130), (X + offset * 1.4 - 10, Y - 104)])
            layer.stroke(strand, 4, mix(person.hair, BLACK, 0.3))
        return layer

    def _tone(self, layer: Layer, face: Expression) -> None:
        for side in (-1, 1):
            layer.shade(oval(X + side * 62, Y + 46, 30, 20), (95, 95, 225), 0.42 * face.flush, 13)
        layer.shade(oval(X, Y - 60, 90, 40), (90, 90, 215), 0.16 * max(0.0, face.flush - 0.6), 20)
        layer.shade(self._outline(), mix(self.person.skin, WHITE, 0.75), 0.22 * face.pale, 8)
        for lift in (0, 14):
            line = smooth([(X - 42, Y - 84 - lift), (X, Y - 88 - lift), (X + 42, Y - 84 - lift)])
            crease = max(0.0, face.brow_raise - 10) / 14
            if crease:
                layer.shade(np.concatenate([line, line[::-1] + np.array([0, 4])]), self.shadow, 0.7 * min(crease, 1), 2)
        for x in (-9, 9):
            furrow = np.array(
                [[X + x - 2, Y - 74], [X + x + 2, Y - 74], [X + x * 0.7 + 2, Y - 46], [X + x * 0.7 - 2, Y - 46]]
            )
            layer.shade(furrow, self.shadow, 0.9 * face.wrinkle, 2)

    def _eye(self, layer: Layer, face: Expression, side: int, blink: float) -> None:
        x = X + side * EYE_X * self.person.broad
        upper = max(17 * face.eye_open * (1 - blink), 0.6)
        lower = max(11 * (1 - 0.75 * face.squint) * (1 - 0.8 * blink), 0.5)
        down = 4 * blink
        droop = -side * face.brow_inner * 0.14
        top = [(x - 28, EYE_Y + 2 + down + droop), (x - 14, EYE_Y - upper * 0.86 + down), (x, EYE_Y - upper + down)]
        top += [(x + 14, EYE_Y - upper * 0.86 + down), (x + 28, EYE_Y + 2 + down - droop)]
        bottom = [
            (x + 14, EYE_Y + lower * 0.85 + down),
            (x, EYE_Y + lower + down),
            (x - 14, EYE_Y + lower * 0.85 + down),
        ]
        almond = smooth([*top, *bottom], closed=True)
        ball = Layer()
        ball.fill(oval(x, EYE_Y, 40, 34), (242, 244, 246))
        ball.shade(oval(x, EYE_Y - upper - 2, 34, 9), (120, 110, 120), 0.75, 4)
        if face.tears > 0.3:
            ball.shade(oval(x, EYE_Y, 36, 26), (190, 180, 245), 0.35, 4)
        iris_y = EYE_Y + face.gaze_down
        ball.fill(oval(x, iris_y, 14, 14), mix(self.person.iris, BLACK, 0.45))
        ball.fill(oval(x, iris_y, 11.5, 11.5), self.person.iris)
        ball.fill(oval(x, iris_y, 6.5, 6.5), BLACK)
        ball.fill(oval(x - 4, iris_y - 5, 3, 3), WHITE)
        layer.within(almond, ball)
        lid = smooth(top)
        layer.shade(smooth([*[(a, b - 10) for a, b in top], *reversed(top)], closed=True), self.shadow, 0.55, 3)
        layer.stroke(lid, 7.5, BLACK)
        layer.stroke(smooth([top[-1], *bottom, top[0]]), 3, mix(self.shadow, BLACK, 0.25))
        bag = smooth([(x - 24, EYE_Y + 17), (x, EYE_Y + 23), (x + 24, EYE_Y + 17)])
        depth = 0.35 + 0.4 * max(face.squint, face.tears)
        layer.shade(np.concatenate([bag, bag[::-1] + np.array([0, 5])]), self.shadow, depth, 3)

    def _brow(self, layer: Layer, face: Expression, side: int) -> None:
        y = BROW_Y - face.brow_raise
        inner, middle, outer = y - face.brow_inner, y - 9 - face.brow_inner * 0.2, y + 4 + abs(face.brow_inner) * 0.12
        pinch = 6 * face.wrinkle
        xs = [X + side * v * self.person.broad for v in (20 - pinch, 52, 84)]
        colour = mix(self.person.hair, BLACK, 0.45)
        layer.stroke(smooth([(xs[0], inner), (xs[1], middle), (xs[2], outer)]), 13, colour)

    def _nose(self, layer: Layer, face: Expression) -> None:
        lift = 5 * face.wrinkle
        layer.shade(oval(X, NOSE_Y + 10 - lift, 24, 6), self.shadow, 0.75, 4)
        for side in (-1, 1):
            wing = smooth([(X + side * 12, NOSE_Y - 44), (X + side * 17, NOSE_Y - 18), (X + side * 24, NOSE_Y - lift)])
            layer.shade(np.concatenate([wing, wing[::-1] + np.array([side * 5, 0])]), self.shadow, 0.55, 4)
            layer.fill(oval(X + side * 10, NOSE_Y + 5 - lift, 6, 3.6), mix(self.shadow, BLACK, 0.5))
            fold = smooth(
                [(X + side * 28, NOSE_Y + 2 - lift), (X + side * 46, NOSE_Y + 24), (X + side * 54, NOSE_Y + 52)]
            )
            depth = 0.25 + 0.5 * max(face.wrinkle, min(1.0, abs(face.smile) / 20))
            layer.shade(np.concatenate([fold, fold[::-1] + np.array([side * 4, 0])]), self.shadow, depth, 2.5)
            crease = smooth([(X + side * 10, NOSE_Y - 66), (X + side * 20, NOSE_Y - 56)])
            layer.shade(np.concatenate([crease, crease[::-1] + np.array([0, 5])]), self.shadow, face.wrinkle, 2)
        layer.shade(oval(X, NOSE_Y - 8 - lift, 11, 9), self.light, 0.8, 5)

    def _mouth(self, layer: Layer, face: Expression, talk: float) -> None:
        gap = face.mouth_open + talk * (15 - 0.25 * face.mouth_open)
        half = 44 * face.mouth_width * (1 - 0.1 * talk)
        u = np.linspace(-1, 1, 25)
        bend = MOUTH_Y + face.smile * (0.45 - u**2)
        lift = np.clip(u + 0.4, 0, 1.4) / 1.4 * face.sneer
        bulge = np.sqrt(np.clip(1 - u**2, 0, 1))
        x = X + half * u
        upper, lower = bend - 0.3 * gap * bulge - lift, bend + 0.7 * gap * bulge - lift * 0.2
        cupid = 9 * bulge - 3 * np.exp(-((u / 0.16) ** 2))
        lips = self.person.lips
        layer.shade(oval(X, MOUTH_Y + gap * 0.7 + 26, 34, 6), self.shadow, 0.55, 5)
        outline = np.concatenate([np.stack([x, upper - cupid], 1), np.stack([x, lower + 11 * bulge], 1)[::-1]])
        layer.fill(outline, lips)
        layer.shade(np.concatenate([np.stack([x, upper - cupid], 1), np.stack([x, upper], 1)[::-1]]), BLACK, 0.25, 2)
        layer.shade(oval(X, float(lower[12]) + 5, half * 0.35, 2.5), WHITE, 0.3, 2)
        inside = np.concatenate([np.stack([x, upper], 1), np.stack([x, lower], 1)[::-1]])
        if gap > 2:
            self._inside(layer, inside, upper, lower, face, gap)
        layer.stroke(np.stack([x, (upper + lower) / 2 if gap <= 2 else upper], 1), 4.5, mix(lips, BLACK, 0.7))
        for corner in (0, -1):
            layer.shade(oval(float(x[corner]), float(bend[corner] - lift[corner]), 5, 4), BLACK, 0.55, 3)

    def _inside(
        self, layer: Layer, opening: Points, upper: Points, lower: Points, face: Expression, gap: float
    ) -> None:
        inner = Layer()
        inner.fill(oval(X, MOUTH_Y, 120, 90), MOUTH)
        inner.fill(oval(X, float(lower[12]) + 4, 26, gap * 0.42), TONGUE)
        if face.teeth > 0.2:
            x = opening[: len(upper), 0]
            edge = upper + min(gap * 0.5, 12) * face.teeth
            inner.fill(np.concatenate([np.stack([x, upper - 6], 1), np.stack([x, edge], 1)[::-1]]), (240, 244, 246))
        layer.within(opening, inner)

    def _glasses(self, layer: Layer) -> None:
        frame = (45, 35, 35)
        for side in (-1, 1):
            rim = oval(X + side * EYE_X, EYE_Y + 2, 39, 31, 2.6)
            layer.stroke(np.concatenate([rim, rim[:2]]), 3.2, frame)
        layer.stroke(smooth([(X - 14, EYE_Y - 2), (X, EYE_Y - 7), (X + 14, EYE_Y - 2)]), 3.2, frame)

    def _drops(self, layer: Layer, face: Expression, seconds: float) -> None:
        if face.tears > 0.4:
            for side, phase in ((-1, 0.15), (1, 0.65)):
                way = (seconds * 0.45 + phase) % 1.0
                start = (X + side * (EYE_X + 8), EYE_Y + 12.0)
                x, y = start[0] + side * 8 * way, start[1] + 92 * way
                trail = smooth([start, ((start[0] + x) / 2 + side, (start[1] + y) / 2), (x, y)])
                layer.shade(
                    np.concatenate([trail - np.array([2.5, 0]), trail[::-1] + np.array([2.5, 0])]), WHITE, 0.6, 1.5
                )
                self._drop(layer, x, y, 7)
        if face.sweat > 0.4:
            self._drop(layer, X + 86, Y - 72 + (seconds * 12) % 26, 8)
            self._drop(layer, X - 92, Y - 50 + (seconds * 9) % 22, 6)

    def _drop(self, layer: Layer, x: float, y: float, size: float) -> None:
        shape: Sequence[tuple[float, float]] = [(x, y - 2 * size), (x + size, y + 2), (x, y + size), (x - size, y + 2)]
        layer.fill(smooth(shape, closed=True), mix(TEAR, (190, 130, 70), 0.45))
        layer.fill(smooth([(a, b + 0.5) for a, b in shape], closed=True) * 0.8 + np.array([x, y]) * 0.2, TEAR)
        layer.fill(oval(x - size * 0.3, y - size * 0.1, size * 0.25, size * 0.3), WHITE)
