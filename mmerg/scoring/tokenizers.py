"""Splits a reply into tokens, for metrics that count words. Needs no download.

split = load_tokenizer("nltk")
split("I can't.")    # ('i', 'ca', "n't", '.')
"""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Literal

Tokenizer = Literal["nltk", "whitespace", "char"]
Tokenize = Callable[[str], tuple[str, ...]]

CACHED = 50_000  # replies: tokenization is the slowest part of these metrics


@cache
def load_tokenizer(name: Tokenizer) -> Tokenize:
    """Splits a text in lower case.

    nltk: NLTKWordTokenizer on the whole reply, which is `word_tokenize(text, preserve_line=True)`. Plain
    `word_tokenize` (CEM, ESCM) splits sentences first, with a downloaded model; here a full stop within a reply stays
    with its word ("can't." is one token).
    whitespace: str.split (TRACE, KEMP, EmpDG). char: a token per character, for languages without spaces between words
    (Chinese, Japanese, Thai).
    """
    split: Callable[[str], list[str]]
    if name == "nltk":
        from nltk.tokenize.destructive import NLTKWordTokenizer

        split = NLTKWordTokenizer().tokenize
    else:
        split = str.split if name == "whitespace" else lambda text: list("".join(text.split()))

    @lru_cache(maxsize=CACHED)
    def words(text: str) -> tuple[str, ...]:
        return tuple(split(text.lower()))

    return words


def tokenizer_signature(name: Tokenizer) -> str:
    """The tokenizer with its version, for signatures."""
    package = f"-{version('nltk')}" if name == "nltk" else ""
    return f"tok:{name}{package}|case:lower"
