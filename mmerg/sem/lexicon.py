"""The emotional intensity of words from NRC-VAD (Mohammad, 2018), a file that the user provides.

word    valence arousal dominance
abduction       0.062   0.99    0.673
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmerg.errors import ConfigError
from mmerg.storage.files import describe_error
from mmerg.storage.words import split_words

HINT = "use NRC-VAD as published: each line has a word, valence, arousal and dominance, separated by tabs"


@dataclass(frozen=True)
class Lexicon:
    """The intensity of words; a missing word has 0 (KEMP, AAAI 2022)."""

    intensity: Mapping[str, float]
    digest: str  # SHA-256 (hex) of the file


def read_lexicon(path: Path) -> Lexicon:
    """Reads a lexicon of version 1, with values in [0, 1], or 2, in [-1, 1]. Raises ConfigError, with the line."""
    try:
        data = path.read_bytes()
        lines = data.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the lexicon cannot be read: {describe_error(error)}", where=str(path), hint=HINT) from error
    values = {}
    for number, line in enumerate(lines, start=1):
        word, *rest = line.split("\t")
        if not line.strip() or (number == 1 and "".join(rest[:1]).strip().casefold() == "valence"):
            continue
        try:
            valence, arousal = map(float, rest[:2])
        except ValueError:
            valence = arousal = math.nan
        if not (-1 <= valence <= 1 and -1 <= arousal <= 1):  # this refuses NaN, too
            what = f"the line has no valence and arousal between -1 and 1: {line[:80]!r}"
            raise ConfigError(what, where=f"{path}, line {number}", hint=HINT)
        values[" ".join(split_words(word))] = (valence, arousal)
    if not values:
        raise ConfigError("the lexicon has no words", where=str(path), hint=HINT)
    negative = sum(value < 0 for pair in values.values() for value in pair)
    if 0 < negative < len(values) / 20:  # in version 2, about half of the values are negative
        what = f"{negative} of {2 * len(values)} values are below 0: it is neither version 1 (0 to 1) nor 2 (-1 to 1)"
        raise ConfigError(what, where=str(path), hint=HINT)
    if negative:
        values = {word: ((valence + 1) / 2, (arousal + 1) / 2) for word, (valence, arousal) in values.items()}
    return Lexicon({word: compute_intensity(*pair) for word, pair in values.items()}, hashlib.sha256(data).hexdigest())


def compute_intensity(valence: float, arousal: float) -> float:
    """Computes the distance from neutral and calm, scaled as in KEMP (AAAI 2022) and HEF, for values in [0, 1]."""
    return (math.hypot(valence - 0.5, arousal / 2) - 0.06467) / 0.607468
