"""Keyframes from clips. A file is decoded once for all its spans.

Stored frames are used again until the file, span, crop or settings change. A bad clip does not affect other clips.

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

_METHOD = 5  # increase it if the same settings give other frames or bytes
_SHARPNESS_BELOW = 640  # pixels; sharpness is measured at about the size that a model sees
_THUMB = (16, 16)  # pixels; shows a turning head, but not noise
# What the whole duration of a clip weighs against visual change, in mean squared differences of thumbnails (values 0 to
# 1): a cut causes about 0.05, a talking person 0.001. So segments end at cuts, and a clip with little change is split
# evenly.
_TIME_WEIGHT = 0.02
_SHARP_ENOUGH = 0.7  # as a share of the sharpness of the sharpest frame in the segment


def extract(clips: Sequence[Clip], settings: FramesSettings, store: FrameStore) -> list[Outcome]:
    """Extracts the keyframes of clips. Returns for each clip, in the given order, at most `settings.per_clip` frames of
    its span [start, end) in order of time, or the error if there are none."""
    # Not resolve(), which would follow links.
    absolute = [replace(clip, path=Path(os.path.abspath(clip.path))) for clip in clips]  # noqa: PTH100
    outcomes: dict[Clip, Outcome] = {}
    wanted: dict[Path, dict[Clip, str]] = {}
    for clip in dict.fromkeys(absolute):
        taken_from = _describe_source(clip, settings)
        if isinstance(taken_from, ClipError):
            outcomes[clip] = taken_from
        elif frames := store.find(taken_from):
            outcomes[clip] = frames
        else:
            wanted.setdefault(clip.path, {})[clip] = taken_from
    # Decoding several files in parallel uses the cores better than several threads per file.
    cores = os.cpu_count() or 1
    workers = max(1, min(len(wanted), cores))
    with ThreadPoolExecutor(workers) as pool:
        for extracted in pool.map(lambda file: _extract_file(file, settings, store, cores // workers), wanted.values()):
            outcomes |= extracted
    return [outcomes[clip] for clip in absolute]


def _describe_source(clip: Clip, settings: FramesSettings) -> str | ClipError:
    """Describes all that determines the frames of a clip as text. Returns an error if there are clearly none."""
    failed = partial(ClipError, where=str(clip))
    start, end = clip.start or 0.0, math.inf if clip.end is None else clip.end
    if not -math.inf < start < end:
        return failed("bad_span", "the span ends before it starts", hint="check the times in the corpus")
    try:
        str(clip.path).encode()  # the trace contains the name
        status = clip.path.stat()
    except UnicodeEncodeError:
        return ClipError("unreadable", "the file's name is not UTF-8", where=ascii(str(clip)), hint="rename the file")
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null byte in the name
        return failed("missing", "there is no such file", hint="check the corpus's root folder")
    except OSError as error:
        what = f"the file cannot be read: {error.strerror}"
        return failed("unreadable", what, hint="check permissions")
    # These settings do not change the extracted frames, but which of them are shown, and how.
    relevant = settings.model_dump(exclude={"seen_by", "last_turns", "max_frames", "show"})
    request = {"clip": asdict(clip), "settings": relevant, "method": _METHOD}
    file = {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns}
    return json.dumps(request | file, sort_keys=True, default=str)


def _extract_file(
    clips: Mapping[Clip, str], settings: FramesSettings, store: FrameStore, threads: int
) -> dict[Clip, Outcome]:
    """Decodes a file once for all of `clips`, and stores their frames. clips: with the texts of `_describe_source`."""
    outcomes: dict[Clip, Outcome] = {}
    for clip, candidates in decode(list(clips), settings, threads):
        if isinstance(candidates, ClipError):
            outcomes[clip] = candidates
            continue
        frames = []
        for keyframe, role in _choose_keyframes(candidates, settings):
            sha256 = store.write(to_jpeg(shrink(keyframe.picture, keyframe.size), settings.jpeg_quality))
            width, height = keyframe.size
            source, time = clip.path.name, keyframe.time
            frames.append(Frame(sha256=sha256, source=source, time=time, width=width, height=height, role=role))
        store.remember(clips[clip], frames)
        outcomes[clip] = tuple(frames)
    return outcomes


def _choose_keyframes(candidates: Sequence[Candidate], settings: FramesSettings) -> list[tuple[Candidate, Role]]:
    """Chooses the candidates that become keyframes, with their roles. With `method=apex` one is the apex, and the
    others represent the rest of the clip."""
    times, k = [candidate.time for candidate in candidates], settings.per_clip
    if settings.method == "uniform":
        return [(candidates[index], "") for index in choose_uniform(len(times), k)]
    thumbs, sharpness = [], []
    for candidate in candidates:
        small = halve_picture(candidate.picture, _SHARPNESS_BELOW)
        thumb = cv2.resize(halve_picture(small, _SHARPNESS_BELOW // 2), _THUMB, interpolation=cv2.INTER_AREA)
        thumbs.append(thumb.astype(np.float32) / 255.0)
        sharpness.append(measure_sharpness(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)))
    if settings.method == "representative":
        return [(candidates[index], "") for index in choose_representative(times, thumbs, sharpness, k)]
    greys = [
        cv2.cvtColor(halve_picture(candidate.picture, SEARCH_BELOW), cv2.COLOR_BGR2GRAY) for candidate in candidates
    ]
    apex = find_apex(greys, thumbs)
    roles: dict[int, Role] = {apex[0]: apex[1]} if apex else {}
    others = [index for index in range(len(candidates)) if index not in roles]
    if k > len(roles):
        chosen = choose_representative(
            [times[index] for index in others],
            [thumbs[index] for index in others],
            [sharpness[index] for index in others],
            k - len(roles),
        )
        roles |= {others[position]: "context" for position in chosen}
    return [(candidates[index], role) for index, role in sorted(roles.items())]


def choose_uniform(count: int, k: int) -> list[int]:
    """Chooses the middle candidates of `k` equal parts of `count` candidates, or all if there are at most `k`. Returns
    their indices in increasing order."""
    return [(2 * part + 1) * count // (2 * k) for part in range(k)] if k < count else list(range(count))


def choose_representative(
    times: Sequence[float], thumbs: Sequence[NDArray[np.float32]], sharpness: Sequence[float], k: int
) -> list[int]:
    """Chooses a typical and sharp candidate from each of the `k` most homogeneous consecutive segments, or all if there
    are at most `k`. Returns their indices in increasing order.

    times: seconds, increasing. thumbs: small pictures of one shape, values 0 to 1. The segments are the exact optimum
    of k-means over thumbnails and time, restricted to consecutive frames (Fisher, "On grouping for maximum
    homogeneity", 1958). The choice from a segment is the frame nearest to its mean among those that are sharp enough.
    """
    if k >= len(times):
        return list(range(len(times)))
    # Squared distances of rows are mean squared differences of thumbnails, plus weighted squared differences of time.
    flat = np.stack(thumbs).astype(np.float64).reshape(len(thumbs), -1)
    clock = (np.asarray(times) - times[0]) / max(times[-1] - times[0], 1e-9)
    points = np.hstack([flat / np.sqrt(flat.shape[1]), np.sqrt(_TIME_WEIGHT) * clock[:, None]])
    chosen: list[int] = []
    for first, last in _find_segments(points, k):
        segment, clarity = points[first:last], np.asarray(sharpness[first:last], dtype=np.float64)
        distance = ((segment - segment.mean(axis=0)) ** 2).sum(axis=1)
        distance[clarity < _SHARP_ENOUGH * clarity.max()] = np.inf
        chosen.append(first + int(np.argmin(distance)))
    return chosen


def _find_segments(points: NDArray[np.float64], k: int) -> list[tuple[int, int]]:
    """Finds the `k` consecutive half-open ranges of points with the least sum of squared distances to their means."""
    n = len(points)
    # The spread of a segment is its sum of squares, less the squared norm of its sum over its length.
    sums = np.vstack([np.zeros(points.shape[1]), points.cumsum(axis=0)])
    squares = np.concatenate([[0.0], (points**2).sum(axis=1).cumsum()])
    length = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    norms = np.stack([((sums - before) ** 2).sum(axis=1) for before in sums])
    spread = np.where(length > 0, squares[None, :] - squares[:, None] - norms / np.maximum(length, 1), np.inf)
    best = spread[0]  # best[j]: the smallest spread of points 0 to j - 1 with the segments so far
    cuts: list[NDArray[np.intp]] = []
    for _ in range(k - 1):
        total = best[:, None] + spread
        cuts.append(np.argmin(total, axis=0))
        best = total.min(axis=0)
    bounds = [n]
    for cut in reversed(cuts):
        bounds.append(int(cut[bounds[-1]]))
    return list(pairwise([0, *reversed(bounds)]))
