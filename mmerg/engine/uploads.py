"""Keyframes of clips and pictures that clients upload. No named file is written.

uploads = Uploads({Path("turn 3"): [Upload("clip", data)]})
KeyframeSampler(settings, InMemoryFrameStore(), prefetcher=uploads)       # samples keyframes as from clips on disk
"""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Literal, Self

import numpy as np

from mmerg.corpora.dialogue import Clip
from mmerg.engine.keyframes import ClipPrefetcher
from mmerg.errors import ClipError
from mmerg.frames.decode import MIN_SIDE
from mmerg.frames.extract import Outcome, extract
from mmerg.frames.picture import Picture, fit_size, put_on_white, shrink, to_jpeg
from mmerg.frames.store import Frame, FrameStore
from mmerg.frames.video import Video
from mmerg.settings.model import FramesSettings

Kind = Literal["clip", "picture"]
# The most pixels of a frame; a clip in 4K has 8.3 million.
PIXELS: dict[Kind, int] = {"picture": 50_000_000, "clip": 9_000_000}


@dataclass(frozen=True)
class Upload:
    """A file from a client, whose data are not validated."""

    kind: Kind
    data: bytes

    @classmethod
    def detect(cls, data: bytes) -> Self:
        """Returns a picture if Pillow can open the data, otherwise a clip."""
        Image = _import_pillow()  # noqa: N806
        errors = (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning)
        with suppress(*errors), Image.open(BytesIO(data)):
            return cls("picture", data)
        return cls("clip", data)

    def extract_frames(self, settings: FramesSettings, store: FrameStore) -> tuple[Frame, ...]:
        """Returns the keyframes, and stores their JPEGs. Raises ClipError if the file cannot be used."""
        extract_kind = _clip_frames if self.kind == "clip" else _picture_frames
        return extract_kind(self.data, settings, store)


class Uploads(ClipPrefetcher):
    """Uploaded files in place of clips on disk. files: by the path of the turn's clip, which names no file on disk.
    problems: by path, why files give no frames."""

    def __init__(self, files: Mapping[Path, Sequence[Upload]]) -> None:
        super().__init__()
        self.files = files
        self.problems: dict[str, str] = {}

    def extract(self, clips: Sequence[Clip], settings: FramesSettings, store: FrameStore) -> list[Outcome]:
        """Returns the keyframes of each clip, or its error."""
        return [self._decode(clip.path, settings, store) for clip in clips]

    def _decode(self, path: Path, settings: FramesSettings, store: FrameStore) -> Outcome:
        frames: list[Frame] = []
        errors: list[ClipError] = []
        for upload in self.files[path]:
            try:
                frames += upload.extract_frames(settings, store)
            except ClipError as error:
                errors.append(error)
        if errors:
            self.problems[str(path)] = "; ".join(dict.fromkeys(f"{error.what}: {error.hint}" for error in errors))
        return tuple(frames) or errors[0]


def _clip_frames(data: bytes, settings: FramesSettings, store: FrameStore) -> tuple[Frame, ...]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        path = Path(f"/dev/fd/{file.fileno()}")
        with Video(path) as video:
            _check_pixels("clip", *video.size)
        file.seek(0)
        [frames] = extract([Clip(path)], settings, store)
    if isinstance(frames, ClipError):
        raise frames
    return tuple(frame.model_copy(update={"source": "clip"}) for frame in frames)


def _picture_frames(data: bytes, settings: FramesSettings, store: FrameStore) -> tuple[Frame]:
    picture = _decode_picture(data)
    size = fit_size(picture.shape[1], picture.shape[0], settings.long_side)
    if min(size) < MIN_SIDE:
        what = f"a picture of {picture.shape[1]}x{picture.shape[0]} pixels is too small or too narrow"
        raise ClipError("too_small", what, hint=f"its short side needs {MIN_SIDE} pixels")
    sha256 = store.write(to_jpeg(shrink(picture, size), settings.jpeg_quality))
    return (Frame(sha256=sha256, source="picture", time=0.0, width=size[0], height=size[1]),)


def _decode_picture(data: bytes) -> Picture:
    """Returns the picture as viewers show it: rotated by its EXIF data, transparent areas white. Raises ClipError."""
    from PIL import ImageOps

    Image = _import_pillow()  # noqa: N806
    try:
        with Image.open(BytesIO(data)) as image:  # reads only the header
            _check_pixels("picture", *image.size)
            upright = ImageOps.exif_transpose(image)
            if image.has_transparency_data:
                return put_on_white(np.asarray(upright.convert("RGBA"))[:, :, [2, 1, 0, 3]])
            return np.asarray(upright.convert("RGB"))[:, :, [2, 1, 0]]
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ClipError("unreadable", "a picture cannot be decoded", hint="export it as JPEG or PNG") from error


def _import_pillow() -> ModuleType:
    """Returns Pillow's module Image. It reads HEIC pictures of phones if the extra `heic` is installed."""
    from PIL import Image

    with suppress(ImportError):
        from pillow_heif import register_heif_opener

        register_heif_opener()
    return Image


def _check_pixels(kind: Kind, width: int, height: int) -> None:
    if width * height > PIXELS[kind]:
        what = f"a {kind} of {width}x{height} pixels is over {PIXELS[kind] // 10**6} megapixels"
        raise ClipError("unreadable", what, hint="send a smaller one")
