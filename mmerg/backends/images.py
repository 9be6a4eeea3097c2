"""Which images may be sent to a server: what crashes or confuses vision models is refused before."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache

from mmerg.backends.protocol import Request
from mmerg.errors import CallError, Failure

MIN_SIDE = 32  # pixels; Qwen-VL runners panic under 28, the newer ones under 32
MAX_ASPECT = 200


def check_images(request: Request, vision: Callable[[], bool], model: str, where: str) -> None:
    """Raises CallError image_rejected where one of the request's images must not be sent, or the model has no eyes."""
    for image in request.images:
        if wrong := fault(image.data):
            what = f"image {image.sha256[:12]} {wrong}"
            raise CallError(Failure.IMAGE_REJECTED, what, where=where, hint="take the frames anew, or larger")
    if request.images and not vision():
        what = f"{model} has no eyes, and the request has {len(request.images)} images"
        hint = "use a model whose capabilities name vision, or let frames be described in words"
        raise CallError(Failure.IMAGE_REJECTED, what, where=where, hint=hint)


@lru_cache(maxsize=64)
def fault(data: bytes) -> str:
    """Why these bytes must not be sent as an image; empty where they may. Reads the header alone."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG")) as image:
            width, height = image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return "is neither a JPEG nor a PNG with a readable header"
    if min(width, height) < MIN_SIDE:
        return f"is {width}x{height} px; a side under {MIN_SIDE} px crashes vision models"
    if max(width, height) > MAX_ASPECT * min(width, height):
        return f"is {width}x{height} px; one side over {MAX_ASPECT} times the other crashes vision models"
    return ""
