"""From clips to keyframes: each file is decoded in one pass for all spans wanted of it, and nothing twice.

The store keeps what was taken until file, span, crop or settings change. A bad clip costs no other clip its frames.

    for found in extract([Clip(Path("dia1_utt0.mp4"))], FrameSettings(), FrameStore(Path("cache/frames"))):
        if isinstance(found, ClipError): ...  # found.reason: missing, unreadable, empty, too_long, outside, too_small,
        else: ...                             # bad_span; otherwise a tuple of frames in order of time
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.decode import Candidate, candidates, describe
from mmerg.frames.frame import Frame, FrameSettings
from mmerg.frames.pick import representative, uniform
from mmerg.frames.picture import halved, load_cv2, sharpness, shrink, to_jpeg
from mmerg.frames.store import FrameStore

Found: TypeAlias = tuple[Frame, ...] | ClipError

_METHOD = 1  # raise it when the same settings would take other frames or other bytes
_LOOK_UNDER = 640  # pixels; sharpness is judged at about the size that a model sees
_THUMB = (16, 16)  # pixels; a head that turns still shows in it, noise does not


def extract(clips: Sequence[Clip], settings: FrameSettings, store: FrameStore) -> list[Found]:
    """The keyframes of each clip, or the ClipError of those that have none, in the order given.

    At most `settings.per_clip` frames a clip, in order of time, every one in its span [start, end). A file that ends
    before its span does gives the frames that are there.
    """
    # An absolute path, as resolve() would follow links.
    placed = [replace(clip, path=Path(os.path.abspath(clip.path))) for clip in clips]  # noqa: PTH100
    found: dict[Clip, Found] = {}
    wanted: dict[Path, dict[Clip, str]] = {}
    for clip in placed:
        known = _known(clip, settings, store)
        if isinstance(known, str):
            wanted.setdefault(clip.path, {})[clip] = known
        else:
            found[clip] = known
    # Files side by side use the cores better than several decoder threads on one file after another.
    cores = os.cpu_count() or 1
    workers = max(1, min(len(wanted), cores))
    with ThreadPoolExecutor(workers) as pool:
        for taken in pool.map(lambda file: _take(file, settings, store, cores // workers), wanted.values()):
            found |= taken
    return [found[clip] for clip in placed]


def _known(clip: Clip, settings: FrameSettings, store: FrameStore) -> Found | str:
    """What can be said without decoding: kept frames, or an error; else all that decides which the frames will be."""
    where = describe(clip)
    start, end = clip.start or 0.0, clip.end
    if not math.isfinite(start) or (end is not None and not (math.isfinite(end) and end > start)):
        what, hint = "the span ends before it starts", "check the times in the corpus"
        return ClipError("bad_span", what, where=where, hint=hint)
    if any(
        "\ud800" <= letter <= "\udfff" for letter in str(clip.path)
    ):  # another encoding's bytes: OpenCV crashes on them
        return ClipError("unreadable", "the file's name is not UTF-8", where=ascii(where), hint="rename the file")
    try:
        status = clip.path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null byte in the name
        return ClipError("missing", "there is no such file", where=where, hint="check the corpus's root folder")
    except OSError as error:
        what = f"the file cannot be read: {error.strerror}"
        return ClipError("unreadable", what, where=where, hint="check permissions")
    # How long a span without a start is, is known once it is decoded: its end is only the latest that it may have.
    if clip.start is not None and end is not None and end - start > settings.max_seconds:
        what = f"the span is {end - start:.0f} s long, over {settings.max_seconds:g} s"
        return ClipError("too_long", what, where=where, hint="check its times; or raise frames.max_seconds")
    asked = {"clip": asdict(clip), "settings": asdict(settings), "method": _METHOD}
    file = {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns}
    taken_from = json.dumps(asked | file, sort_keys=True, default=str)
    kept = store.find(taken_from)
    return taken_from if kept is None else kept


def _take(clips: Mapping[Clip, str], settings: FrameSettings, store: FrameStore, threads: int) -> dict[Clip, Found]:
    """Decode one file for all of `clips`, and store what they give."""
    results: dict[Clip, Found] = {}
    for clip, found in candidates(list(clips), settings, threads):
        if isinstance(found, ClipError):
            results[clip] = found
            continue
        frames = []
        for choice in _pick(found, settings):
            sha256 = store.write(to_jpeg(shrink(choice.picture, choice.size), settings.jpeg_quality))
            width, height = choice.size
            frames.append(Frame(sha256=sha256, source=clip.path.name, time=choice.time, width=width, height=height))
        store.remember(clips[clip], frames)
        results[clip] = tuple(frames)
    return results


def _pick(found: Sequence[Candidate], settings: FrameSettings) -> list[Candidate]:
    """The candidates that become keyframes."""
    times = [candidate.time for candidate in found]
    if settings.method == "uniform":
        return [found[i] for i in uniform(times, settings.per_clip)]
    cv2 = load_cv2()
    thumbs, sharp = [], []
    for candidate in found:
        small = halved(candidate.picture, _LOOK_UNDER)
        thumb = cv2.resize(halved(small, _LOOK_UNDER // 2), _THUMB, interpolation=cv2.INTER_AREA)
        thumbs.append(thumb.astype(np.float32) / 255.0)
        sharp.append(sharpness(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)))
    return [found[i] for i in representative(times, thumbs, sharp, settings.per_clip)]
