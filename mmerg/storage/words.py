"""The words of a text in any language, for guards, counts and features.

split_words("I’m FINE. 我很好")    # ["i'm", "fine", "我", "很", "好"]
"""

import html
import re
import unicodedata

# Letters of scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese.
UNSPACED = re.compile(
    "(?=[^\\W\\d])[\u0e01-\u0eff\u0f40-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Optional marks of Arabic and Hebrew: vowel signs, and the stroke that lengthens a word.
_OPTIONAL = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u0640\u064b-\u0652\u0670]")
_STAGE_DIRECTION = re.compile(r"\[[^\[\]]*\]")
# Apostrophes, which people often omit, and letters with a stroke, which Unicode does not decompose.
_BARE = str.maketrans("đłøı", "dloi", "'’‘ʼ`´＇")
_ACCENTS = range(200, 241)  # combining classes of accents; below are signs that make other letters, as in Hindi
ENOUGH_WORDS, ENOUGH_LETTERS = 5, 20


def split_words(text: str) -> list[str]:
    """The words in order, with repeats, without case and punctuation. In scripts without spaces each letter is a word,
    with its marks. Equivalent Unicode spellings (NFKC) are equal, and so are Arabic and Hebrew words with and without
    vowel signs."""
    words = [""]
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    for character in _OPTIONAL.sub("", text).replace("’", "'"):
        if character.isalnum():
            if UNSPACED.match(character) or UNSPACED.match(words[-1]):
                words.append("")
            words[-1] += character
        elif words[-1] and (character == "'" or unicodedata.category(character)[0] == "M"):
            words[-1] += character
        else:
            words.append("")
    return [word for part in words if (word := part.strip("'"))]


def bare_words(text: str) -> list[str]:
    """The words as leak guards compare them: also without accents, apostrophes and stage directions ("[LAUGHTER]"),
    which copies of a text may lack, and with "&amp;" as "&"."""
    text = _STAGE_DIRECTION.sub(" ", html.unescape(text)).casefold().translate(_BARE)
    decomposed = unicodedata.normalize("NFKD", text)
    return split_words("".join(one for one in decomposed if unicodedata.combining(one) not in _ACCENTS))


def split_ngrams(text: str, n: int = 4) -> list[tuple[str, ...]]:
    """All sequences of `n` words, with repeats."""
    words = split_words(text)
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def plain_words(text: str) -> str:
    """The bare words without spaces, so that two texts with the same words are equal. If nothing would be left ("?!"),
    only case is ignored."""
    return "".join(bare_words(text)) or unicodedata.normalize("NFKC", html.unescape(text)).casefold().strip()


def distinctive(text: str) -> bool:
    """Whether a text is too long to occur twice by chance, unlike "Yeah.": 5 words, or 20 letters if words are long (a
    Korean syllable counts as its letters)."""
    letters = unicodedata.normalize("NFD", plain_words(text))
    return len(bare_words(text)) >= ENOUGH_WORDS or len(letters) >= ENOUGH_LETTERS
