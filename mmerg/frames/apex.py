"""Finds the apex of an expression, the frame where a face differs most from its usual look. It may last half a second.

A face is tracked through a shot; where the finder misses it, its place is interpolated. Its usual look is the median of
its pictures. The difference of a frame is one minus the best normalised correlation over small shifts, so that light
and a swaying head do not count. Without a face, the region that changes most replaces it.

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
_FEWEST = 4  # pictures of a face that a usual look needs
_CUT = 0.03  # mean squared difference of two thumbnails (values 0 to 1) at a cut; a talking person causes 0.001
_SIDE, _MARGIN = 48, 8  # pixels: the side of a compared region, and the largest shift
_INNER = slice(_MARGIN + 6, _MARGIN + _SIDE), slice(_MARGIN + 8, _MARGIN + _SIDE - 8)  # brows to chin, no background
_BLURRED = 0.5  # of the median sharpness; blurrier faces do not count
_STILL = 3.0  # of 255: less change is noise
_NEIGHBOURS = 4  # windows that must agree on a face


class Track(NamedTuple):
    """A region in consecutive frames: its centre in each (x, y; pixels) and its width."""

    frames: range
    middles: NDArray[np.float64]  # (frames, 2)
    width: float
    detected: list[int]  # the frames in which the finder saw it


def find_apex(greys: Sequence[Grey], thumbs: Sequence[Floats]) -> tuple[int, Role] | None:
    """Find the frame where a face, or else the region that moves most, differs most from its usual look.

    greys: frames of one clip in order, of one size, about 240 to 480 pixels wide. thumbs: the same frames as small
    pictures of values 0 to 1, for finding cuts. Returns None if no shot is long enough or nothing moves.
    """
    cuts = [0, *(n for n, (a, b) in enumerate(pairwise(thumbs), start=1) if ((a - b) ** 2).mean() > _CUT), len(greys)]
    shots = [range(*ends) for ends in pairwise(cuts) if ends[1] - ends[0] >= _FEWEST]
    kinds: tuple[tuple[Role, list[Track]], ...] = (
        ("apex of a face", [track for shot in shots for track in _faces(greys, shot)]),
        ("apex of motion", [track for shot in shots for track in _moving(greys, shot)]),
    )
    for role, tracks in kinds:
        most = max((len(track.detected) * track.width**2 for track in tracks), default=0.0)
        # Small or rarely detected regions do not count, such as a face in the background or a shadow.
        peaks = [_peak(greys, track) for track in tracks if len(track.detected) * track.width**2 >= most / 4]
        if peaks:
            return max(peaks)[1], role
    return None


def _faces(greys: Sequence[Grey], shot: range) -> Iterator[Track]:
    """The faces of a shot. Two detections are one face if the centre has moved by less than half the width."""
    narrowest = max(20, min(greys[0].shape) // 10)
    tracks: list[list[tuple[int, float, float, float]]] = []
    for n in shot[::2]:  # every second frame, as the finder is slow
        for x, y, width, height in find_faces(greys[n], narrowest, _NEIGHBOURS, step=1.2):
            middle = x + width / 2, y + height / 2
            near = [
                track
                for track in tracks
                if track[-1][0] < n and max(abs(track[-1][1] - middle[0]), abs(track[-1][2] - middle[1])) < width / 2
            ]
            found = max(near, key=len, default=None)
            if found is None:
                tracks.append(found := [])
            found.append((n, *middle, width))
    for track in tracks:
        if len(track) >= max(_FEWEST, len(shot) // 8):
            at, xs, ys, widths = map(list, zip(*track, strict=True))
            middles = np.stack([np.interp(shot, at, xs), np.interp(shot, at, ys)], axis=1)
            yield Track(shot, middles, float(np.median(widths)), at)


def _moving(greys: Sequence[Grey], shot: range) -> Iterator[Track]:
    """The square that changes most in a shot, a third of the short side wide; none if nothing changes."""
    stack = np.stack([greys[n] for n in shot]).astype(np.float32)
    change = (stack - stack.mean(axis=(1, 2), keepdims=True)).std(axis=0)
    width = min(change.shape) // 3
    blurred = cv2.boxFilter(change, -1, (width, width), borderType=cv2.BORDER_CONSTANT)
    if blurred.max() >= _STILL:
        y, x = np.unravel_index(int(blurred.argmax()), blurred.shape)
        yield Track(shot, np.tile([float(x), float(y)], (len(shot), 1)), float(width), list(shot))


def _peak(greys: Sequence[Grey], track: Track) -> tuple[float, int]:
    """The largest difference of the region from its usual look, less the median difference, and its frame."""
    regions = [_window(greys[n], middle, track.width) for n, middle in zip(track.frames, track.middles, strict=True)]
    faces = [_standardise(regions[n - track.frames[0]][_INNER]) for n in track.detected]
    usual = np.median(faces, axis=0).astype(np.float32)
    similar = [cv2.matchTemplate(one.astype(np.float32), usual, cv2.TM_CCOEFF_NORMED).max() for one in regions]
    different = 1.0 - np.array(similar)
    clear = np.array([measure_sharpness(one) for one in regions])
    different[clear < _BLURRED * np.median(clear)] = -np.inf
    best = int(different.argmax())
    return float(different[best] - np.median(different[np.isfinite(different)])), track.frames[best]


def _window(grey: Grey, middle: NDArray[np.float64], width: float) -> Grey:
    """The region with its margin, resized for comparison. Outside the picture its edge is repeated."""
    size = _SIDE + 2 * _MARGIN
    side = round(width * size / _SIDE)
    whole = cv2.copyMakeBorder(grey, side, side, side, side, cv2.BORDER_REPLICATE)
    left, top = (round(float(at) + side / 2) for at in middle)
    part = whole[top : top + side, left : left + side]
    return np.asarray(cv2.resize(part, (size, size), interpolation=cv2.INTER_AREA))


def _standardise(picture: Grey) -> Floats:
    """The picture with a mean of 0 and a standard deviation of 1."""
    values = picture.astype(np.float32)
    return np.asarray((values - values.mean()) / max(float(values.std()), 1.0), np.float32)
