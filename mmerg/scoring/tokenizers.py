"""Tokenizers of replies, for metrics that count words. They need no download.

tokenize = load_tokenizer("nltk")
tokenize("I can't.")    # ('i', 'ca', "n't", '.')
"""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Literal

Tokenizer = Literal["nltk", "whitespace", "char"]
Tokenize = Callable[[str], tuple[str, ...]]

CACHED = 50_000  # replies; tokenizing is the slowest part of these metrics


@cache
def load_tokenizer(name: Tokenizer) -> Tokenize:
    """Returns a function that converts a text to lower case and splits it into tokens.

    nltk: NLTKWordTokenizer on the whole reply, as in `word_tokenize(text, preserve_line=True)`. Without
    `preserve_line`, `word_tokenize` (used by CEM and ESCM) splits sentences first, with a model to download. Here a
    full stop within a reply stays with its word: "can't." is one token.
    whitespace: `str.split`, as in TRACE, KEMP and EmpDG.
    char: a token per character, for languages without spaces between words (Chinese, Japanese, Thai).
    """
    split: Callable[[str], list[str]]
    if name == "nltk":
        from nltk.tokenize.destructive import NLTKWordTokenizer

        split = NLTKWordTokenizer().tokenize
    else:
        split = str.split if name == "whitespace" else lambda text: list("".join(text.split()))

    @lru_cache(maxsize=CACHED)
    def tokenize(text: str) -> tuple[str, ...]:
        return tuple(split(text.lower()))

    return tokenize


def tokenizer_signature(name: Tokenizer) -> str:
    """Names the tokenizer and its version, for the signature of a metric."""
    package = f"-{version('nltk')}" if name == "nltk" else ""
    return f"tok:{name}{package}|case:lower"
