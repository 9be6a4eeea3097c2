"""The removal of what a model writes around the spoken words: speaker names, quotation marks, stage directions.

Only speakers of the dialogue count as names. Text in asterisks or round brackets is a direction only if it stands
before, after or between sentences, so that emphasis (*really*) and asides (the old one) remain. Text in square brackets
is always a direction, except for the label of a Markdown link. A sentence about the responder is a direction if
everything after it is in quotation marks.

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
_ENDS = f".!?…{_WIDE_ENDS}؟۔।"  # ends of sentences, also in Arabic, Urdu and Hindi
_SEPARATORS = ",;:，、；：､،؛"
_PUNCTUATION = f"{_ENDS}{_SEPARATORS}"


def clean(text: str, names: Iterable[str], responder: str = "") -> tuple[str, tuple[str, ...]]:
    """Returns the spoken words, possibly none, and the kinds of removals. names: the speakers of the dialogue. A turn
    number may precede a name; a surname and a direction may follow it."""
    narration = re.compile(rf'{re.escape(responder)} [^"“”]+[.!?:,] (?="[^"]+"$|“[^“”]+”$)')
    any_name = "|".join(re.escape(name) for name in names if name)
    speaker = re.compile(
        rf"(\d+\.\s*)?[*_]*({any_name})(?-i:\s+[A-Z]\w*)?[*_]*\s*([(（][^()（）]*[)）]\s*)?[:：][*_]*\s*", re.IGNORECASE
    )
    removed: dict[str, None] = {}
    text, before = text.strip(), ""
    while text != before:
        before = text
        named = speaker.match(text) if any_name else None
        narrated = narration.match(text) if responder else None
        by_responder = not responder or not named or named[2].casefold() == responder.casefold()
        for kind, rest in (
            ("stage directions", _without_directions(text)),
            ("stage directions", text[narrated.end() :] if narrated else text),
            ("name" if by_responder else OTHERS_NAME, text[named.end() :] if named else text),
            ("quotation marks", _without_quotes(text)),
        ):
            if rest != text:
                text = rest.strip()
                removed[kind] = None
                break
    return text, tuple(removed)


def _without_directions(text: str) -> str:
    """Returns the text without stage directions; "" if only punctuation would remain."""
    rest = text
    while match := next(filter(_is_direction, _DIRECTION.finditer(rest)), None):
        before, after = rest[: match.start()].rstrip(), rest[match.end() :].lstrip()
        space = "" if after[:1] in _PUNCTUATION or before[-1:] in _WIDE_ENDS else " "
        rest = f"{before}{space}{after}".strip(f" {_SEPARATORS}")
    return rest if rest == text or rest.strip(_PUNCTUATION) else ""


def _is_direction(match: re.Match[str]) -> bool:
    before, after = match.string[: match.start()].rstrip(), match.string[match.end() :].lstrip(f" {_PUNCTUATION}")
    alone = (not before or before[-1] in f'{_ENDS}"”»」』') and not after[:1].islower()
    return match[0][0] in "[［【〔" or (alone and not re.search(f"[{_ENDS}]".replace("…", ""), match[0]))


def _without_quotes(text: str) -> str:
    """Returns the text without quotation marks around the whole. Apostrophes are not quotation marks."""
    opening, closing, inner = text[:1], text[-1:], text[1:-1]
    if len(text) < 2 or closing not in _QUOTES.get(opening, ()):
        return text
    inside = _APOSTROPHE.sub("", inner)
    elided = opening == "'" and inner.rstrip()[-1:] not in _PUNCTUATION
    return text if opening in inside or closing in inside or elided else inner
