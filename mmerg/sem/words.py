"""A history as words, and as a text for an embedder."""

from collections.abc import Sequence

from mmerg.storage.words import split_words


def split_history(history: Sequence[str]) -> list[str]:
    """Returns the words of all turns, in order, with repeats."""
    return [word for text in history for word in split_words(text)]


def join_history(history: Sequence[str]) -> str:
    """Returns the text for an embedder, one turn per line."""
    return "\n".join(" ".join(text.split()) for text in history)
