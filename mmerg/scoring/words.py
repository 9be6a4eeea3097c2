"""How a reply is cut into tokens, for figures that count words. Three ways, none of which needs downloaded data.

words = tokenizer("nltk", lower=True)
words("I can't.")    # ('i', 'ca', "n't", '.')
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal

Tokenizer = Literal["nltk", "13a", "whitespace"]
Words = Callable[[str], tuple[str, ...]]
KEPT = 50_000  # replies; cutting is the slowest part of every figure that counts words


@cache
def tokenizer(name: Tokenizer, *, lower: bool) -> Words:
    """A text's tokens, in lower case or as they are; a text that was cut before is not cut again.

    nltk: NLTKWordTokenizer over the whole reply, which is `word_tokenize(text, preserve_line=True)`. Plain
    `word_tokenize` (CEM, ESCM) splits sentences first, with a downloaded model; here the full stops within a reply
    stay with their word ("can't." is one token).
    13a: sacreBLEU's tokenizer_13a, mteval's. whitespace: str.split (KEMP, EmpDG; lower cased, TRACE).
    """
    cut = _cut(name)

    @lru_cache(maxsize=KEPT)
    def words(text: str) -> tuple[str, ...]:
        return tuple(cut(text.lower() if lower else text))

    return words


def tokenizer_signature(name: Tokenizer, *, lower: bool) -> str:
    """The tokeniser, the version of its package, and the case, as signatures name them."""
    from importlib.metadata import version

    package = {"nltk": f"-{version('nltk')}", "13a": f"-sacrebleu-{version('sacrebleu')}", "whitespace": ""}[name]
    return f"tok:{name}{package}|case:{'lower' if lower else 'keep'}"


def _cut(name: Tokenizer) -> Callable[[str], list[str]]:
    if name == "nltk":
        from nltk.tokenize import NLTKWordTokenizer

        words: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
        return words
    if name == "13a":
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

        line: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]
        return lambda text: line(text).split()
    return str.split
