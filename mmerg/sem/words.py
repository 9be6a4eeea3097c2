"""The words of a text, as the model and the lexicon know them."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+(?:'\w+)*")


def words_of(text: str) -> list[str]:
    """In order, repeated ones too; case and punctuation gone: "I’m FINE." gives i'm, fine."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))
