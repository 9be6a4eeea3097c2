"""How a reply is cut into tokens, for figures that count words. Nothing has to be downloaded.

words = tokenizer("nltk", lower=True)
words("I can't.")    # ('i', 'ca', "n't", '.')
"""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Literal

Tokenizer = Literal["nltk", "13a", "whitespace"]
Words = Callable[[str], tuple[str, ...]]

CACHED = 50_000  # replies: cutting is the slowest part of every figure that counts words


@cache
def tokenizer(name: Tokenizer, *, lower: bool) -> Words:
    """Cuts a text, in lower case or as it is.

    nltk: as NLTKWordTokenizer cuts the whole reply, which is `word_tokenize(text, preserve_line=True)`. Plain
    `word_tokenize` (CEM, ESCM) splits sentences first, with a downloaded model; here a full stop within a reply stays
    with its word ("can't." is one token).
    13a: mteval's, of sacreBLEU. whitespace: str.split (KEMP, EmpDG; lower cased, TRACE).
    """
    cut = str.split if name == "whitespace" else _nltk() if name == "nltk" else _13a()

    @lru_cache(maxsize=CACHED)
    def words(text: str) -> tuple[str, ...]:
        return tuple(cut(text.lower() if lower else text))

    return words


def tokenizer_signature(name: Tokenizer, *, lower: bool) -> str:
    """The tokeniser with its version, and the case, as signatures name them."""
    versions = {"nltk": f"-{version('nltk')}", "13a": f"-sacrebleu-{version('sacrebleu')}", "whitespace": ""}
    return f"tok:{name}{versions[name]}|case:{'lower' if lower else 'keep'}"


def _nltk() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    cut: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return cut


def _13a() -> Callable[[str], list[str]]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    line: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]
    return lambda text: line(text).split()
