"""The words of a text, as the model and the lexicon know them; a history as the text that an embedder is given."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_WORD = re.compile(r"\w+(?:'\w+)*")


def words_of(text: str) -> list[str]:
    """In order, repeated ones too; case and punctuation gone: "I’m FINE." gives i'm, fine."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))


def text_of(history: Sequence[str]) -> str:
    """The turns of a history, each on a line."""
    return "\n".join(" ".join(text.split()) for text in history)
