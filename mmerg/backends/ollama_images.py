"""Which images Ollama can take: JPEG and PNG, known by their headers, with sides that do not crash the runner.

Qwen-VL runners panic where a side is under 28 px (32 px for the newer ones) or one side is 200 times the other; what
is neither JPEG nor PNG (WebP, GIF, a cut file) is refused by the server only after the call has waited in its queue.
Reads headers alone and decodes nothing.

    fault(png_bytes)  # "" where it may be sent, else what is wrong with it
"""

from __future__ import annotations

import struct

MIN_SIDE = 32
MAX_ASPECT = 200

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8"
_BARE_MARKERS = {0x01, *range(0xD0, 0xD8)}  # TEM and RSTn carry no length
_FRAME_MARKERS = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOFn; C4, C8 and CC are tables and extensions
_END_MARKERS = {0xD9, 0xDA}  # EOI and SOS: a frame header comes before both


def fault(data: bytes) -> str:
    """Why these bytes must not be sent as an image; empty where they may."""
    size = dimensions(data)
    if size is None:
        return "is neither a JPEG nor a PNG with a readable header"
    width, height = size
    if min(size) < MIN_SIDE:
        return f"is {width}x{height} px; a side under {MIN_SIDE} px crashes vision models"
    if max(size) > MAX_ASPECT * min(size):
        return f"is {width}x{height} px; one side over {MAX_ASPECT} times the other crashes vision models"
    return ""


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from the header of a JPEG (ITU-T T.81, B.2.2) or PNG (IHDR), else None."""
    if data.startswith(_PNG):
        if len(data) < 24 or data[12:16] != b"IHDR":
            return None
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data.startswith(_JPEG):
        return _jpeg_dimensions(data)
    return None


def _jpeg_dimensions(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in _BARE_MARKERS:
            at += 2
        elif marker in _END_MARKERS:
            return None
        elif marker in _FRAME_MARKERS:
            if at + 9 > len(data):
                return None
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
