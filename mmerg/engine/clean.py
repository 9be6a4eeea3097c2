"""Removes from a response what a model writes around the spoken words: speaker names, quotation marks, directions.

Only speakers of the dialogue count as names. A direction in asterisks or round brackets is before, after or between
sentences, so emphasis (*really*) and asides (the old one) remain. Text in square brackets is always a direction, except
for the label of a Markdown link. A sentence about the responder is one if everything after it is in quotation marks.

    clean('Rachel: "Oh my God!" *laughs*', ["Rachel"])
    # ("Oh my God!", ("stage directions", "name", "quotation marks"))
"""

import re
from collections.abc import Iterable

_DIRECTION = re.compile(  # text in brackets or asterisks; the lookahead spares the label of a Markdown link
    r"[\[［【〔][^\[\]［］【】〔〕]*[\]］】〕](?!\(https?://)|[(（][^()（）]*[)）]|(?<!\*)\*(?!\*)[^*\n]+(?<!\*)\*(?!\*)"
)
_QUOTES = {"„": "“”", **dict(zip("\"“«»‘'「『＂｢", "\"”»«’'」』＂｣", strict=True))}
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
OTHERS_NAME = "another's name"  # the model speaks as another speaker
_WIDE_ENDS = "。！？｡"
_ENDS = f".!?…{_WIDE_ENDS}؟۔।"  # also those of Arabic, Urdu and Hindi
_SEPARATORS = ",;:，、；：､،؛"
_PUNCTUATION = f"{_ENDS}{_SEPARATORS}"


def clean(text: str, names: Iterable[str], responder: str = "") -> tuple[str, tuple[str, ...]]:
    """The spoken words, possibly none, and the kinds of removals. names: the speakers of the dialogue. A turn number
    may precede the name; a surname and a direction may follow."""
    narration = re.compile(rf'{re.escape(responder)} [^"“”]+[.!?:,] (?="[^"]+"$|“[^“”]+”$)')
    called = "|".join(re.escape(name) for name in names if name)
    name = re.compile(
        rf"(\d+\.\s*)?[*_]*({called})(?-i:\s+[A-Z]\w*)?[*_]*\s*([(（][^()（）]*[)）]\s*)?[:：][*_]*\s*", re.IGNORECASE
    )
    taken: dict[str, None] = {}
    text, before = text.strip(), ""
    while text != before:
        before = text
        spoken = name.match(text) if called else None
        own = not responder or not spoken or spoken[2].casefold() == responder.casefold()
        for kind, left in (
            ("stage directions", _without_directions(text)),
            ("stage directions", text[match.end() :] if responder and (match := narration.match(text)) else text),
            ("name" if own else OTHERS_NAME, text[spoken.end() :] if spoken else text),
            ("quotation marks", _without_quotes(text)),
        ):
            if left != text:
                text = left.strip()
                taken[kind] = None
                break
    return text, tuple(taken)


def _without_directions(text: str) -> str:
    left = text
    while match := next(filter(_is_direction, _DIRECTION.finditer(left)), None):
        before, after = left[: match.start()].rstrip(), left[match.end() :].lstrip()
        left = f"{before}{'' if after[:1] in _PUNCTUATION or before[-1:] in _WIDE_ENDS else ' '}{after}".strip(
            f" {_SEPARATORS}"
        )
    return left if left == text or left.strip(_PUNCTUATION) else ""


def _is_direction(match: re.Match[str]) -> bool:
    before, after = match.string[: match.start()].rstrip(), match.string[match.end() :].lstrip(f" {_PUNCTUATION}")
    alone = (not before or before[-1] in f'{_ENDS}"”»」』') and not after[:1].islower()
    return match[0][0] in "[［【〔" or (alone and not re.search(f"[{_ENDS}]".replace("…", ""), match[0]))


def _without_quotes(text: str) -> str:
    """The text without quotation marks around the whole. Apostrophes are no quotation marks."""
    opening, closing, inner = text[:1], text[-1:], text[1:-1]
    if len(text) < 2 or closing not in _QUOTES.get(opening, ()):
        return text
    inside = _APOSTROPHE.sub("", inner)
    elided = opening == "'" and inner.rstrip()[-1:] not in _PUNCTUATION
    return text if opening in inside or closing in inside or elided else inner
