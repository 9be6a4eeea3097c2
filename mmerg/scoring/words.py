"""How a reply is split into tokens, for metrics that count words. Needs no download.

words = tokenizer("nltk", lower=True)
words("I can't.")    # ('i', 'ca', "n't", '.')
"""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Literal

Tokenizer = Literal["nltk", "13a", "whitespace", "char"]
Words = Callable[[str], tuple[str, ...]]

CACHED = 50_000  # replies: tokenization is the slowest part of these metrics


@cache
def tokenizer(name: Tokenizer, *, lower: bool) -> Words:
    """Splits a text, in lower case or unchanged.

    nltk: as NLTKWordTokenizer cuts the whole reply, which is `word_tokenize(text, preserve_line=True)`. Plain
    `word_tokenize` (CEM, ESCM) splits sentences first, with a downloaded model; here a full stop within a reply stays
    with its word ("can't." is one token).
    13a: mteval's, of sacreBLEU. whitespace: str.split (KEMP, EmpDG; lower cased, TRACE). char: sacreBLEU's, a token a
    character, for languages without blanks between words (Chinese, Japanese, Thai).
    """
    cut = str.split if name == "whitespace" else _nltk() if name == "nltk" else _sacrebleu(name)

    @lru_cache(maxsize=CACHED)
    def words(text: str) -> tuple[str, ...]:
        return tuple(cut(text.lower() if lower else text))

    return words


def tokenizer_signature(name: Tokenizer, *, lower: bool) -> str:
    """The tokenizer with its version, and the case, for signatures."""
    versions = {"nltk": f"-{version('nltk')}", "whitespace": ""}
    of = versions.get(name, f"-sacrebleu-{version('sacrebleu')}")
    return f"tok:{name}{of}|case:{'lower' if lower else 'keep'}"


def _nltk() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    cut: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return cut


def _sacrebleu(name: Tokenizer) -> Callable[[str], list[str]]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_char import TokenizerChar

    line: Callable[[str], str] = TokenizerChar() if name == "char" else Tokenizer13a()  # type: ignore[no-untyped-call]
    return lambda text: line(text).split()
