"""A contact sheet: the keyframes that samples would show a model, with the turns they belong to; never the reply.

Frames are taken by the run's own looker, so they are the run's. A turn without frames says why. Asks no model.

    picture = contact_sheet("meld test", spread(samples, 12), looker, max_images=8)
    data = png(picture)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from mmerg.checking.lettering import Font
from mmerg.corpora.dialogue import Sample
from mmerg.engine.look import OVER_BUDGET, Looker
from mmerg.frames.frame import Frame
from mmerg.runs.events import Event, FramesTaken, TurnFrames

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

MARGIN, GAP, PAD = 18, 8, 10  # pixels
CELL = 208  # pixels, the most that a frame's side takes
EMPTY_HEIGHT = 64  # pixels, of a line without any frame
COLUMNS = 8
TEXT_LINES = 5
PAPER, BAND, INK, FAINT, EMPTY = "#ffffff", "#e8ecf2", "#16181d", "#5c6370", "#d9dce1"

WHY = {
    "": "this turn has no clip, or its file is missing",
    "missing": "the clip's file is missing",
    "unreadable": "the clip cannot be read",
    "empty": "no frame lies in the clip's span",
    "outside": "the clip's span lies after its file's end",
    "bad_span": "the clip's span ends before it starts",
    "too_long": "the clip is longer than frames.max_seconds",
    "too_small": "too few pixels are left of the picture",
    "could_show_target": "left out: the clip could show the reply",
    OVER_BUDGET: "later turns take all frames (frames.max_frames)",
}


@dataclass(frozen=True)
class _Piece:
    """Frames of one turn that stand side by side, or why there are none, over the turn's words."""

    number: int
    words: str
    frames: tuple[Frame, ...]
    problem: str

    @property
    def columns(self) -> int:
        """Cells that it takes; words need two."""
        return max(2, len(self.frames))

    @property
    def width(self) -> int:
        """Pixels."""
        return self.columns * CELL + (self.columns - 1) * GAP


@dataclass(frozen=True)
class _Shown:
    """A sample as it goes on the sheet: its lines of pieces."""

    heading: str
    below: str
    rows: tuple[tuple[_Piece, ...], ...]


def spread(samples: Sequence[Sample], count: int) -> list[Sample]:
    """`count` samples at even distances, or all where there are no more: always the same ones."""
    take = min(count, len(samples))
    return [samples[(2 * index + 1) * len(samples) // (2 * take)] for index in range(take)]


def contact_sheet(title: str, samples: Sequence[Sample], looker: Looker, max_images: int) -> Image:
    """The sheet, `samples` from top to bottom, as a model with eyes is shown them that takes `max_images` in a call.

    Raises ConfigError where the letters are not installed, RunError where the looker's store cannot be written.
    """
    from PIL import Image, ImageDraw

    seen = [_seen(sample, looker, max_images) for sample in samples]
    painter = _Painter(looker)
    columns = max([4, *(sum(piece.columns for piece in row) for one in seen for row in one.rows)])
    width = columns * CELL + (columns - 1) * GAP + 2 * MARGIN
    head = painter.heading.wrapped(title, width - 2 * MARGIN, 3)
    height = 2 * MARGIN + len(head) * painter.heading.line + sum(painter.height(one, width) for one in seen)
    sheet = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    y = painter.lines(draw, (MARGIN, MARGIN), head, painter.heading)
    for one in seen:
        y = painter.sample(sheet, draw, one, y)
    return sheet


def png(picture: Image) -> bytes:
    """The picture as PNG; the same picture gives the same bytes."""
    data = BytesIO()
    picture.save(data, "PNG", compress_level=3)
    return data.getvalue()


def _seen(sample: Sample, looker: Looker, max_images: int) -> _Shown:
    """What the looker takes for a sample."""
    heard: list[Event] = []
    looker.look(sample.scene, sample.dropped, vision=True, max_images=max_images, emit=heard.append)
    [taken] = [event for event in heard if isinstance(event, FramesTaken)]
    turns = {turn.turn: turn for turn in taken.turns}
    history = sample.scene.history
    first = max(0, len(history) - looker.last_turns)
    pieces: list[_Piece] = []
    for number, turn in enumerate(history[first:], start=first + 1):
        got = turns.get(number, TurnFrames(turn=number))
        words = f"{turn.speaker}: {turn.text}"
        pieces += [
            _Piece(number, words, got.frames[at : at + COLUMNS], got.problem)
            for at in range(0, max(1, len(got.frames)), COLUMNS)
        ]
    before = f"turns 1 to {first} as text only" if first > 1 else "turn 1 as text only" if first else ""
    grid = "all frames go in one numbered grid" if taken.form == "montage" else ""
    blind = "" if looker.last_turns else "frames.seen_by=none: no agent sees frames"
    below = "; ".join(part for part in (before, grid, blind) if part)
    return _Shown(f"{sample.id} · reply by {sample.scene.responder} (hidden)", below, tuple(_rows(pieces)))


def _rows(pieces: Sequence[_Piece]) -> Iterator[tuple[_Piece, ...]]:
    """Pieces on lines of at most COLUMNS cells."""
    row: list[_Piece] = []
    for piece in pieces:
        if row and sum(one.columns for one in row) + piece.columns > COLUMNS:
            yield tuple(row)
            row = []
        row.append(piece)
    if row:
        yield tuple(row)


def _cell_height(row: Sequence[_Piece]) -> int:
    """Pixels that the pictures of a line take."""
    frames = [frame for piece in row for frame in piece.frames]
    return max((_size(frame)[1] for frame in frames), default=EMPTY_HEIGHT)


def _size(frame: Frame) -> tuple[int, int]:
    """Width and height of a frame in its cell, never enlarged (pixels)."""
    scale = min(1.0, CELL / frame.width, CELL / frame.height)
    return max(1, round(frame.width * scale)), max(1, round(frame.height * scale))


class _Painter:
    """Knows fonts and sizes; y grows downwards, and what it draws ends where it says."""

    def __init__(self, looker: Looker) -> None:
        self._looker = looker
        self.heading, self._words, self._small = Font(16, bold=True), Font(14), Font(12)

    def height(self, one: _Shown, width: int) -> int:
        """Pixels that a sample takes."""
        return self._head(one, width)[1] + sum(map(self._row_height, one.rows)) + MARGIN

    def sample(self, sheet: Image, draw: ImageDraw, one: _Shown, y: int) -> int:
        """Draw a sample; where the next one starts."""
        y += MARGIN
        head, tall = self._head(one, sheet.width)
        draw.rectangle((MARGIN, y, sheet.width - MARGIN - 1, y + tall - PAD), fill=BAND)
        at = self.lines(draw, (MARGIN + PAD, y + PAD // 2), head, self.heading)
        self.lines(draw, (MARGIN + PAD, at), [one.below] if one.below else [], self._small, FAINT)
        y += tall
        for row in one.rows:
            x = MARGIN
            for piece in row:
                self._piece(sheet, draw, piece, (x, y, _cell_height(row)))
                x += piece.width + GAP
            y += self._row_height(row)
        return y

    def lines(self, draw: ImageDraw, at: tuple[int, int], lines: Sequence[str], font: Font, colour: str = INK) -> int:
        """Write lines; where the next one would stand."""
        x, y = at
        for line in lines:
            draw.text((x, y), line, font=font.face, fill=colour)
            y += font.line
        return y

    def _head(self, one: _Shown, width: int) -> tuple[list[str], int]:
        head = self.heading.wrapped(one.heading, width - 2 * MARGIN - 2 * PAD, 2)
        tall = len(head) * self.heading.line + (self._small.line if one.below else 0)
        return head, tall + 2 * PAD

    def _row_height(self, row: Sequence[_Piece]) -> int:
        words = max(len(self._wrapped(piece)) for piece in row)
        return _cell_height(row) + self._small.line + words * self._words.line + PAD

    def _wrapped(self, piece: _Piece) -> list[str]:
        return self._words.wrapped(piece.words, piece.width - 4, TEXT_LINES)

    def _piece(self, sheet: Image, draw: ImageDraw, piece: _Piece, at: tuple[int, int, int]) -> None:
        x, top, tall = at
        below = top + tall
        for frame in piece.frames:
            picture = self._picture(frame)
            sheet.paste(picture, (x, below - picture.height))
            self.lines(draw, (x, below + 1), [f"turn {piece.number}, {frame.time:.2f} s"], self._small, FAINT)
            x += CELL + GAP
        if not piece.frames:
            draw.rectangle((x, top, x + piece.width - 1, below - 1), fill=EMPTY)
            why = self._words.wrapped(f"no frames: {WHY.get(piece.problem, piece.problem)}", piece.width - 2 * PAD, 4)
            self.lines(draw, (x + PAD, top + PAD), why, self._words)
            self.lines(draw, (x, below + 1), [f"turn {piece.number}"], self._small, FAINT)
        self.lines(draw, (at[0], below + 1 + self._small.line), self._wrapped(piece), self._words)

    def _picture(self, frame: Frame) -> Image:
        """The stored JPEG, shrunk into a cell, never enlarged."""
        from PIL import Image

        with Image.open(BytesIO(self._looker.store.read(frame.sha256))) as stored:
            return stored.convert("RGB").resize(_size(frame), Image.Resampling.BOX, reducing_gap=2.0)
