"""From clips to keyframes: a file is decoded in one pass for all spans wanted of it, and no span twice.

The store keeps frames until file, span, crop or settings change. A bad clip costs no other clip its frames.

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
from mmerg.frames.apex import LOOK_UNDER, apex
from mmerg.frames.decode import Candidate, decode
from mmerg.frames.picture import cv2, halved, sharpness, shrink, to_jpeg
from mmerg.frames.store import Frame, FrameStore, Role
from mmerg.settings.model import FramesSettings

Outcome: TypeAlias = tuple[Frame, ...] | ClipError  # the keyframes of a clip, or why there are none

_METHOD = 4  # raise it when the same settings would take other frames or other bytes
_LOOK_UNDER = 640  # pixels; sharpness is judged at about the size that a model sees
_THUMB = (16, 16)  # pixels; a head that turns still shows in it, noise does not
# What a clip's whole duration weighs against visual change, in mean squared differences of thumbnails (values 0 to 1):
# a cut makes about 0.05, somebody talking 0.001. So cuts end segments, and a clip of little change is split evenly.
_TIME_WEIGHT = 0.02
_SHARP_ENOUGH = 0.7  # of the sharpest in the segment; below that a frame is only taken where nothing better is


def extract(clips: Sequence[Clip], settings: FramesSettings, store: FrameStore) -> list[Outcome]:
    """The outcome of each clip, in the order given: at most `settings.per_clip` frames, in order of time, every one in
    its span [start, end)."""
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
    # Files side by side use the cores better than several decoder threads on one file after another.
    cores = os.cpu_count() or 1
    workers = max(1, min(len(wanted), cores))
    with ThreadPoolExecutor(workers) as pool:
        for taken in pool.map(lambda file: _take(file, settings, store, cores // workers), wanted.values()):
            outcomes |= taken
    return [outcomes[clip] for clip in placed]


def _taken_from(clip: Clip, settings: FramesSettings) -> str | ClipError:
    """All that decides which the clip's frames are, as text; or the error, where it is clear without decoding that
    there are none."""
    failed = partial(ClipError, where=str(clip))
    start, end = clip.start or 0.0, clip.end
    if not math.isfinite(start) or (end is not None and not (math.isfinite(end) and end > start)):
        return failed("bad_span", "the span ends before it starts", hint="check the times in the corpus")
    try:
        str(clip.path).encode()  # it is written to the trace
        status = clip.path.stat()
    except UnicodeEncodeError:
        return ClipError("unreadable", "the file's name is not UTF-8", where=ascii(str(clip)), hint="rename the file")
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null byte in the name
        return failed("missing", "there is no such file", hint="check the corpus's root folder")
    except OSError as error:
        what = f"the file cannot be read: {error.strerror}"
        return failed("unreadable", what, hint="check permissions")
    # How long a span without a start is, is known once it is decoded: its end is only the latest that it may have.
    if clip.start is not None and end is not None and end - start > settings.max_seconds:
        what = f"the span is {end - start:.0f} s long, over {settings.max_seconds:g} s"
        return failed("too_long", what, hint="check its times; or raise frames.max_seconds")
    # The settings left out choose among the frames taken, or say how they are shown.
    deciding = settings.model_dump(exclude={"seen_by", "last_turns", "max_frames", "captions", "show"})
    asked = {"clip": asdict(clip), "settings": deciding, "method": _METHOD}
    file = {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns}
    return json.dumps(asked | file, sort_keys=True, default=str)


def _take(clips: Mapping[Clip, str], settings: FramesSettings, store: FrameStore, threads: int) -> dict[Clip, Outcome]:
    """Decode one file for all of `clips`, and store their frames. clips: with what decides their frames."""
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
    """The candidates that become keyframes, and as what. With `method=apex` one is the apex, the others represent the
    rest."""
    times, k = [candidate.time for candidate in candidates], settings.per_clip
    if settings.method == "uniform":
        return [(candidates[i], "") for i in uniform(times, k)]
    thumbs, sharp = [], []
    for candidate in candidates:
        small = halved(candidate.picture, _LOOK_UNDER)
        thumb = cv2.resize(halved(small, _LOOK_UNDER // 2), _THUMB, interpolation=cv2.INTER_AREA)
        thumbs.append(thumb.astype(np.float32) / 255.0)
        sharp.append(sharpness(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)))
    if settings.method == "representative":
        return [(candidates[i], "") for i in representative(times, thumbs, sharp, k)]
    greys = [cv2.cvtColor(halved(candidate.picture, LOOK_UNDER), cv2.COLOR_BGR2GRAY) for candidate in candidates]
    peak = apex(greys, thumbs)
    roles: dict[int, Role] = {peak[0]: peak[1]} if peak else {}
    rest = [i for i in range(len(candidates)) if i not in roles]
    if k > len(roles):
        own = [times[i] for i in rest], [thumbs[i] for i in rest], [sharp[i] for i in rest]
        roles |= {rest[i]: "context" for i in representative(*own, k - len(roles))}
    return [(candidates[i], role) for i, role in sorted(roles.items())]


def uniform(times: Sequence[float], k: int) -> list[int]:
    """The candidates nearest to the middles of `k` equal windows from the first to the last of `times` (seconds):
    rising indices, all where there are no more than `k`."""
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


def representative(
    times: Sequence[float], thumbs: Sequence[NDArray[np.float32]], sharp: Sequence[float], k: int
) -> list[int]:
    """One typical and sharp candidate from each of the `k` consecutive segments that differ least within themselves:
    rising indices, all where there are no more than `k`.

    times: seconds, rising. thumbs: small pictures of one shape, values 0 to 1. Segments are the exact optimum of
    k-means over thumbnails and time, restricted to consecutive frames (Fisher, "On grouping for maximum homogeneity",
    1958). Of each the frame nearest to its mean that is sharp enough is taken.
    """
    if k >= len(times):
        return list(range(len(times)))
    # A row per candidate whose squared distances are mean squared differences of thumbnails plus weighted time.
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
