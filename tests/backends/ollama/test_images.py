"""Headers of images, against what OpenCV writes."""

import struct

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmerg.backends.adapter import image_fault


def encode(extension: str, width: int, height: int) -> bytes:
    picture = np.full((height, width, 3), 127, dtype=np.uint8)
    options = [cv2.IMWRITE_JPEG_PROGRESSIVE, 1] if extension == ".progressive.jpg" else []
    return cv2.imencode(extension, picture, options)[1].tobytes()


@settings(max_examples=30)
@given(
    st.sampled_from([".jpg", ".progressive.jpg", ".png"]),
    st.integers(1, 31),
    st.integers(1, 300),
)
def test_the_size_that_was_written_is_read(extension: str, width: int, height: int) -> None:
    assert image_fault(encode(extension, width, height)).startswith(f"is {width}x{height} px;")


def test_an_exif_thumbnail_before_the_frame_is_skipped() -> None:
    thumbnail = encode(".jpg", 40, 30)
    exif = b"\xff\xe1" + struct.pack(">H", 2 + len(thumbnail)) + thumbnail
    jpeg = encode(".jpg", 320, 20)
    assert "320x20" in image_fault(jpeg[:2] + exif + b"\xff" + jpeg[2:])


@pytest.mark.parametrize("extension", [".webp", ".bmp"])
def test_other_formats_are_refused(extension: str) -> None:
    assert "neither" in image_fault(encode(extension, 64, 64))


@pytest.mark.parametrize("data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xd9\x00\x00", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
def test_stumps_are_refused(data: bytes) -> None:
    assert "neither" in image_fault(data)


@given(st.binary(max_size=40).map(lambda tail: b"\xff\xd8" + tail))
def test_any_bytes_after_the_mark_end_in_an_answer(data: bytes) -> None:
    assert image_fault(data)


@pytest.mark.parametrize(
    ("width", "height", "sendable"),
    [(32, 32, True), (31, 64, False), (64, 31, False), (6400, 32, True), (6401, 32, False)],
)
def test_sides_that_crash_runners_are_refused(width: int, height: int, sendable: bool) -> None:
    assert (image_fault(encode(".png", width, height)) == "") is sendable
