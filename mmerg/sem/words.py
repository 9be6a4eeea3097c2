"""The words of a history, and its text for an embedder."""

import re
import unicodedata
from collections.abc import Sequence

_WORD = re.compile(r"\w+(?:'\w+)*")


def words_of(text: str) -> list[str]:
    """In order, with repeats, without case and punctuation: "I’m FINE." gives i'm, fine."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))


def words_in(history: Sequence[str]) -> list[str]:
    """The words of all turns, in order, with repeats."""
    return [word for text in history for word in words_of(text)]


def text_of(history: Sequence[str]) -> str:
    """The turns, each on a line, as an embedder sees them."""
    return "\n".join(" ".join(text.split()) for text in history)
