"""Letters for pictures: DejaVu Sans as it comes with matplotlib, wrapped to a width in pixels.

It has most alphabets, but no Chinese, Japanese, Korean or emoji: a box stands for a letter that it lacks.

    font = Font(13)
    font.wrapped("Where’s number 27?!", width=200, lines=3)    # list of lines
"""

from __future__ import annotations

import math
from bisect import bisect_right
from importlib.util import find_spec
from pathlib import Path

from mmerg.console.terminal import shown
from mmerg.errors import ConfigError

_FONTS = Path("mpl-data", "fonts", "ttf")
_MOST = 2000  # letters of a text that are looked at


class Font:
    """The font at `size` pixels."""

    def __init__(self, size: int, *, bold: bool = False) -> None:
        from PIL import ImageFont

        # Not by matplotlib.font_manager, which would look through all fonts of the machine and keep a list in the home.
        spec = find_spec("matplotlib")
        places = list(spec.submodule_search_locations or ()) if spec else []
        name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
        found = next((file for place in places if (file := Path(place) / _FONTS / name).is_file()), None)
        if found is None:
            hint = "install matplotlib from its wheel, which holds it; or leave out sheet=…"
            raise ConfigError(f"the font {name} is not there", where="matplotlib", hint=hint)
        self.face = ImageFont.truetype(str(found), size, layout_engine=ImageFont.Layout.BASIC)
        self.line = round(size * 1.35)  # pixels from one line to the next

    def width(self, text: str) -> float:
        """Pixels that a line takes."""
        return self.face.getlength(text)

    def wrapped(self, text: str, width: int, lines: int) -> list[str]:
        """At most `lines` lines of at most `width` pixels, an ellipsis where text is left over. Control characters are
        spelled out; a word that is too long is broken."""
        words = shown(" ".join(text[:_MOST].split())).split(" ")
        done: list[str] = []
        line = ""
        while words and len(done) <= lines:
            word = words.pop(0)
            longer = f"{line} {word}" if line else word
            if self.width(longer) <= width:
                line = longer
            elif line:
                done.append(line)
                line = ""
                words.insert(0, word)
            else:
                fits = max(
                    1, bisect_right(range(1, len(word) + 1), width, key=lambda n: math.ceil(self.width(word[:n])))
                )
                done.append(word[:fits])
                words[:0] = [word[fits:]] if word[fits:] else []
        done += [line] if line else []
        if len(done) > lines or len(text) > _MOST:
            done = done[:lines]
            last = done[-1]
            while last and self.width(f"{last}…") > width:
                last = last[:-1]
            done[-1] = f"{last}…"
        return done
