"""Draw what is around a head: the wall with a piece of furniture, and the shirt.

picture = shoulders(wall(PLACES["study"], side=0.34), 218, 392, shirt=(150, 90, 60))
"""

from __future__ import annotations

import cv2
import numpy as np
from demo_face import Colour, Layer, Pixels, mix, oval, smooth
from demo_script import Place

BIG = (640, 480)  # drawn at twice the clip's size, then averaged down
BOOKS = ((70, 80, 160), (150, 110, 60), (80, 140, 90), (60, 130, 190), (120, 80, 120))


def wall(place: Place, side: float) -> Pixels:
    """The background, furniture on the side where the face is not."""
    share = np.linspace(0, 1, BIG[1])[:, None, None]
    layer = Layer(*BIG)
    layer.image[:] = np.array(place.top) * (1 - share) + np.array(place.bottom) * share
    layer.alpha[:] = 255
    x = 500.0 if side <= 0.5 else 140.0
    furnish(layer, place.furniture, x)
    layer.image = cv2.GaussianBlur(layer.image, (0, 0), 2.2)  # the background is out of focus, and cheap to encode
    return layer.image


def furnish(layer: Layer, furniture: str, x: float) -> None:
    if furniture == "window":
        layer.fill(oval(x, 150, 92, 112, 12), (235, 240, 240))
        layer.fill(oval(x, 150, 80, 100, 12), (235, 205, 165))
        layer.fill(oval(x - 20, 215, 50, 34), (110, 165, 120))
        layer.fill(oval(x, 150, 4, 102, 12), (235, 240, 240))
    elif furniture == "shelf":
        for y in (120.0, 240.0):
            for index, colour in enumerate(
                [(70, 80, 160), (150, 110, 60), (80, 140, 90), (60, 130, 190), (120, 80, 120)]
            ):
                layer.fill(oval(x - 72 + 34 * index, y - 38 - 3 * (index % 3), 13, 38, 12), colour)
            layer.fill(oval(x, y + 6, 110, 8, 12), (70, 95, 125))
    elif furniture == "lamp":
        layer.shade(oval(x, 190, 110, 110), (150, 215, 245), 0.75, 40)
        layer.fill(oval(x, 330, 5, 150, 8), (50, 50, 55))
        layer.fill(smooth([(x - 34, 120), (x + 34, 120), (x + 60, 200), (x - 60, 200)], closed=True), (170, 225, 250))
    elif furniture == "plant":
        for lean in (-1.0, -0.5, 0.0, 0.5, 1.0):
            tip = (x + 90 * lean, 150 + 60 * abs(lean))
            middle = ((x + tip[0]) / 2, 230.0)
            layer.stroke(smooth([(x, 350), middle, tip]), 34, (80, 140 + 12 * lean, 70))
        layer.fill(smooth([(x - 52, 340), (x + 52, 340), (x + 40, 430), (x - 40, 430)], closed=True), (70, 100, 180))
    else:
        layer.fill(oval(x, 260, 84, 190, 14), (75, 85, 130))
        layer.fill(oval(x, 170, 58, 70, 14), (90, 102, 150))
        layer.fill(oval(x, 350, 58, 70, 14), (90, 102, 150))
        layer.fill(oval(x - 62, 270, 8, 8), (120, 200, 220))


def shoulders(picture: Pixels, x: float, y: float, shirt: Colour) -> Pixels:
    """The shirt, below a head whose neck is at (x, y)."""
    layer = Layer(*BIG)
    outline = [(-190, 300), (-176, 70), (-120, 24), (-52, 2), (0, 12), (52, 2), (120, 24), (176, 70), (190, 300)]
    layer.fill(smooth([(x + a, y + b) for a, b in outline], closed=True), shirt)
    for side in (-1, 1):
        layer.shade(oval(x + side * 165, y + 130, 30, 130), mix(shirt, (0, 0, 0), 0.5), 0.6, 16)
    return onto(picture, layer)


def onto(picture: Pixels, top: Layer) -> Pixels:
    clear = 1 - top.alpha.astype(np.float32)[..., None] / 255
    return np.clip(picture * clear + top.image, 0, 255).astype(np.uint8)
