"""The words of a text in any language, for leak guards, counts and features.

split_words("I’m FINE. 我很好")    # ["i'm", "fine", "我", "很", "好"]
"""

import html
import re
import unicodedata

# The letters of scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese.
UNSPACED = re.compile(
    "(?=[^\\W\\d])[\u0e01-\u0eff\u0f40-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
# The optional marks of Arabic and Hebrew: vowel signs, and the stroke that lengthens a word.
_OPTIONAL_MARKS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u0640\u064b-\u0652\u0670]")
_STAGE_DIRECTION = re.compile(r"\[[^\[\]]*\]")
# Removes apostrophes, which people often omit, and strokes through letters, which Unicode does not decompose.
_SIMPLER_LETTERS = str.maketrans("đłøı", "dloi", "'’‘ʼ`´＇")
# The combining classes of accents. Lower classes are signs that make other letters, as in Hindi.
_ACCENTS = range(200, 241)
ENOUGH_WORDS, ENOUGH_LETTERS = 5, 20


def split_words(text: str) -> list[str]:
    """Returns the words in order, with repeats, in lower case and without punctuation.

    In scripts without spaces, each letter with its marks is a word. Equivalent Unicode spellings (NFKC) give the same
    words, and so do Arabic and Hebrew texts with and without vowel signs.
    """
    words = [""]
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    for character in _OPTIONAL_MARKS.sub("", text).replace("’", "'"):
        if character.isalnum():
            if UNSPACED.match(character) or UNSPACED.match(words[-1]):
                words.append("")
            words[-1] += character
        elif words[-1] and (character == "'" or unicodedata.category(character)[0] == "M"):
            words[-1] += character
        else:
            words.append("")
    return [word for part in words if (word := part.strip("'"))]


def split_bare_words(text: str) -> list[str]:
    """Returns the words as leak guards compare them: without accents, apostrophes and stage directions ("[LAUGHTER]"),
    which a copy of the text may lack, and with HTML entities decoded."""
    text = _STAGE_DIRECTION.sub(" ", html.unescape(text)).casefold().translate(_SIMPLER_LETTERS)
    decomposed = unicodedata.normalize("NFKD", text)
    return split_words("".join(letter for letter in decomposed if unicodedata.combining(letter) not in _ACCENTS))


def split_ngrams(text: str, n: int = 4) -> list[tuple[str, ...]]:
    """Returns all sequences of `n` consecutive words, with repeats."""
    words = split_words(text)
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def normalize_words(text: str) -> str:
    """Joins the bare words without spaces, so that two texts with the same words are equal. For a text without words
    ("?!"), returns the text in one case."""
    return "".join(split_bare_words(text)) or unicodedata.normalize("NFKC", html.unescape(text)).casefold().strip()


def is_distinctive(text: str) -> bool:
    """Returns True if a text is too long to occur twice by chance, unlike "Yeah.": it has 5 words, or 20 letters (for
    languages with long words). A Korean syllable counts as its letters."""
    letters = unicodedata.normalize("NFD", normalize_words(text))
    return len(split_bare_words(text)) >= ENOUGH_WORDS or len(letters) >= ENOUGH_LETTERS
