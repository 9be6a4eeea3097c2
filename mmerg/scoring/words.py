"""How a reply is cut into tokens, for figures that count words. Nothing has to be downloaded.

words = tokenizer("nltk", lower=True)
words("I can't.")    # ('i', 'ca', "n't", '.')
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Literal

Tokenizer = Literal["nltk", "13a", "whitespace"]
Words = Callable[[str], tuple[str, ...]]

CACHED = 50_000  # replies: cutting is the slowest part of every figure that counts words
NLTK = "3.10.4"  # the version whose rules these are (nltk.tokenize.destructive, Apache-2.0)
NLTK_RULES = (  # characters of which a text has one where the pattern matches ("": any), pattern, replacement
    # opening quotes
    ("«“‘„`", "[«“‘„]|`+", r" \g<0> "),
    ('"', '^"', "``"),
    ("`", "``", r" \g<0> "),
    ("\"'", r"([ (\[{<])(?:\"|'')", r"\1 `` "),
    ("'", r"(?i)(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", "' "),
    # punctuation; a full stop at the end of the reply alone
    (".", r"([^.])(\.)([\])}>\"'»”’ ]*+)\s*$", r"\1 \2 \3 "),
    (":,", r"([:,])([^\d])", r" \1 \2"),
    (":,", "[:,]$", r" \g<0> "),
    (".;@#$%&‒–—―", r"\.{2,}|[;@#$%&‒–—―]", r" \g<0> "),
    (".", r"([^.])(\.)([\])}>\"']*)\s*$", r"\1 \2\3 "),
    ("?!", "[?!]", r" \g<0> "),
    ("'", "([^'])' ", r"\1 ' "),
    ("*[](){}<>-", r"[*\[\](){}<>]|--", r" \g<0> "),
    # closing quotes and clitics
    ("»”’'", "[»”’]|''", r" \g<0> "),
    ('"', '"', " '' "),
    ("", r"\s+|\A|\Z", " "),
    ("'", r"([^' ])('[smd]|'[SMD]|') ", r"\1 \2 "),
    ("'", r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
)
NLTK_CONTRACTIONS = (
    (
        "",
        r"(?i)\b(can(?=not\b)|d(?='ye\b)|gim(?=me\b)|gon(?=na\b)|got(?=ta\b)|lem(?=me\b)|more(?='n\b)|wan(?=na\s))"
        r"(not|'ye|me|na|ta|'n)",
        r" \1 \2 ",
    ),
    ("'", r"(?i) ('t)(is)\b", r" \1 \2 "),
    ("'", r"(?i) ('t)(was)\b", r" \1 \2 "),
)


@cache
def tokenizer(name: Tokenizer, *, lower: bool) -> Words:
    """Cuts a text, in lower case or as it is.

    nltk: as NLTKWordTokenizer cuts the whole reply, which is `word_tokenize(text, preserve_line=True)`. Plain
    `word_tokenize` (CEM, ESCM) splits sentences first, with a downloaded model; here a full stop within a reply stays
    with its word ("can't." is one token). The rules stand here, as importing nltk takes longer than scoring a run.
    13a: mteval's, of sacreBLEU. whitespace: str.split (KEMP, EmpDG; lower cased, TRACE).
    """
    cut = str.split if name == "whitespace" else _nltk() if name == "nltk" else _13a()

    @lru_cache(maxsize=CACHED)
    def words(text: str) -> tuple[str, ...]:
        return tuple(cut(text.lower() if lower else text))

    return words


def tokenizer_signature(name: Tokenizer, *, lower: bool) -> str:
    """The tokeniser with its version, and the case, as signatures name them."""
    versions = {"nltk": f"-{NLTK}", "13a": f"-sacrebleu-{version('sacrebleu')}", "whitespace": ""}
    return f"tok:{name}{versions[name]}|case:{'lower' if lower else 'keep'}"


def _nltk() -> Callable[[str], list[str]]:
    import regex  # which takes combining accents for parts of words; nltk has `re` for contractions alone

    rules = [(needs, regex.compile(pattern), replacement) for needs, pattern, replacement in NLTK_RULES]
    rules += [(needs, re.compile(pattern), replacement) for needs, pattern, replacement in NLTK_CONTRACTIONS]

    def cut(text: str) -> list[str]:
        for needs, rule, replacement in rules:
            if not needs or any(map(text.__contains__, needs)):  # which saves half of the time
                text = rule.sub(replacement, text)
        return text.split()

    return cut


def _13a() -> Callable[[str], list[str]]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    line: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]
    return lambda text: line(text).split()
