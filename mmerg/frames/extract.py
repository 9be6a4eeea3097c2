"""Extracts keyframes from clips. A file is decoded once for all its spans, and no span twice.

The store keeps frames until file, span, crop or settings change. A bad clip does not affect other clips.

    for frames in extract([Clip(Path("dia1_utt0.mp4"))], FramesSettings(), FrameStore(Path("cache/frames"))):
        if isinstance(frames, ClipError): ...  # frames.reason: missing, unreadable, empty, too_long, outside,
        else: ...                              # too_small, bad_span; otherwise a tuple of frames in order of time
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmerg.corpora.dialogue import Clip
from mmerg.errors import ClipError
from mmerg.frames.apex import SEARCH_BELOW, find_apex
from mmerg.frames.decode import Candidate, decode
from mmerg.frames.picture import cv2, halve_picture, measure_sharpness, shrink, to_jpeg
from mmerg.frames.store import Frame, FrameStore, Role
from mmerg.settings.model import FramesSettings

Outcome: TypeAlias = tuple[Frame, ...] | ClipError  # the keyframes of a clip, or why there are none

_METHOD = 4  # increase it if the same settings give other frames or bytes
_SHARPNESS_BELOW = 640  # pixels; sharpness is measured at about the size that a model sees
_THUMB = (16, 16)  # pixels; shows a turning head, but not noise
# The weight of a clip's whole duration against visual change, in mean squared differences of thumbnails (values 0 to
# 1): a cut causes about 0.05, a talking person 0.001. So cuts end segments, and a clip of little change is split
# evenly.
_TIME_WEIGHT = 0.02
_SHARP_ENOUGH = 0.7  # of the sharpest frame in the segment


def extract(clips: Sequence[Clip], settings: FramesSettings, store: FrameStore) -> list[Outcome]:
    """The outcome of each clip in the given order: at most `settings.per_clip` frames of its span [start, end), in
    order of time."""
    # An absolute path, as resolve() would follow links.
    placed = [replace(clip, path=Path(os.path.abspath(clip.path))) for clip in clips]  # noqa: PTH100
    outcomes: dict[Clip, Outcome] = {}
    wanted: dict[Path, dict[Clip, str]] = {}
    for clip in dict.fromkeys(placed):
        taken_from = _taken_from(clip, settings)
        if isinstance(taken_from, ClipError):
            outcomes[clip] = taken_from
        elif frames := store.find(taken_from):
            outcomes[clip] = frames
        else:
            wanted.setdefault(clip.path, {})[clip] = taken_from
    # Decoding files in parallel uses the cores better than several threads per file.
    cores = os.cpu_count() or 1
    workers = max(1, min(len(wanted), cores))
    with ThreadPoolExecutor(workers) as pool:
        for taken in pool.map(lambda file: _take(file, settings, store, cores // workers), wanted.values()):
            outcomes |= taken
    return [outcomes[clip] for clip in placed]


def _taken_from(clip: Clip, settings: FramesSettings) -> str | ClipError:
    """All that decides the clip's frames, as text, or the error if there are none for a reason that needs no
    decoding."""
    failed = partial(ClipError, where=str(clip))
    start, end = clip.start or 0.0, clip.end
    if not math.isfinite(start) or (end is not None and not (math.isfinite(end) and end > start)):
        return failed("bad_span", "the span ends before it starts", hint="check the times in the corpus")
    try:
        str(clip.path).encode()  # the trace holds it
        status = clip.path.stat()
    except UnicodeEncodeError:
        return ClipError("unreadable", "the file's name is not UTF-8", where=ascii(str(clip)), hint="rename the file")
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null byte in the name
        return failed("missing", "there is no such file", hint="check the corpus's root folder")
    except OSError as error:
        what = f"the file cannot be read: {error.strerror}"
        return failed("unreadable", what, hint="check permissions")
    # The length of a span without a start is known only after decoding, as its file may be shorter.
    if clip.start is not None and end is not None and end - start > settings.max_seconds:
        what = f"the span is {end - start:.0f} s long, over {settings.max_seconds:g} s"
        return failed("too_long", what, hint="check its times; or raise frames.max_seconds")
    # The other settings choose among the extracted frames, or how they are shown.
    deciding = settings.model_dump(exclude={"seen_by", "last_turns", "max_frames", "captions", "show"})
    asked = {"clip": asdict(clip), "settings": deciding, "method": _METHOD}
    file = {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns}
    return json.dumps(asked | file, sort_keys=True, default=str)


def _take(clips: Mapping[Clip, str], settings: FramesSettings, store: FrameStore, threads: int) -> dict[Clip, Outcome]:
    """Decode one file for all of `clips` and store their frames. clips: with the text that decides their frames."""
    outcomes: dict[Clip, Outcome] = {}
    for clip, candidates in decode(list(clips), settings, threads):
        if isinstance(candidates, ClipError):
            outcomes[clip] = candidates
            continue
        frames = []
        for choice, role in _pick(candidates, settings):
            sha256 = store.write(to_jpeg(shrink(choice.picture, choice.size), settings.jpeg_quality))
            width, height = choice.size
            source, time = clip.path.name, choice.time
            frames.append(Frame(sha256=sha256, source=source, time=time, width=width, height=height, role=role))
        store.remember(clips[clip], frames)
        outcomes[clip] = tuple(frames)
    return outcomes


def _pick(candidates: Sequence[Candidate], settings: FramesSettings) -> list[tuple[Candidate, Role]]:
    """The candidates that become keyframes, with their roles. With `method=apex` one is the apex, and the others
    represent the rest."""
    times, k = [candidate.time for candidate in candidates], settings.per_clip
    if settings.method == "uniform":
        return [(candidates[i], "") for i in choose_uniform(times, k)]
    thumbs, sharp = [], []
    for candidate in candidates:
        small = halve_picture(candidate.picture, _SHARPNESS_BELOW)
        thumb = cv2.resize(halve_picture(small, _SHARPNESS_BELOW // 2), _THUMB, interpolation=cv2.INTER_AREA)
        thumbs.append(thumb.astype(np.float32) / 255.0)
        sharp.append(measure_sharpness(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)))
    if settings.method == "representative":
        return [(candidates[i], "") for i in choose_representative(times, thumbs, sharp, k)]
    greys = [
        cv2.cvtColor(halve_picture(candidate.picture, SEARCH_BELOW), cv2.COLOR_BGR2GRAY) for candidate in candidates
    ]
    peak = find_apex(greys, thumbs)
    roles: dict[int, Role] = {peak[0]: peak[1]} if peak else {}
    rest = [i for i in range(len(candidates)) if i not in roles]
    if k > len(roles):
        own = [times[i] for i in rest], [thumbs[i] for i in rest], [sharp[i] for i in rest]
        roles |= {rest[i]: "context" for i in choose_representative(*own, k - len(roles))}
    return [(candidates[i], role) for i, role in sorted(roles.items())]


def choose_uniform(times: Sequence[float], k: int) -> list[int]:
    """The rising indices of the candidates nearest to the middles of `k` equal windows over `times` (seconds), or of
    all candidates if there are at most `k`."""
    if k >= len(times):
        return list(range(len(times)))
    width = (times[-1] - times[0]) / k
    taken: list[int] = []
    for window in range(k):
        middle = times[0] + (window + 0.5) * width
        # Leave enough candidates for the windows to come, and never go back.
        free = range(taken[-1] + 1 if taken else 0, len(times) - (k - window - 1))
        taken.append(min(free, key=lambda i: abs(times[i] - middle)))
    return taken


def choose_representative(
    times: Sequence[float], thumbs: Sequence[NDArray[np.float32]], sharp: Sequence[float], k: int
) -> list[int]:
    """The rising indices of one typical and sharp candidate from each of the `k` most homogeneous consecutive segments,
    or of all candidates if there are at most `k`.

    times: seconds, rising. thumbs: small pictures of one shape, values 0 to 1. The segments are the exact optimum of
    k-means over thumbnails and time, restricted to consecutive frames (Fisher, "On grouping for maximum homogeneity",
    1958). From each, the sharp enough frame nearest to the mean is taken.
    """
    if k >= len(times):
        return list(range(len(times)))
    # Squared distances of rows are mean squared differences of thumbnails plus weighted time.
    flat = np.stack(thumbs).astype(np.float64).reshape(len(thumbs), -1)
    clock = (np.asarray(times) - times[0]) / max(times[-1] - times[0], 1e-9)
    points = np.hstack([flat / np.sqrt(flat.shape[1]), np.sqrt(_TIME_WEIGHT) * clock[:, None]])
    clear = np.asarray(sharp, dtype=np.float64)
    taken: list[int] = []
    for first, last in _segments(points, k):
        block, own = points[first:last], clear[first:last]
        distance = ((block - block.mean(axis=0)) ** 2).sum(axis=1)
        distance[own < _SHARP_ENOUGH * own.max()] = np.inf
        taken.append(first + int(np.argmin(distance)))
    return taken


def _segments(points: NDArray[np.float64], k: int) -> list[tuple[int, int]]:
    """The `k` consecutive half-open index ranges with the least sum of squared distances to their means."""
    n = len(points)
    # A segment's spread is its sum of squares less the squared norm of its sum over its length.
    sums = np.vstack([np.zeros(points.shape[1]), points.cumsum(axis=0)])
    squares = np.concatenate([[0.0], (points**2).sum(axis=1).cumsum()])
    length = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    norms = np.stack([((sums - before) ** 2).sum(axis=1) for before in sums])
    spread = np.where(length > 0, squares[None, :] - squares[:, None] - norms / np.maximum(length, 1), np.inf)
    best = spread[0]  # best[j]: of points 0 to j - 1 in the segments so far
    cuts: list[NDArray[np.intp]] = []
    for _ in range(k - 1):
        total = best[:, None] + spread
        cuts.append(np.argmin(total, axis=0))
        best = total.min(axis=0)
    bounds = [n]
    for cut in reversed(cuts):
        bounds.append(int(cut[bounds[-1]]))
    return list(pairwise([0, *reversed(bounds)]))
