"""The apex of an expression: the frame in which a face differs most from its usual look. It may last half a second.

A face is tracked through a shot, and its place is interpolated in frames where the finder misses it. Its usual look is
the median of its pictures. The difference of a frame is one minus the best normalised correlation over small shifts, so
that light and a swaying head do not count. If there is no face, the region that changes most takes its place.

    find_apex(greys, thumbs)    # (17, "apex of a face"), or None if nothing moves
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmerg.frames.faces import find_faces
from mmerg.frames.picture import cv2, measure_sharpness
from mmerg.frames.store import Role

Grey = NDArray[np.uint8]
Floats = NDArray[np.float32]

SEARCH_BELOW = 480  # pixels: pictures are halved until they are narrower than this
_MIN_FRAMES = 4  # a usual look needs so many pictures of a face
_CUT_CHANGE = 0.03  # mean squared difference of two thumbnails (values 0 to 1) at a cut; a talking person causes 0.001
_SIDE, _MARGIN = 48, 8  # pixels: the side of a compared region, and the largest shift
_INNER = slice(_MARGIN + 6, _MARGIN + _SIDE), slice(_MARGIN + 8, _MARGIN + _SIDE - 8)  # brows to chin, no background
_MIN_SHARPNESS = 0.5  # as a share of the median sharpness; blurrier faces do not count
_MIN_CHANGE = 3.0  # of 255; less change is noise
_NEIGHBOURS = 4  # search windows that must agree on a face


class Track(NamedTuple):
    """A region in consecutive frames."""

    frames: range
    centres: NDArray[np.float64]  # in each of `frames` (x, y; pixels), [frames, 2]
    width: float  # pixels
    detected: list[int]  # indices of the frames in which the finder found the region


def find_apex(greys: Sequence[Grey], thumbs: Sequence[Floats]) -> tuple[int, Role] | None:
    """Finds the frame in which a face, or else the region that moves most, differs most from its usual look. Returns
    its index and role, or None if no shot is long enough or nothing moves. greys: the frames of one clip in order, of
    one size, about 240 to 480 pixels wide. thumbs: the same frames as small pictures of values 0 to 1, to find cuts."""
    changes = [((thumb - before) ** 2).mean() for before, thumb in pairwise(thumbs)]
    cuts = [index for index, change in enumerate(changes, start=1) if change > _CUT_CHANGE]
    shots = [range(*ends) for ends in pairwise([0, *cuts, len(greys)]) if ends[1] - ends[0] >= _MIN_FRAMES]
    regions: tuple[tuple[Role, list[Track]], ...] = (
        ("apex of a face", [track for shot in shots for track in _track_faces(greys, shot)]),
        ("apex of motion", [track for shot in shots for track in _track_motion(greys, shot)]),
    )
    for role, tracks in regions:
        # Small or rarely detected regions do not count, such as a face in the background or a shadow.
        weights = [len(track.detected) * track.width**2 for track in tracks]
        prominent = [track for track, weight in zip(tracks, weights, strict=True) if weight >= max(weights) / 4]
        if prominent:
            _, index = max(_find_peak(greys, track) for track in prominent)
            return index, role
    return None


def _track_faces(greys: Sequence[Grey], shot: range) -> Iterator[Track]:
    """Yields the faces of a shot. Two detections are the same face if the centre moves by less than half the width."""
    narrowest = max(20, min(greys[0].shape) // 10)
    tracks: list[list[tuple[int, float, float, float]]] = []
    for index in shot[::2]:  # every second frame, as the finder is slow
        for left, top, width, height in find_faces(greys[index], narrowest, _NEIGHBOURS, step=1.2):
            x, y = left + width / 2, top + height / 2
            near = [
                track
                for track in tracks
                if track[-1][0] < index and max(abs(track[-1][1] - x), abs(track[-1][2] - y)) < width / 2
            ]
            longest = max(near, key=len, default=None)
            if longest is None:
                longest = []
                tracks.append(longest)
            longest.append((index, x, y, width))
    for track in tracks:
        if len(track) >= max(_MIN_FRAMES, len(shot) // 8):
            detected, xs, ys, widths = map(list, zip(*track, strict=True))
            centres = np.stack([np.interp(shot, detected, xs), np.interp(shot, detected, ys)], axis=1)
            yield Track(shot, centres, float(np.median(widths)), detected)


def _track_motion(greys: Sequence[Grey], shot: range) -> Iterator[Track]:
    """Yields the square that changes most in a shot, a third of the short side wide; nothing if nothing changes."""
    stack = np.stack([greys[index] for index in shot]).astype(np.float32)
    change = (stack - stack.mean(axis=(1, 2), keepdims=True)).std(axis=0)
    width = min(change.shape) // 3
    blurred = cv2.boxFilter(change, -1, (width, width), borderType=cv2.BORDER_CONSTANT)
    if blurred.max() >= _MIN_CHANGE:
        y, x = np.unravel_index(int(blurred.argmax()), blurred.shape)
        yield Track(shot, np.tile([float(x), float(y)], (len(shot), 1)), float(width), list(shot))


def _find_peak(greys: Sequence[Grey], track: Track) -> tuple[float, int]:
    """Finds the frame in which the region differs most from its usual look. Returns the difference, less the median
    difference, and the frame's index."""
    regions = [
        _cut_window(greys[index], centre, track.width)
        for index, centre in zip(track.frames, track.centres, strict=True)
    ]
    detections = [_standardise(regions[index - track.frames[0]][_INNER]) for index in track.detected]
    usual = np.median(detections, axis=0).astype(np.float32)
    correlations = [
        cv2.matchTemplate(region.astype(np.float32), usual, cv2.TM_CCOEFF_NORMED).max() for region in regions
    ]
    differences = 1.0 - np.array(correlations)
    sharpness = np.array([measure_sharpness(region) for region in regions])
    differences[sharpness < _MIN_SHARPNESS * np.median(sharpness)] = -np.inf
    best = int(differences.argmax())
    return float(differences[best] - np.median(differences[np.isfinite(differences)])), track.frames[best]


def _cut_window(grey: Grey, centre: NDArray[np.float64], width: float) -> Grey:
    """Cuts out the region with its margin, resized for comparison. Outside the picture, its edge is repeated."""
    size = _SIDE + 2 * _MARGIN
    side = round(width * size / _SIDE)
    extended = cv2.copyMakeBorder(grey, side, side, side, side, cv2.BORDER_REPLICATE)
    left, top = (round(float(coordinate) + side / 2) for coordinate in centre)
    part = extended[top : top + side, left : left + side]
    return np.asarray(cv2.resize(part, (size, size), interpolation=cv2.INTER_AREA))


def _standardise(picture: Grey) -> Floats:
    """Scales the picture to a mean of 0 and a standard deviation of 1."""
    values = picture.astype(np.float32)
    return np.asarray((values - values.mean()) / max(float(values.std()), 1.0), np.float32)
