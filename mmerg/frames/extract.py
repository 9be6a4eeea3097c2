"""From clips to keyframes: each file is decoded in one pass for all spans wanted of it, and nothing twice.

The store keeps what was taken until file, span, crop or settings change. A bad clip costs no other clip its frames.

    for found in extract([Clip(Path("dia1_utt0.mp4"))], FrameSettings(), FrameStore(Path("cache/frames"))):
        if isinstance(found, ClipError): ...  # found.reason: missing, unreadable, empty, too_long, outside, too_small,
        else: ...                             # bad_span; otherwise a tuple of frames in order of time
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import numpy as np

from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.decode import Candidate, Span, candidates, describe
from mmerg.frames.frame import Frame, FrameSettings
from mmerg.frames.pick import representative, uniform
from mmerg.frames.picture import halved, load_cv2, sharpness, shrink, to_jpeg
from mmerg.frames.store import FrameStore, TakenFrom

Found: TypeAlias = tuple[Frame, ...] | ClipError

_LOOK_UNDER = 640  # pixels; sharpness is judged at about the size that a model sees
_THUMB = (16, 16)  # pixels; a head that turns still shows in it, noise does not


def extract(clips: Sequence[Clip], settings: FrameSettings, store: FrameStore) -> list[Found]:
    """The keyframes of each clip, or the ClipError of those that have none, in the order given.

    At most `settings.per_clip` frames a clip, in order of time, every one in its span [start, end). A file that ends
    before its span does gives the frames that are there.
    """
    # An absolute path, as resolve() would follow links.
    places = [(Path(os.path.abspath(clip.path)), Span(clip.start, clip.end, clip.crop)) for clip in clips]  # noqa: PTH100
    found: dict[tuple[Path, Span], Found] = {}
    wanted: dict[Path, dict[Span, TakenFrom]] = {}
    for path, span in places:
        known = _known(path, span, settings, store)
        if isinstance(known, TakenFrom):
            wanted.setdefault(path, {})[span] = known
        else:
            found[path, span] = known
    # Files side by side use the cores better than several decoder threads on one file after another.
    cores = os.cpu_count() or 1
    workers = max(1, min(len(wanted), cores))
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_take, path, spans, settings, store, cores // workers) for path, spans in wanted.items()]
        for path, job in zip(wanted, jobs, strict=True):
            found.update({(path, span): result for span, result in job.result().items()})
    return [found[place] for place in places]


def _known(path: Path, span: Span, settings: FrameSettings, store: FrameStore) -> Found | TakenFrom:
    """What can be said without decoding: kept frames, or an error; else what the frames are to be taken from."""
    where = describe(path, span)
    start, end = span.start or 0.0, span.end
    if not math.isfinite(start) or (end is not None and not (math.isfinite(end) and end > start)):
        what = "the span ends before it starts"
        return ClipError("bad_span", what, where=where, hint="check the times in the corpus")
    if any("\ud800" <= letter <= "\udfff" for letter in str(path)):  # another encoding's bytes: OpenCV crashes on them
        return ClipError("unreadable", "the file's name is not UTF-8", where=ascii(where), hint="rename the file")
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null byte in the name
        return ClipError("missing", "there is no such file", where=where, hint="check the corpus's root folder")
    except OSError as error:
        return ClipError(
            "unreadable", f"the file cannot be read: {error.strerror}", where=where, hint="check permissions"
        )
    # Of a whole file, the end is only the latest that it may have: how long it is, is told by decoding it.
    if span.start is not None and end is not None and end - start > settings.max_seconds:
        what = f"the span is {end - start:.0f} s long, over {settings.max_seconds:g} s"
        return ClipError("too_long", what, where=where, hint="check its times; or raise frames.max_seconds")
    taken_from = TakenFrom(str(path), status.st_size, status.st_mtime_ns, span, settings)
    kept = store.find(taken_from)
    return taken_from if kept is None else kept


def _take(
    path: Path, spans: Mapping[Span, TakenFrom], settings: FrameSettings, store: FrameStore, threads: int
) -> dict[Span, Found]:
    """Decode one file for all of `spans`, and store what they give."""
    order = list(spans)
    results: dict[Span, Found] = {}
    for index, found in candidates(path, order, settings, threads):
        if isinstance(found, ClipError):
            results[order[index]] = found
            continue
        frames: list[Frame] = []
        for choice in _pick(found, settings):
            sha256 = store.write(to_jpeg(shrink(choice.picture, choice.size), settings.jpeg_quality))
            width, height = choice.size
            frames.append(Frame(sha256=sha256, source=path.name, time=choice.time, width=width, height=height))
        store.remember(spans[order[index]], frames)
        results[order[index]] = tuple(frames)
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
