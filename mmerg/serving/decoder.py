"""The child process that decodes what clients send, under limits of its own: see `uploads.py`, which starts it.

Reads its job from standard input, and writes to standard output: a line of JSON, then the JPEGs that it describes.
"""

import json
import os
import resource
import sys
from pathlib import Path

from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.decode import MIN_SIDE
from mmerg.frames.extract import extract
from mmerg.frames.picture import fitted, from_jpeg, shrink, to_jpeg
from mmerg.frames.store import Frame, HeldFrames
from mmerg.settings.model import FramesSettings

CPU_SECONDS = 30
BYTES = 4 * 2**30  # of address space, of which the decoder's libraries take the most
PIXELS = 50_000_000  # of one picture


def limit() -> None:
    """Limits time, memory and files of this process; from here on it can write the answer alone."""
    os.environ["OPENCV_IO_MAX_IMAGE_PIXELS"] = str(PIXELS)
    limits = {resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_AS: BYTES}
    for what, most in (limits | {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0}).items():
        resource.setrlimit(what, (most, most))


def clip(descriptor: int, settings: FramesSettings) -> list[tuple[Frame, bytes]]:
    """The keyframes of a video. Raises ClipError."""
    store = HeldFrames()
    [frames] = extract([Clip(Path(f"/dev/fd/{descriptor}"))], settings, store)
    if isinstance(frames, ClipError):
        raise frames
    return [(frame.model_copy(update={"source": "clip"}), store.read(frame.sha256)) for frame in frames]


def picture(descriptor: int, settings: FramesSettings) -> list[tuple[Frame, bytes]]:
    """A picture as a keyframe. Raises ClipError."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        data = file.read()
    try:
        whole = from_jpeg(data)
    except ClipError:
        what, hint = "a picture is damaged, or too large, or none at all", "export it as JPEG or PNG"
        raise ClipError("unreadable", what, hint=hint) from None
    size = fitted(whole.shape[1], whole.shape[0], settings.long_side)
    if min(size) < MIN_SIDE:
        what = f"a picture of {whole.shape[1]}x{whole.shape[0]} pixels is too small, or too narrow, to be looked at"
        raise ClipError("too_small", what, hint=f"its short side needs {MIN_SIDE} pixels")
    data = to_jpeg(shrink(whole, size), settings.jpeg_quality)
    return [(Frame(sha256="", source="picture", time=0.0, width=size[0], height=size[1]), data)]


def main() -> None:
    job = json.load(sys.stdin)
    settings = FramesSettings.model_validate(job["settings"])
    limit()
    heads: list[dict[str, object]] = []
    jpegs: list[bytes] = []
    for kind, descriptor in job["files"]:
        try:
            for frame, data in (clip if kind == "clip" else picture)(descriptor, settings):
                heads.append({**frame.model_dump(), "bytes": len(data)})
                jpegs.append(data)
        except ClipError as error:
            heads.append({"reason": error.reason, "what": error.what, "hint": error.hint})
    sys.stdout.buffer.write(b"".join([json.dumps(heads).encode(), b"\n", *jpegs]))


if __name__ == "__main__":
    main()
