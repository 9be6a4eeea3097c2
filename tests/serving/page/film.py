"""A camera that films a clip in a loop."""

from pathlib import Path

import cv2


def filming(clip: Path, folder: Path) -> tuple[str, ...]:
    """Returns the options of Chromium for it. folder: for the film, as raw YUV 4:2:0."""
    film, capture = folder / "film.y4m", cv2.VideoCapture(str(clip))
    with film.open("wb") as file:
        file.write(b"YUV4MPEG2 W320 H240 F12:1 Ip A1:1 C420jpeg\n")
        while (read := capture.read())[0]:
            file.write(b"FRAME\n" + cv2.cvtColor(read[1], cv2.COLOR_BGR2YUV_I420).tobytes())
    return "--use-fake-device-for-media-stream", f"--use-file-for-fake-video-capture={film}"
