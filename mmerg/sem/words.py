"""The words of a history, and its text for an embedder."""

from collections.abc import Sequence

from mmerg.storage.words import split_words


def words_in(history: Sequence[str]) -> list[str]:
    """The words of all turns, in order, with repeats."""
    return [word for text in history for word in split_words(text)]


def join_history(history: Sequence[str]) -> str:
    """The text for an embedder, one turn per line."""
    return "\n".join(" ".join(text.split()) for text in history)
